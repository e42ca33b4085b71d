"""The diagnostic: a message to the user with its level, its places and its remedy.

`CODES` lists every code with its level; `render.py` renders diagnostics.
"""

from __future__ import annotations

from enum import Enum

from dsim.diagnostics.spans import Span
from dsim.records import record


class Level(Enum):
    """The severity of a diagnostic."""

    ERROR = "error"  # the program does not run
    WARNING = "warning"  # the result is right, but slower or surprising
    NOTE = "note"  # information


CODES: dict[str, Level] = {
    # the kernel language
    "syntax": Level.ERROR,  # Python that kernels do not support
    "unknown-name": Level.ERROR,
    "unknown-function": Level.ERROR,
    "unknown-attribute": Level.ERROR,
    "recursion": Level.ERROR,
    "type": Level.ERROR,
    "shape": Level.ERROR,
    "index": Level.ERROR,  # wrong number or kind of indices
    "argument": Level.ERROR,
    "return": Level.ERROR,
    "static": Level.ERROR,  # requires a compile-time value
    "limit": Level.ERROR,
    # fields and launches
    "unplaced": Level.ERROR,
    "missing-gradient": Level.ERROR,
    "out-of-bounds": Level.ERROR,
    "assertion": Level.ERROR,
    "memory": Level.ERROR,
    "graph": Level.ERROR,  # a run that its recorded launches alone do not repeat
    "device": Level.ERROR,  # one, or what makes code for it, that is not there
    # derivatives
    "overwritten": Level.ERROR,
    "not-differentiable": Level.ERROR,
    "wrong-derivative": Level.ERROR,
    "not-finite": Level.ERROR,  # a launch produced a NaN or an infinity
    # correct, but
    "serial": Level.WARNING,
    "cut": Level.WARNING,
    "unreached": Level.WARNING,
    "cleared": Level.WARNING,
    "overtaken": Level.WARNING,  # a gradient that another thread has changed meanwhile
    "leftover": Level.WARNING,  # a gradient accumulated by an earlier tape
    "reruns": Level.WARNING,  # a budget so small that steps run very often
    "unsolved": Level.WARNING,  # the derivative of a solution that is none
    "recompiled": Level.WARNING,  # a kernel recompiled for ever new shapes of arrays
    "thinned": Level.WARNING,  # a recording with fewer frames than were kept
    "unwritten": Level.WARNING,  # a file that cannot be written now, and will be tried again
    "type-change": Level.WARNING,
    "nan": Level.WARNING,  # the origin of a number that is not finite
    "infinite-slope": Level.WARNING,  # an infinite partial derivative
    "kink": Level.NOTE,  # a gradient evaluated at a kink
    "overwrites": Level.NOTE,  # overwrites a value that a gradient needs; a tape saves it
}


# The default help line of each code, for diagnostics without their own.
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
    "device": "`dsim doctor` says what is here of CUDA, and what to install",
    "not-differentiable": "differentiate a function of numbers and vectors that returns what it computes",
    "wrong-derivative": "check it with `f.check_derivative(…)` at your own arguments",
    "not-finite": "print its operands",
}


@record
class Label:
    """A secondary place of a diagnostic, with its annotation."""

    span: Span
    text: str


@record
class Diagnostic:
    """One error, warning or note about a program.

    Attributes
    ----------
    code : str
        A key of `CODES`, which gives the level.
    message : str
        The problem, in one sentence without a full stop.
    span : Span or None
        The place that the carets underline.
    here : str
        The text behind the carets.
    labels : tuple of Label
        Further places.
    help : str
        The next step, in one line. Empty to use that of `REMEDIES`.
    """

    code: str
    message: str
    span: Span | None = None
    here: str = ""
    labels: tuple[Label, ...] = ()
    help: str = ""

    @property
    def level(self) -> Level:
        """The level of this code in `CODES`."""
        return CODES[self.code]

    @property
    def remedy(self) -> str:
        """The help line: its own, or the default in `REMEDIES`."""
        return self.help or REMEDIES.get(self.code, "")
