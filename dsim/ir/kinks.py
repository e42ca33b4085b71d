"""Kinks, points where a primitive has no derivative: how a kernel detects one, and how a report explains it.

The rows of `primitives.TABLE` refer to these: one row has a derivative rule and its kink.
"""

from __future__ import annotations

from dsim.ir.term import OfTerms, Term
from dsim.records import record


def _arguments(*terms: Term) -> tuple[Term, ...]:
    """The arguments: all terms except the last one, the result."""
    return terms[:-1]


@record
class Kink:
    """Points at which a primitive has no derivative.

    Attributes
    ----------
    where : str
        Where the kinks are, as text.
    taken : str
        The derivative that the rule chooses there, as text.
    why : str
        Why there is no derivative: how the derivative, or the value, behaves there.
    remedy : str
        What the person can do.
    at : tuple of float
        Arguments at a kink, for tests.
    tie : callable
        Whether arguments and result (the last one) are at a kink.
    across : callable
        Of arguments and result, the values one of which changes when the kink is left; by default the
        arguments.
    by : tuple of int or None
        The numbers of the arguments without a derivative; None for all.
    """

    where: str
    taken: str
    why: str
    remedy: str
    at: tuple[float, ...]
    tie: OfTerms[Term]
    across: OfTerms[tuple[Term, ...]] = _arguments
    by: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"{self.where} ({self.taken})"


TIE = Kink(
    "at a tie",
    "dsim takes that of the right operand",
    "on each side it is that of another value",
    "start where no two operands are equal, or take a smooth function in its place",
    (0.5, 0.5),
    lambda x, y, z: x.equals(y),
    lambda x, y, z: (x - y,),
)
CORNER = Kink(
    "at 0",
    "dsim takes 0",
    "it is -1 below and 1 above",
    "start elsewhere, or smooth it: `ds.sqrt(x * x + eps)` with a small `eps`",
    (0.0,),
    lambda x, z: x.equals(0),
)
POINT = Kink(
    "at 0",
    "dsim takes 0",
    "the value grows in every direction from there",
    "start elsewhere, or smooth it by a small number below the root, as `norm(eps)` does",
    (0.0,),
    lambda x, z: z.equals(0),
)
ORIGIN = Kink(
    "at (0, 0)",
    "dsim takes 0",
    "the value grows in every direction from there",
    "start elsewhere, or smooth it: `ds.sqrt(x * x + y * y + eps)` with a small `eps`",
    (0.0, 0.0),
    lambda x, y, z: z.equals(0),
)
BORDER = Kink(
    "where both sides are equal",
    "dsim takes that of the branch that is chosen",
    "each branch has a derivative of its own",
    "start elsewhere, or take one function that is smooth there",
    (0.0, 0.0),
    lambda x, y, z: x.equals(y),
)
"""The kink of a branch on a comparison: in no row, since most such branches have equal derivatives there."""

_JUMP = "the value jumps there"
_STAY = "no gradient tells of a jump: stay off it, or take a smooth function in its place"


def _steps(at: tuple[float, ...], tie: OfTerms[Term]) -> Kink:
    return Kink("at its steps", "dsim takes 0", _JUMP, _STAY, at, tie)


def _half(x: Term, z: Term) -> Term:
    return ((x - z) * (x - z)).equals(0.25)


WHOLE = _steps((2.0,), lambda x, z: x.equals(z))
HALF = _steps((1.5,), _half)
QUOTIENT = _steps((3.0, 1.5), lambda x, y, z: x.op("mod", y).equals(0))
WRAP = Kink(
    "where it wraps",
    "dsim takes that of the period that begins there",
    _JUMP,
    _STAY,
    (3.0, 1.5),
    lambda x, y, z: z.equals(0),
)
ZERO_TO_ZERO = Kink(
    "at 0 to the power 0",
    "dsim takes 0",
    "0 to a power is 1 at the power 0, and 0 above",
    "keep the base away from 0: add a small number to it",
    (0.0, 0.0),
    lambda x, y, z: x.equals(0).op("band", y.equals(0)),
    lambda x, y, z: (y,),
    by=(1,),
)
