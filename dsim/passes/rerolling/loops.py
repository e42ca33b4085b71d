"""Loop rerolling: products with the rows of a matrix that ``ti.static`` wrote out become loops over columns.

A layer of a network is usually written with its inputs unrolled: ``for i in range(32): for j in
ti.static(range(64)): s += w[i, j] * q[j]``. Then the elements of a row lie side by side, and trips, of which
LLVM makes vectors, are a row apart: each of 64 loads gathers, and each ``w.grad[i, j] += …`` of the adjoint
scatters. Here such a loop becomes three: one of the products of all rows with ``q``, one of the rest, and one
that adds to all rows, and what the rows add to ``q.grad``. See docs/decisions/0064-rows-rerolled.md.

Additions change places, so a kernel that runs as it is written stays as it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeGuard

from dsim.analysis.intervals import Intervals
from dsim.ir.build import Builder, Names, const, index
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Atom,
    Block,
    Const,
    For,
    KernelIR,
    Let,
    Load,
    Memory,
    MemoryKey,
    Statement,
    Store,
    Var,
)
from dsim.ir.ranges import known_trips
from dsim.ir.types import ScalarType
from dsim.ir.walk import binds, bound_names, operands
from dsim.passes.rerolling.products import Coefficients, Dot, Outer, RowProducts, find, row
from dsim.records import record

_FEWEST = 8  # columns; fewer are no vector
_SHORT = 128  # trips; in longer loops a row is added up as fast by vectors of trips, unless it is wide
_WIDE = 32  # columns of those
_WIDEST = 1 << 10  # columns; the time that this takes to compile grows with their square
_MOST = 1 << 15  # elements of all rows: more are work for several threads


def reroll_rows(kernel: KernelIR) -> KernelIR:
    """`kernel` with products of rows as loops; `kernel` itself if there are none, or its order counts."""
    if kernel.exact or not any(map(_may_have_rows, kernel.body.statements)):
        return kernel
    builder = Builder(Names(bound_names(kernel)))
    outside = set(kernel.params)
    for s in kernel.body.statements:
        made = _rerolled(s, outside, builder) if isinstance(s, For) and _may_have_rows(s) else None
        for each in made or [s]:
            builder.add(each)
        outside.update(binds(s))
    return replace(kernel, body=builder.close(kernel.body.yields))


def _may_have_rows(s: Statement) -> bool:
    """Whether `s` is a loop of straight code, with so many columns of a row."""
    if not isinstance(s, For) or s.carried or s.step != 1 or s.goes_on is not None:
        return False
    trips = known_trips(s)
    if trips is None or trips < 1 or not isinstance(s.stop, Const) or s.stop.value > _MOST:
        return False
    if not all(isinstance(t, Let | Load | Store | Accumulate) for t in s.body.statements):
        return False
    columns = Counter(
        t.memory.key
        for t in s.body.statements
        if isinstance(t, Load | Accumulate) and s.index in t.index[:-1] and isinstance(t.index[-1], Const)
    )
    most, fewest = max(columns.values(), default=0), _FEWEST if trips <= _SHORT else 2 * _FEWEST
    return fewest <= most <= _WIDEST and most * trips <= _MOST


@record
class _RowSum:
    """``matrix[i, j] += coefficients[j] * of`` for all columns; `adds` are the statements."""

    adds: list[Accumulate]
    coefficients: Coefficients
    of: Var


def _rerolled(s: For, outside: set[Var], builder: Builder) -> list[Statement] | None:
    """The statements that `s` becomes; None if it stays."""
    products = find(s, outside, builder)
    sums = _sums(s, products)
    added = {id(t) for each in sums for t in each.adds}
    into = [t for t in _outer_sums(products) if id(t) not in added]
    weights = _weights(products, into)
    into = [t for t in into if _form(products, t) in weights]
    moved = added | set(map(id, into))
    kept = [t for t in products.inside if id(t) not in moved]
    of = dict.fromkeys([*(each.of for each in sums), *(z for _, z in weights)])
    dots = _dots(products, kept, of)
    if not (sums or into or any(_is_wide(s, d) for d in dots.values())):
        return None
    with builder.block(products.before) as out:
        _Writer(s, products, builder).write(kept, of, dots, sums, weights, into)
    return out


def _is_wide(s: For, dot: Dot) -> bool:
    return len(dot.coefficients) >= _WIDE or (known_trips(s) or 0) <= _SHORT


# -- what becomes loops


def _sums(s: For, products: RowProducts) -> list[_RowSum]:
    """The additions to all columns of a row of memories that the loop does not use otherwise."""
    known = Intervals()
    known.enter(s)
    sums: list[_RowSum] = []
    for uses in _uses(products).values():
        adds = list(filter(_adds, uses))
        terms = [t for t in (_term(t, s.index, products, known) for t in adds) if t is not None]
        coefficients = {column: factor for column, factor, _ in terms}
        alike = len({z for _, _, z in terms}) == 1 and len({t.index[:-1] for t in uses}) == 1
        if len(coefficients) == len(uses) and alike and _span(coefficients) is not None:
            sums.append(_RowSum(adds, coefficients, terms[0][2]))
    return sums


def _uses(products: RowProducts) -> Mapping[MemoryKey, list[Load | Store | Accumulate]]:
    uses: defaultdict[MemoryKey, list[Load | Store | Accumulate]] = defaultdict(list)
    for t in products.inside:
        if not isinstance(t, Let):
            uses[t.memory.key].append(t)
    return uses


def _term(t: Accumulate, i: Var, products: RowProducts, known: Intervals) -> tuple[int, Atom, Var] | None:
    """The column, the coefficient and the value of the trip that `t` adds to a row."""
    column, scaled = row(t.memory, t.index, i, known), products.scaled(t.value)
    return None if column is None or scaled is None else (column, scaled.factor, scaled.of)


def _adds(t: Load | Store | Accumulate) -> TypeGuard[Accumulate]:
    return isinstance(t, Accumulate) and t.op == "add" and t.old is None


def _outer_sums(products: RowProducts) -> list[Accumulate]:
    """The additions of products with rows to an element that is the same in all trips."""
    return [
        t
        for uses in _uses(products).values()
        if all(map(_adds, uses))
        for t in filter(_adds, uses)
        if _form(products, t) and all(map(products.is_invariant, t.index))
    ]


def _form(products: RowProducts, t: Accumulate) -> tuple[Memory, Var] | None:
    """The matrix whose rows `t` adds, and what they are multiplied by."""
    form = products.forms.get(t.value) if isinstance(t.value, Var) else None
    return (form.matrix, form.of) if isinstance(form, Outer) else None


def _weights(products: RowProducts, into: Iterable[Accumulate]) -> dict[tuple[Memory, Var], range]:
    """The columns of rows that are summed over the trips, each times a value of the trip."""
    columns: defaultdict[tuple[Memory, Var], set[int]] = defaultdict(set)
    for t in into:
        key, form = _form(products, t), products.forms[t.value]  # type: ignore[index]
        assert key is not None
        assert isinstance(form, Outer)
        columns[key].update(form.coefficients)
    spans = {key: range(min(c), max(c) + 1) for key, c in columns.items()}
    return {key: span for key, span in spans.items() if len(columns[key]) >= _FEWEST and _is_near(span)}


def _dots(products: RowProducts, kept: Iterable[Statement], of: Iterable[Var]) -> dict[Var, Dot]:
    """The sums over a row that are used as numbers."""
    used = {*products.used, *of}
    used.update(t.value for t in kept if isinstance(t, Accumulate) and isinstance(t.value, Var))
    dots: dict[Var, Dot] = {}
    for t in reversed(products.inside):
        if not isinstance(t, Let) or t.var not in used:
            continue
        form = products.forms.get(t.var)
        if isinstance(form, Dot) and _span(form.coefficients) is not None:
            dots[t.var] = form
            used.update([] if form.rest is None else [form.rest])
        else:
            used.update(a for a in operands(t) if isinstance(a, Var))
    return dots


def _span(coefficients: Coefficients) -> range | None:
    """All columns, if there are enough of them without a gap."""
    columns = range(min(coefficients), max(coefficients) + 1) if coefficients else range(0)
    return columns if len(coefficients) == len(columns) >= _FEWEST and _is_near(columns) else None


def _is_near(columns: range) -> bool:
    """Whether buffers that begin at column 0 are not much longer."""
    return columns.stop <= 4 * len(columns)


# -- the loops


class _Writer:
    """Writes what the loop `s` becomes."""

    def __init__(self, s: For, products: RowProducts, builder: Builder) -> None:
        self.s = s
        self.products = products
        self.b = builder
        self.filled: dict[tuple[tuple[int, Atom], ...], Memory] = {}

    def write(
        self,
        kept: Iterable[Statement],
        of: Iterable[Var],
        dots: Mapping[Var, Dot],
        sums: Iterable[_RowSum],
        weights: Mapping[tuple[Memory, Var], range],
        into: Iterable[Accumulate],
    ) -> None:
        """Appends the loops of dot products, of the rest, and of additions to rows, and what comes after.

        The rest keeps the values `of` its trips for the additions.
        """
        numbers = {v: self._dot(d) for v, d in dots.items()}
        values = {z: self._buffer("of_trip", self._end, z.type) for z in of}
        self._rest(kept, dots, numbers, values)
        totals = {key: self._buffer("total", columns.stop, key[1].type) for key, columns in weights.items()}
        self._rows(sums, weights, values, totals)
        self._after(into, totals)

    @property
    def _end(self) -> int:
        assert isinstance(self.s.stop, Const)
        return int(self.s.stop.value)

    def _buffer(self, name: str, length: int, type: ScalarType) -> Memory:
        memory = Memory(self.b.names.fresh(name), type, (length,), private=True)
        self.b.add(Alloc(memory, (index(length),), origin=self.s.origin))
        return memory

    def _factors(self, coefficients: Coefficients) -> Memory:
        """A buffer with the coefficients, by column."""
        key = tuple(sorted(coefficients.items(), key=lambda item: item[0]))
        if key not in self.filled:
            made = self.filled[key] = self._buffer("factors", key[-1][0] + 1, key[0][1].type)
            for column, c in key:
                self.b.add(Store(made, (index(column),), c, origin=self.s.origin))
        return self.filled[key]

    def _load(self, memory: Memory, *at: Atom) -> Var:
        var = self.b.fresh(f"{memory.name}_at", memory.type)
        self.b.add(Load(var, memory, at, self.s.origin))
        return var

    def _element(self, matrix: Memory, i: Var, j: Var) -> Var:
        """That in column `j` of row `i`."""
        loads = (t for t in self.products.inside if isinstance(t, Load) and t.memory.key == matrix.key)
        first = next(t for t in loads if self.s.index in t.index)
        var = self.b.fresh(f"{matrix.name}_at", matrix.type)
        self.b.add(replace(first, var=var, index=self._at(first.index, i, j)))
        return var

    def _at(self, where: tuple[Atom, ...], i: Var, j: Var) -> tuple[Atom, ...]:
        return (*(i if a == self.s.index else a for a in where[:-1]), j)

    def _trips(self, body: Block, i: Var) -> None:
        self.b.add(For(i, self.s.start, self.s.stop, 1, body, origin=self.s.origin))

    def _dot(self, dot: Dot) -> Memory:
        """The products of all rows with the coefficients, in a buffer."""
        columns, factors, type = _span(dot.coefficients), self._factors(dot.coefficients), dot.matrix.type
        assert columns is not None
        made = self._buffer("dots", self._end, type)
        i, j = self.b.fresh("i", self.s.index.type), self.b.fresh("j", index(0).type)
        before, after = self.b.fresh("sum", type), self.b.fresh("sum", type)
        with self.b.block() as outer:
            with self.b.block() as inner:
                product = self.b.let("mul", self._element(dot.matrix, i, j), self._load(factors, j))
                total = self.b.let("add", before, product)
            loop = Block(tuple(inner), (total,))
            first, end, zero = index(columns.start), index(columns.stop), const(0, type)
            origin = self.s.origin
            self.b.add(For(j, first, end, 1, loop, (before,), (zero,), (after,), origin=origin))
            self.b.add(Store(made, (i,), after, origin=origin))
        self._trips(Block(tuple(outer)), i)
        return made

    def _rest(
        self,
        kept: Iterable[Statement],
        dots: Mapping[Var, Dot],
        numbers: Mapping[Var, Memory],
        values: Mapping[Var, Memory],
    ) -> None:
        """The loop as it was, with the dot products at hand; it keeps the values of its trips."""
        s, i = self.s, self.s.index
        with self.b.block() as body:
            for t in kept:
                if not isinstance(t, Let) or t.var not in dots:
                    self.b.add(t)
                    continue
                number, rest = self._load(numbers[t.var], i), dots[t.var].rest
                other: Atom = const(0, number.type) if rest is None else rest
                self.b.add(Let(t.var, "add", (number, other), t.origin))
            for z, memory in values.items():
                self.b.add(Store(memory, (i,), z, origin=s.origin))
        self.b.add(replace(s, body=Block(tuple(body)), parallel=False))

    def _rows(
        self,
        sums: Iterable[_RowSum],
        weights: Mapping[tuple[Memory, Var], range],
        values: Mapping[Var, Memory],
        totals: Mapping[tuple[Memory, Var], Memory],
    ) -> None:
        """The loop that adds to all rows, and sums them over the trips."""
        factors = {id(each): self._factors(each.coefficients) for each in sums}
        i = self.b.fresh("i", self.s.index.type)
        spans = dict.fromkeys([*(_span(each.coefficients) for each in sums), *weights.values()])
        with self.b.block() as outer:
            at_hand = {z: self._load(memory, i) for z, memory in values.items()}
            for span in filter(None, spans):
                j = self.b.fresh("j", index(0).type)
                with self.b.block() as inner:
                    for each in sums:
                        if _span(each.coefficients) == span:
                            value = self.b.let("mul", self._load(factors[id(each)], j), at_hand[each.of])
                            self.b.add(
                                replace(each.adds[0], index=self._at(each.adds[0].index, i, j), value=value)
                            )
                    for key, columns in weights.items():
                        if columns == span:
                            value = self.b.let("mul", self._element(key[0], i, j), at_hand[key[1]])
                            self.b.add(Accumulate(totals[key], (j,), value, origin=self.s.origin))
                first, end = index(span.start), index(span.stop)
                self.b.add(For(j, first, end, 1, Block(tuple(inner)), origin=self.s.origin))
        if spans:
            self._trips(Block(tuple(outer)), i)

    def _after(self, into: Iterable[Accumulate], totals: Mapping[tuple[Memory, Var], Memory]) -> None:
        """What all trips together add to elements that are the same in all of them."""
        for t in into:
            key, form = _form(self.products, t), self.products.forms[t.value]  # type: ignore[index]
            assert key is not None
            assert isinstance(form, Outer)
            value: Atom = const(0, t.value.type)
            for column, c in form.coefficients.items():
                value = self.b.let("add", value, self.b.let("mul", self._load(totals[key], index(column)), c))
            self.b.add(replace(t, value=value))
