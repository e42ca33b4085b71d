"""The error of an optimisation that is asked for what it cannot do."""

from __future__ import annotations

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.spans import Span


def wrong(message: str, advice: str, place: Span | None = None) -> GradientError:
    """The error, at the line that calls dsim, or at `place`, which a thread of dsim's own has been given."""
    return GradientError(Diagnostic("argument", message, place, help=advice))
