"""Atoms with operators, so that derivatives in the table read as formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from dsim.ir.nodes import Atom, Const
from dsim.ir.types import ScalarType


class Emits(Protocol):
    """The part of a builder that a term uses."""

    def let(self, op: str, *args: Atom, type: ScalarType | None = None) -> Atom:
        """Appends primitive `op` of `args`; returns its value."""
        ...


class Term:
    """An atom, and the builder to which its operators append statements.

    A Python number as the other operand gets the term's type.
    """

    __slots__ = ("atom", "builder")

    def __init__(self, builder: Emits, atom: Atom) -> None:
        self.builder = builder
        self.atom = atom

    @property
    def type(self) -> ScalarType:
        """The scalar type of the atom."""
        return self.atom.type

    def op(self, name: str, *others: Term | float) -> Term:
        """Primitive `name` of this term and `others`."""
        atoms = [o.atom if isinstance(o, Term) else self.constant(o).atom for o in others]
        return Term(self.builder, self.builder.let(name, self.atom, *atoms))

    def constant(self, value: float) -> Term:
        """The constant `value` of this term's type."""
        return Term(self.builder, Const(float(value) if self.type.is_float else value, self.type))

    def cast(self, to: ScalarType) -> Term:
        """The value as a `to`."""
        return Term(self.builder, self.builder.let("cast", self.atom, type=to))

    def __add__(self, o: Term | float) -> Term:
        return self.op("add", o)

    def __radd__(self, o: float) -> Term:
        return self.constant(o).op("add", self)

    def __sub__(self, o: Term | float) -> Term:
        return self.op("sub", o)

    def __rsub__(self, o: float) -> Term:
        return self.constant(o).op("sub", self)

    def __mul__(self, o: Term | float) -> Term:
        return self.op("mul", o)

    def __rmul__(self, o: float) -> Term:
        return self.constant(o).op("mul", self)

    def __truediv__(self, o: Term | float) -> Term:
        return self.op("div", o)

    def __rtruediv__(self, o: float) -> Term:
        return self.constant(o).op("div", self)

    def __neg__(self) -> Term:
        return self.op("neg")

    def __gt__(self, o: Term | float) -> Term:
        return self.op("gt", o)

    def __lt__(self, o: Term | float) -> Term:
        return self.op("lt", o)

    def equals(self, o: Term | float) -> Term:
        """Whether both are equal (``==`` keeps its meaning in Python)."""
        return self.op("eq", o)


def select(cond: Term, yes: Term | float, no: Term | float) -> Term:
    """`yes` where `cond` holds, else `no`; at least one of the two is a term."""
    like = yes if isinstance(yes, Term) else no
    assert isinstance(like, Term)
    a, b = (v if isinstance(v, Term) else like.constant(v) for v in (yes, no))
    return Term(like.builder, like.builder.let("select", cond.atom, a.atom, b.atom))


Result = TypeVar("Result")
OfTerms = (
    Callable[[Term], Result]
    | Callable[[Term, Term], Result]
    | Callable[[Term, Term, Term], Result]
    | Callable[[Term, Term, Term, Term], Result]
    | Callable[[Term, Term, Term, Term, Term], Result]
)
