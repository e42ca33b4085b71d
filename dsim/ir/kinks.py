"""Where primitives have no derivative: how a kernel sees that it is there, and what there is to say of it.

The rows of `primitives.TABLE` name these; a derivative rule and its kink are one row.
"""

from __future__ import annotations

from dataclasses import dataclass

from dsim.ir.term import OfTerms, Term


def _arguments(*terms: Term) -> tuple[Term, ...]:
    """All but the result."""
    return terms[:-1]


@dataclass(frozen=True, slots=True)
class Kink:
    """Points at which a primitive has no derivative.

    Attributes
    ----------
    where : str
        Where they are, in words.
    taken : str
        What the rule gives for a derivative there, in words.
    why : str
        Why there is none: what the derivative, or the value, does there.
    remedy : str
        What to do about it.
    at : tuple of float
        Arguments at such a point, for tests.
    tie : callable
        Whether arguments and result (the last one) are at one.
    across : callable
        Values, of arguments and result, one of which changes when the point is left; by default the
        arguments.
    by : tuple of int or None
        The arguments by which there is no derivative; None for all.
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
"""Of a comparison that chooses: no row has it, since most choices have equal derivatives there."""

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
