"""What dsim tells a person about a program: one diagnostic, its level, its places, its remedy.

Every code that dsim can raise stands once in `CODES`, with its level; rendering is `render.py`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dsim.diagnostics.spans import Span


class Level(Enum):
    """How serious a diagnostic is."""

    ERROR = "error"  # refused: the program does not run
    WARNING = "warning"  # the result is right, but slower or surprising
    NOTE = "note"  # worth knowing


CODES: dict[str, Level] = {
    # the kernel language
    "syntax": Level.ERROR,  # Python that kernels do not have
    "unknown-name": Level.ERROR,
    "unknown-function": Level.ERROR,
    "unknown-attribute": Level.ERROR,
    "recursion": Level.ERROR,
    "type": Level.ERROR,
    "shape": Level.ERROR,
    "index": Level.ERROR,  # a wrong number or kind of indices
    "argument": Level.ERROR,
    "return": Level.ERROR,
    "static": Level.ERROR,  # needs a compile-time value and has none
    "limit": Level.ERROR,
    # fields and launches
    "unplaced": Level.ERROR,
    "missing-gradient": Level.ERROR,
    "out-of-bounds": Level.ERROR,
    "assertion": Level.ERROR,
    "memory": Level.ERROR,
    # derivatives
    "overwritten": Level.ERROR,
    "not-differentiable": Level.ERROR,
    # right, but
    "serial": Level.WARNING,
    "cut": Level.WARNING,
    "type-change": Level.WARNING,
    "fallback": Level.NOTE,
}


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that a diagnostic points to, and what is there."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that dsim has to say about a program.

    Attributes
    ----------
    code : str
        A key of `CODES`, which gives the level.
    message : str
        What is wrong, in one sentence without a full stop.
    span : Span or None
        The place that the carets underline.
    here : str
        What stands behind the carets.
    labels : tuple of Label
        Further places.
    help : str
        What to do about it; one line.
    """

    code: str
    message: str
    span: Span | None = None
    here: str = ""
    labels: tuple[Label, ...] = ()
    help: str = ""

    @property
    def level(self) -> Level:
        """The level that `CODES` gives to this code."""
        return CODES[self.code]
