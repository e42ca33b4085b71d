"""A bar for the steps of a loop, forwards and backwards, by tqdm."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dsim.diagnostics import Diagnostic, GradientError


class StepProgress:
    """Draws a bar, if that is wanted.

    Raises
    ------
    GradientError
        When it is wanted and tqdm is not installed.
    """

    def __init__(self, wanted: bool, length: int | None) -> None:
        self._bars = _tqdm() if wanted else None
        self._bar: Any = None
        self._begin("forward", length)

    def _begin(self, name: str, length: int | None) -> None:
        if self._bars is not None:
            self._bar = self._bars(total=length, desc=name, unit="step")

    def done(self, steps: int = 1) -> None:
        """So many steps are done."""
        if self._bar is not None:
            self._bar.update(steps)

    def unknown(self) -> None:
        """There are more steps than was said."""
        if self._bar is not None:
            self._bar.total = None

    def turn(self, length: int) -> None:
        """The way back begins."""
        self.end()
        self._begin("backward", length)

    def end(self) -> None:
        """Leaves the bar as it is."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _tqdm() -> Any:
    try:
        return import_module("tqdm").tqdm
    except ImportError:
        message, advice = "tqdm draws the progress, and is not installed", "pip install 'dsim[lab]'"
        raise GradientError(Diagnostic("argument", message, help=advice)) from None
