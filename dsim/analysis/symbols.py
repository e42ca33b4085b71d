"""What is known about the symbols of affine forms: their ranges, and the loops that they change in."""

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
        The loop around it.
    depth : int
        How many loops are around it.
    start, stop : Affine or None
        The range of a `For`.
    trips : int or None
        How many trips a `For` without `goes_on` makes, when that is a known number.
    first, last : int
        The positions of its first statement and behind its last one.
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
        """The index of a `For`."""
        return self.statement.index if isinstance(self.statement, For) else None

    @property
    def step(self) -> int:
        """By how much the index changes from one trip to the next."""
        return self.statement.step if isinstance(self.statement, For) else 1


@dataclass(eq=False, slots=True)
class Symbol:
    """What is known about a symbol.

    Attributes
    ----------
    var : Var
        The symbol in affine forms.
    loop : Loop or None
        The innermost loop from trip to trip of which it may change; None when one launch has one
        value of it.
    order : int
        Greater than that of all symbols in its own ranges and facts.
    low, high : float
        Numbers that it lies between, both inclusive; infinite when unknown.
    lower, upper : Affine or None
        Forms of symbols of a lower order that it lies between, both inclusive.
    facts : tuple of Affine
        Forms that are not negative, whatever the symbols in them are.
    """

    var: Var
    loop: Loop | None
    order: int
    low: float = -INFINITY
    high: float = INFINITY
    lower: Affine | None = None
    upper: Affine | None = None
    facts: tuple[Affine, ...] = ()


def type_range(type: ScalarType) -> tuple[float, float]:
    """The least and the greatest value of an integer type (or bool)."""
    if type.kind == "bool":
        return 0, 1
    if type.kind == "uint":
        return 0, (1 << type.bits) - 1
    return -(1 << type.bits - 1), (1 << type.bits - 1) - 1


def assumed_range(type: ScalarType) -> tuple[float, float]:
    """The range of a value about which only its type is known: only limits that matter as indices."""
    low, high = type_range(type)
    return (low if low == 0 or type.bits <= 16 else -INFINITY), (high if type.bits <= 16 else INFINITY)


def span_of(*ranges: tuple[float, float]) -> tuple[float, float]:
    """The smallest range around several."""
    return min(r[0] for r in ranges), max(r[1] for r in ranges)
