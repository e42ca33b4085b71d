"""What dsim tells a user about a program: one diagnostic, its level, its places, its remedy.

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
    "wrong-derivative": Level.ERROR,
    "not-finite": Level.ERROR,  # a NaN or an infinity was born
    # right, but
    "serial": Level.WARNING,
    "cut": Level.WARNING,
    "unreached": Level.WARNING,
    "cleared": Level.WARNING,
    "overtaken": Level.WARNING,  # a gradient that another thread has changed since
    "leftover": Level.WARNING,  # a sum that an earlier tape has left
    "recompiled": Level.WARNING,  # a kernel, for arrays of ever new shapes
    "type-change": Level.WARNING,
    "nan": Level.WARNING,  # a number that is not finite, where it was born
    "infinite-slope": Level.WARNING,  # an infinite gradient comes to a point without a derivative
    "kink": Level.NOTE,  # a gradient comes through a point at which there is no derivative
    "overwrites": Level.NOTE,  # what a gradient needs; a tape saves it
}


# What to do about it in general, for a diagnostic that knows nothing better.
REMEDIES: dict[str, str] = {
    "syntax": "kernels have assignments, loops, branches, `while`, calls of funcs, `print` and `assert`",
    "unknown-name": "define it before the kernel is launched for the first time",
    "unknown-function": "decorate your own with `@ds.func`; `ds` and `ds.math` have the usual functions",
    "unknown-attribute": "check the spelling; the page on the language lists all names",
    "type": "check the types of both sides, and convert: `int(a)`, `float(a)`, `ds.cast(a, ds.f32)`",
    "shape": "compare the shapes of both sides; `a.n` and `a.m` are a matrix's rows and columns",
    "index": "give one integer for each axis: `x[i, j]`, or `x[None]` for a field of shape ()",
    "argument": "compare the call with the definition",
    "return": "let every `return` return the type of the annotation `-> …`",
    "static": "Python numbers, tuples and `ds.static(…)` are compile-time values, elements of fields are not",
    "limit": "split the work into several fields or kernels",
    "out-of-bounds": "compare the loop's range with the field's shape",
    "assertion": "print the values that the assertion compares",
    "memory": "run fewer iterations at once, or carry fewer values from trip to trip",
    "not-differentiable": "differentiate a function of numbers and vectors that returns what it computes",
    "wrong-derivative": "check it with `f.check_derivative(…)` at your own arguments",
    "not-finite": "print its operands",
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
        What to do about it; one line. Empty when `REMEDIES` says it.
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

    @property
    def remedy(self) -> str:
        """The help line: its own, or what `REMEDIES` says of this code."""
        return self.help or REMEDIES.get(self.code, "")
