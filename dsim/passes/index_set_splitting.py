"""Index set splitting: cuts the first and last iterations off a loop over a grid with neighbours that wrap.

``for j in 0..n: y[j] = x[(j + 1) % n]`` becomes a loop over both ends of the range, and one over the rest, in
which ``(j + 1) % n`` is ``j + 1``: neighbours lie next to each other there, which loads, vectors and sums of
neighbours in registers need. A clamped neighbour, ``min(j + 1, n - 1)``, is decided likewise. So is a branch
at the border, ``if j > 0: … else: …``, where the loop adds to neighbours.

Only parallel loops are cut, since their ends then run first. An access that may be out of bounds must be so
in all iterations or in none, so that the first iteration finds the fault that it found before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dsim.analysis.guards import Fact, Guards, compares
from dsim.analysis.intervals import Intervals
from dsim.ir.build import FALSE, TRUE, Builder, Names, const
from dsim.ir.copying import Copier
from dsim.ir.nodes import Accumulate, Atom, Block, Const, For, If, KernelIR, Let, Load, Statement, Store, Var
from dsim.ir.ranges import known_trips
from dsim.ir.walk import binds, blocks, bound_names, parameters, statements, with_blocks
from dsim.passes.renaming import Renaming

_WIDEST = 4  # iterations cut off at each end, at most
_FEWEST = 16  # iterations that must be left
_LONGEST = 400  # statements of a body that is copied
_DECIDABLE = ("mod", "min", "max")


def split_index_sets(kernel: KernelIR) -> KernelIR:
    """`kernel` with loops cut where indices wrap around or border; `kernel` itself if there is none."""
    if not any(_wraps(s) or compares(s) for s in statements(kernel.body)):
        return kernel
    splitter = _Splitter(kernel)
    body = splitter.block(kernel.body)
    return replace(kernel, body=body) if splitter.changed else kernel


def _wraps(s: Statement) -> bool:
    return isinstance(s, Let) and s.op in _DECIDABLE and s.var.type.is_integer


class _Splitter:
    def __init__(self, kernel: KernelIR) -> None:
        self.exact = kernel.exact
        self.builder = Builder(Names(bound_names(kernel)))
        self.names = Renaming()
        self.intervals = Intervals()
        self.guards = Guards(kernel)
        self.sums = {s.var for s in statements(kernel.body) if isinstance(s, Let) and s.op in ("add", "sub")}
        self.changed = False
        self.cutting = True

    def block(self, b: Block) -> Block:
        with self.builder.block() as out:
            for s in b.statements:
                self.statement(self.names.statement(s))
        return Block(tuple(out), self.names.atoms(b.yields))

    def statement(self, s: Statement) -> None:
        if isinstance(s, Let):
            self.let(s)
        elif isinstance(s, For):
            width = self.width(s) if self.cutting else 0
            if width:
                self.ends(s, width)
                s = _shortened(s, width)
            self.intervals.enter(s)
            self.builder.add(with_blocks(s, self.block))
        else:
            self.builder.add(with_blocks(s, self.block))

    def let(self, s: Let) -> None:
        known = _sum(s, self.intervals)
        if known is None:
            self.intervals.note(s)
            self.builder.add(s)
            return
        self.changed = True
        base, offset = known
        if not offset:
            self.names.put(s.var, base)
            return
        made = Let(s.var, "add" if offset > 0 else "sub", (base, const(abs(offset), s.var.type)), s.origin)
        self.intervals.note(made)
        self.builder.add(made)

    def ends(self, s: For, width: int) -> None:
        """Appends a loop over the first and the last `width` iterations of `s`."""
        self.changed = True
        start, stop = _ends(s)
        step = stop - start - width
        self.cutting = False
        copied = with_blocks(Copier(self.builder.names).statement(s, {}), self.block)
        self.cutting = True
        assert isinstance(copied, For)
        if width == 1:
            self.builder.add(replace(copied, step=step))
            return
        first = self.builder.fresh(s.index.name, s.index.type)
        with self.builder.block() as out:
            after = self.builder.let("add", first, const(width, s.index.type))
            self.builder.add(replace(copied, start=first, stop=after))
        self.builder.add(For(first, s.start, s.stop, step, Block(tuple(out)), parallel=True, origin=s.origin))

    def width(self, s: For) -> int:
        """How many iterations to cut off at each end of `s`; 0: none."""
        inside = tuple(statements(s.body))
        pays = any(map(_wraps, inside)) or (any(map(compares, inside)) and any(map(self.scatters, inside)))
        if not pays or not self.splits(s, inside):
            return 0
        counts = [self.decided(s, inside, width) for width in range(_WIDEST + 1)]
        width = counts.index(max(counts))
        return width if (known_trips(s) or 0) >= 2 * width + _FEWEST else 0

    def decided(self, s: For, inside: Iterable[Statement], width: int) -> int:
        """How many indices are decided without the `width` iterations at each end of `s`."""
        known = self.intervals.copy()
        known.enter(_shortened(s, width))
        return sum(_sum(t, known) is not None for t in _noted(inside, known) if isinstance(t, Let))

    def splits(self, s: For, inside: tuple[Statement, ...]) -> bool:
        """Whether the iterations of `s` may be divided among several loops."""
        if not s.parallel or s.step != 1 or s.carried or s.goes_on is not None or known_trips(s) is None:
            return False
        if len(inside) > _LONGEST or not all(map(self.simple, inside)):
            return False
        return _Uniformity(s, inside, self.intervals, self.guards).of(s.body, always=True)

    def scatters(self, s: Statement) -> bool:
        """Whether `s` adds to the neighbour of an element."""
        return isinstance(s, Accumulate) and not self.sums.isdisjoint(s.index)

    def simple(self, s: Statement) -> bool:
        """Whether `s` has no effect that depends on the order of iterations."""
        if isinstance(s, Accumulate):
            return s.old is None and not (self.exact and s.memory.type.is_float)
        if isinstance(s, For):
            return s.goes_on is None
        return isinstance(s, Let | Load | Store | If)


class _Uniformity:
    """Whether each access in a loop is in bounds in all iterations, or in none."""

    def __init__(self, s: For, inside: tuple[Statement, ...], around: Intervals, guards: Guards) -> None:
        self.loop, self.inside, self.around, self.guards = s, inside, around, guards
        self.varying = _varying(s)
        self._known: dict[frozenset[Fact], Intervals] = {}

    def of(self, b: Block, *, always: bool, facts: frozenset[Fact] = frozenset()) -> bool:
        """The same of the accesses in `b`, which runs where `facts` are so; `always`: in all iterations."""
        for s in b.statements:
            if isinstance(s, Load | Store | Accumulate) and not (s.memory.private and s.site < 0):
                for length, a in zip(s.memory.shape, s.index, strict=True):
                    if not self.is_inside(a, length, facts) and (a in self.varying or not always):
                        return False
            if isinstance(s, If):
                sides = ((s.then, True), (s.orelse, False))
                of_sides = (
                    self.of(inner, always=False, facts=facts | self.guards.facts(s.cond, truth))
                    for inner, truth in sides
                )
                if not all(of_sides):
                    return False
                continue
            runs = always and isinstance(s, For) and bool(known_trips(s))
            if not all(self.of(inner, always=runs, facts=facts) for inner in blocks(s)):
                return False
        return True

    def is_inside(self, a: Atom, length: int | None, facts: frozenset[Fact]) -> bool:
        at = self.where(facts).of(a)
        return length is not None and at is not None and at[0] >= 0 and at[1] < length

    def where(self, facts: frozenset[Fact]) -> Intervals:
        """The intervals in the iterations in which `facts` are so."""
        known = self._known.get(facts)
        if known is None:
            known = self._known[facts] = self.around.copy()
            for s in (self.loop, *self.inside):
                if isinstance(s, For):
                    known.enter(self.guards.shortened(s, facts))
                elif isinstance(s, Let):
                    known.note(s)
        return known


def _sum(s: Let, known: Intervals) -> tuple[Atom, int] | None:
    """The atom and the number whose sum ``s.var`` is in all iterations, if `s` wraps, clamps or compares."""
    if compares(s):
        holds = known.holds(s)
        return None if holds is None else (TRUE if holds else FALSE, 0)
    if not _wraps(s):
        return None
    a, b = s.args
    x, y = known.of(a), known.of(b)
    if x is None or y is None:
        return None
    if s.op == "mod":
        turns = x[0] // y[0] if isinstance(b, Const) and y[0] > 0 else None
        return None if turns is None or turns != x[1] // y[0] else (a, -turns * y[0])
    least, greatest = (a, b) if x[1] <= y[0] else (b, a)
    if x[1] > y[0] and y[1] > x[0]:
        return None
    return (least if s.op == "min" else greatest), 0


def _noted(inside: Iterable[Statement], known: Intervals) -> Iterator[Statement]:
    """The statements; `known` has what those before each show."""
    for s in inside:
        yield s
        if isinstance(s, For):
            known.enter(s)
        elif isinstance(s, Let):
            known.note(s)


def _varying(loop: For) -> set[Var]:
    """The variables that may differ between iterations of `loop`."""
    found: set[Var] = set()
    for s in statements(Block((loop,))):
        if isinstance(s, Let) and not any(a in found for a in s.args):
            continue
        found.update((*binds(s), *parameters(s)))
    return found


def _ends(s: For) -> tuple[int, int]:
    assert isinstance(s.start, Const)
    assert isinstance(s.stop, Const)
    return int(s.start.value), int(s.stop.value)


def _shortened(s: For, width: int) -> For:
    """`s` without `width` iterations at each end."""
    start, stop = _ends(s)
    return replace(s, start=const(start + width, s.start.type), stop=const(stop - width, s.stop.type))
