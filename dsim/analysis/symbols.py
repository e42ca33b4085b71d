"""Facts about the symbols of affine forms: their ranges, and the loops in which they vary."""

from __future__ import annotations

from dataclasses import dataclass

from dsim.analysis.affine import Affine
from dsim.ir.nodes import For, Var, While
from dsim.ir.types import ScalarType

INFINITY = float("inf")


@dataclass(eq=False, slots=True)
class Loop:
    """A loop of a kernel, compared by identity.

    Attributes
    ----------
    statement : For or While
        The loop itself.
    parent : Loop or None
        The innermost loop around it.
    depth : int
        The number of loops around it.
    start, stop : Affine or None
        The range of a `For`.
    trips : int or None
        The trip count of a `For` without `goes_on`, if it is a known constant.
    first, last : int
        The positions of its first statement, and of the one after its last.
    """

    statement: For | While
    parent: Loop | None
    depth: int
    start: Affine | None = None
    stop: Affine | None = None
    trips: int | None = None
    first: int = 0
    last: int = 0

    @property
    def index(self) -> Var | None:
        """The index, if this is a `For`."""
        return self.statement.index if isinstance(self.statement, For) else None

    @property
    def step(self) -> int:
        """By how much the index changes from one trip to the next."""
        return self.statement.step if isinstance(self.statement, For) else 1


@dataclass(eq=False, slots=True)
class Symbol:
    """The facts about a symbol.

    Attributes
    ----------
    var : Var
        The symbol in affine forms.
    loop : Loop or None
        The innermost loop in which it may vary from trip to trip; None if it is constant in a launch.
    order : int
        A number greater than that of every symbol in its bounds and facts.
    low, high : float
        Constant bounds, both inclusive; infinite if unknown.
    lower, upper : Affine or None
        Symbolic bounds, both inclusive: forms of symbols of a lower order.
    facts : tuple of Affine
        Forms that are at least 0 in every trip.
    """

    var: Var
    loop: Loop | None
    order: int
    low: float = -INFINITY
    high: float = INFINITY
    lower: Affine | None = None
    upper: Affine | None = None
    facts: tuple[Affine, ...] = ()


def type_range(type: ScalarType) -> tuple[int, int]:
    """The least and the greatest value of an integer type (or bool)."""
    if type.kind == "bool":
        return 0, 1
    if type.kind == "uint":
        return 0, (1 << type.bits) - 1
    return -(1 << type.bits - 1), (1 << type.bits - 1) - 1


def assumed_range(type: ScalarType) -> tuple[float, float]:
    """The range of a value of which only the type is known: only the limits that matter for indices."""
    low, high = type_range(type)
    return (low if low == 0 or type.bits <= 16 else -INFINITY), (high if type.bits <= 16 else INFINITY)


def span_of(*ranges: tuple[float, float]) -> tuple[float, float]:
    """The hull of several ranges."""
    return min(r[0] for r in ranges), max(r[1] for r in ranges)
