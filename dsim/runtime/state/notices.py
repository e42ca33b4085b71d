"""Warnings and notes, given through Python's `warnings`."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from dsim.diagnostics import Diagnostic, Level, render
from dsim.diagnostics.places import LIBRARIES


class DsimWarning(UserWarning):
    """A right, but slow or surprising result.

    Attributes
    ----------
    diagnostic : Diagnostic or None
        The diagnostic that the text was formatted from.
    """

    diagnostic: Diagnostic | None = None


class GradientWarning(DsimWarning):
    """A gradient that is right, and perhaps not the intended one."""


_GRADIENT = {"cut", "cleared", "unreached", "overtaken", "leftover", "unsolved"}


_HEARD: ContextVar[list[Diagnostic] | None] = ContextVar("dsim_heard", default=None)


@contextmanager
def overheard() -> Iterator[list[Diagnostic]]:
    """Collects the warnings of this thread inside the block as diagnostics."""
    found: list[Diagnostic] = []
    token = _HEARD.set(found)
    try:
        yield found
    finally:
        _HEARD.reset(token)


def warn(diagnostics: Iterable[Diagnostic]) -> None:
    """Passes the warnings among `diagnostics` to Python's `warnings`, one by one."""
    for d in diagnostics:
        heard = _HEARD.get()
        if d.level is Level.WARNING and heard is not None:
            heard.append(d)
        elif d.level is Level.WARNING:
            kind = GradientWarning if d.code in _GRADIENT else DsimWarning
            warning = kind(render([d]))
            warning.diagnostic = d
            warnings.warn(warning, stacklevel=_depth())


# Launches are code that dsim writes; context managers of dsim are resumed by `contextlib`.
_OWN = (str(Path(__file__).parents[2]), "<launch of ", str(contextlib.__file__))


def _depth() -> int:
    """How many frames up the user's code is, also where SciPy's methods stand in between."""
    return _behind((*_OWN, *LIBRARIES)) or _behind(_OWN) or 1


def _behind(files: tuple[str, ...]) -> int:
    """How many frames up the first one outside of `files` is; 0 when there is none."""
    depth, frame = 1, sys._getframe(2)  # that of `warn`
    while frame is not None and frame.f_code.co_filename.startswith(files):
        depth, frame = depth + 1, frame.f_back
    return depth if frame is not None else 0
