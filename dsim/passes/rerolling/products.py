"""Which values of a loop are products of its invariants with elements of a row, or sums of them.

In ``for i in range(32): for j in ti.static(range(64)): s += w[i, j] * q[j]`` the row of trip `i` is all that
the trip reads of `w`. Each value is followed from the row's elements on, as long as it is one of these:

- `Dot`: the sum of coefficients times elements, perhaps with another value added;
- `Scaled`: a coefficient times a value of the trip;
- `Outer`: the sum of coefficients times elements, times a value of the trip.

Coefficients are the same in all trips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dsim.analysis.intervals import Intervals
from dsim.ir.build import Builder, const
from dsim.ir.nodes import Accumulate, Atom, Const, For, Let, Load, Memory, MemoryKey, Statement, Store, Var
from dsim.ir.primitives import TABLE
from dsim.ir.walk import operands
from dsim.records import record

Coefficients = Mapping[int, Atom]  # by column


@record
class Dot:
    """``sum(coefficients[j] * matrix[i, j]) + rest``."""

    matrix: Memory
    coefficients: Coefficients
    rest: Var | None = None


@record
class Scaled:
    """``factor * of``."""

    factor: Atom
    of: Var


@record
class Outer:
    """``sum(coefficients[j] * matrix[i, j]) * of``."""

    matrix: Memory
    coefficients: Coefficients
    of: Var


Form = Dot | Scaled | Outer


@dataclass(slots=True)
class RowProducts:
    """What `find` finds in a loop.

    Attributes
    ----------
    before : list of statement
        The statements that are the same in all trips, and those that compute coefficients.
    inside : list of statement
        The others.
    forms : dict of Var to Form
        The values of these, as far as they have a form.
    used : set of Var
        Those that are used otherwise than in a form of another one.
    """

    before: list[Statement]
    inside: list[Let | Load | Store | Accumulate] = field(
        default_factory=list["Let | Load | Store | Accumulate"]
    )
    forms: dict[Var, Form] = field(default_factory=dict[Var, "Form"])
    used: set[Var] = field(default_factory=set[Var])
    invariant: set[Var] = field(default_factory=set[Var])

    def is_invariant(self, a: Atom) -> bool:
        """Whether `a` is the same in all trips, if it is bound in the loop or before."""
        return isinstance(a, Const) or a in self.invariant

    def scaled(self, a: Atom) -> Scaled | None:
        """A value of a trip as a product of an invariant and another value."""
        if not isinstance(a, Var) or self.is_invariant(a):
            return None
        known = self.forms.get(a)
        return known if isinstance(known, Scaled) else Scaled(const(1, a.type), a)


def find(s: For, outside: set[Var], builder: Builder) -> RowProducts:
    """The products in the body of `s`, which has no inner blocks.

    Parameters
    ----------
    s : For
        The loop.
    outside : set of Var
        The variables that are bound before it.
    builder : Builder
        Makes the statements of coefficients.
    """
    return _Finder(s, outside, builder).found


def row(memory: Memory, index: tuple[Atom, ...], i: Var, known: Intervals) -> int | None:
    """The column, if that is an element of row `i` that is certainly in bounds."""
    if len(index) < 2 or not isinstance(index[-1], Const) or list(index[:-1]).count(i) != 1:
        return None
    fixed = all(a == i or isinstance(a, Const) for a in index)
    return int(index[-1].value) if fixed and memory.type.is_float and known.inside(memory, index) else None


class _Finder:
    def __init__(self, s: For, outside: set[Var], builder: Builder) -> None:
        self.i = s.index
        self.builder = builder
        self.intervals = Intervals()
        self.intervals.enter(s)
        self.written = {t.memory.key for t in s.body.statements if isinstance(t, Store | Accumulate)}
        self.rows: dict[MemoryKey, tuple[Atom, ...]] = {}  # of each matrix: the index without the column
        self.known: dict[tuple[str, Atom, Atom | None], Atom] = {}
        with builder.block() as before:
            self.found = RowProducts(before, invariant=set(outside))
            for t in s.body.statements:
                self._statement(t)

    def _statement(self, s: Statement) -> None:
        found = self.found
        match s:
            case Let() if not TABLE[s.op].kept and all(map(found.is_invariant, s.args)):
                self._hoist(s)
                return
            case Load() if s.memory.key not in self.written and all(map(found.is_invariant, s.index)):
                self._hoist(s)
                return
            case Let():
                form = self._form(s) if s.var.type.is_float else None
                if form is not None:
                    found.forms[s.var] = form
                else:
                    self._use(s)
            case Load():
                column = self._column(s)
                if column is not None:
                    found.forms[s.var] = Dot(s.memory, {column: const(1, s.var.type)})
                self._use(s)
            case Store():
                self._use(s)
            case Accumulate():
                found.used.update(a for a in s.index if isinstance(a, Var))
            case _:
                raise AssertionError(s)
        found.inside.append(s)

    def _hoist(self, s: Let | Load) -> None:
        self.found.invariant.add(s.var)
        self.found.before.append(s)

    def _use(self, s: Statement) -> None:
        self.found.used.update(a for a in operands(s) if isinstance(a, Var))

    def _column(self, s: Load) -> int | None:
        if s.memory.key in self.written:
            return None
        if self.rows.setdefault(s.memory.key, s.index[:-1]) != s.index[:-1]:
            return None
        return row(s.memory, s.index, self.i, self.intervals)

    # -- forms of sums and products

    def _form(self, s: Let) -> Form | None:
        match s.op, s.args:
            case "mul", (a, b):
                return self._product(a, b) or self._product(b, a)
            case "neg", (a,):
                return self._times(a, const(-1, a.type))
            case "add", (a, b):
                return self._sum(a, b) or self._plus(a, b) or self._plus(b, a)
            case "sub", (a, b):
                return self._sum(a, b, "sub") or self._minus(a, b)
            case _:
                return None

    def _product(self, a: Atom, b: Atom) -> Form | None:
        if self.found.is_invariant(b):
            return self._times(a, b)
        element, of = self._element(a), self.found.scaled(b)
        if element is None or of is None or self._element(b) is not None:
            return None
        return Outer(element.matrix, self._all(element.coefficients, of.factor), of.of)

    def _element(self, a: Atom) -> Dot | None:
        """An element of a row times a coefficient."""
        form = self.found.forms.get(a) if isinstance(a, Var) else None
        return form if isinstance(form, Dot) and form.rest is None and len(form.coefficients) == 1 else None

    def _times(self, a: Atom, factor: Atom) -> Form | None:
        form = self.found.forms.get(a) if isinstance(a, Var) else None
        match form:
            case Outer(matrix, coefficients, of):
                return Outer(matrix, self._all(coefficients, factor), of)
            case Dot(matrix, coefficients) if self._element(a) is not None:
                return Dot(matrix, self._all(coefficients, factor))
            case _:
                of = self.found.scaled(a)
                return None if of is None else Scaled(self._let("mul", of.factor, factor), of.of)

    def _sum(self, a: Atom, b: Atom, op: str = "add") -> Form | None:
        """The sum, or difference, of two forms."""
        x, y = (self.found.forms.get(v) if isinstance(v, Var) else None for v in (a, b))
        match x, y:
            case Dot(), Dot() if x.matrix == y.matrix and y.rest is None:
                return Dot(x.matrix, self._joined(x.coefficients, y.coefficients, op), x.rest)
            case Outer(), Outer() if x.matrix == y.matrix and x.of == y.of:
                return Outer(x.matrix, self._joined(x.coefficients, y.coefficients, op), x.of)
            case _:
                return None

    def _plus(self, a: Atom, b: Atom) -> Dot | None:
        """A sum of a form and another value of the trip."""
        form = self.found.forms.get(a) if isinstance(a, Var) else None
        if not isinstance(form, Dot) or form.rest is not None or not isinstance(b, Var):
            return None
        self.found.used.add(b)
        return Dot(form.matrix, form.coefficients, b)

    def _minus(self, a: Atom, b: Atom) -> Dot | None:
        """A difference of another value and a form."""
        form = self.found.forms.get(b) if isinstance(b, Var) else None
        if not isinstance(form, Dot) or form.rest is not None or not isinstance(a, Var):
            return None
        self.found.used.add(a)
        return Dot(form.matrix, self._all(form.coefficients, const(-1, a.type)), a)

    # -- coefficients

    def _all(self, coefficients: Coefficients, factor: Atom) -> Coefficients:
        return {column: self._let("mul", c, factor) for column, c in coefficients.items()}

    def _joined(self, a: Coefficients, b: Coefficients, op: str) -> Coefficients:
        joined = dict(a)
        for column, c in b.items():
            term = c if op == "add" else self._let("neg", c)
            joined[column] = self._let("add", joined[column], term) if column in joined else term
        return joined

    def _let(self, op: str, a: Atom, b: Atom | None = None) -> Atom:
        """A coefficient, computed once."""
        key = op, a, b
        if key not in self.known:
            self.known[key] = self.builder.let(op, a) if b is None else self.builder.let(op, a, b)
        return self.known[key]
