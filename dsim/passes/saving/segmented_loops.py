"""The segmented loops by which `checkpoint_segments` replaces one pair of loops.

Segment number k begins with trip ``first[k]``; its trips save residuals by their numbers in the segment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from dsim.ir.build import TRUE, Builder, const
from dsim.ir.copying import Copier
from dsim.ir.nodes import (
    Alloc,
    Atom,
    Block,
    Compact,
    For,
    If,
    Load,
    LogMark,
    Memory,
    MemoryKey,
    Residual,
    RollBack,
    Statement,
    Store,
    Var,
)
from dsim.ir.trip_counts import index_of
from dsim.ir.types import ScalarType, i64, u1
from dsim.ir.walk import with_blocks
from dsim.passes.saving.loop_pairs import ENTRY, LoopPair


class Lengths(NamedTuple):
    """The longest length of a segment, the most segments, and how many of them may end early."""

    segment: Atom
    segments: Atom
    early: Atom


class Cut:
    """Appends the two segmented loops of a pair.

    Parameters
    ----------
    builder : Builder
        The builder to append to; the constructor appends the memories for starts of segments.
    pair : LoopPair
        The pair, in `block`.
    lengths : Lengths
    budget : int
        In bytes; the undo-log entries of a segment may take half of it.
    """

    def __init__(self, builder: Builder, pair: LoopPair, block: Block, lengths: Lengths, budget: int) -> None:
        self.b = builder
        self.pair = pair
        self.lengths = lengths
        self.budget = budget
        forward, backward = block.statements[pair.forward], block.statements[pair.backward]
        assert isinstance(forward, For)
        assert isinstance(backward, For)
        self.ahead, self.back = forward, backward
        self.type = pair.most.type
        self.areas = {a.memory.key for a in pair.areas}
        self.made: Atom = const(0, self.type)  # the number of segments made
        values = Residual("values", by="segment")
        self.first = self.area("first", self.type, values)
        self.starts = {
            c: self.area(f"{c.name}_start", c.type, values) for c in forward.carried if c != forward.goes_on
        }
        self.marks = {j: self.area(f"{m.name}_mark", i64, self.of("marks", m)) for j, m in pair.logs.items()}
        self.copies: dict[Memory, tuple[Memory, tuple[Atom, ...]]] = {}
        for a in pair.buffers:
            start = self.area(f"{a.memory.name}_start", a.memory.type, self.of("snapshot", a.memory), a.shape)
            self.copies[a.memory] = start, a.shape

    @staticmethod
    def of(what: Literal["snapshot", "marks"], memory: Memory) -> Residual:
        """The residual of `memory` at the start of a segment."""
        return Residual(what, "segment", memory)

    def area(self, name: str, type: ScalarType, saves: Residual, shape: tuple[Atom, ...] = ()) -> Memory:
        """A new memory with one element, or one array of this shape, for each segment."""
        memory = Memory(self.b.names.fresh(name), type, (None,) * (1 + len(shape)), private=True)
        self.b.add(Alloc(memory, (self.lengths.segments, *shape), self.b.origin, saves))
        return memory

    def forward(self) -> None:
        """Appends the forward loop over segments."""
        b, f, t = self.b, self.ahead, self.type
        number, low, count = b.fresh("segment", t), b.fresh("low", t), b.fresh("segments", t)
        carried = tuple(b.fresh(c.name, c.type) for c in f.carried)
        now = dict(zip(f.carried, carried, strict=True))
        more = b.fresh("more", u1) if self.marks else None
        with b.block() as made:
            self._compact_logs(number)
            marks = self._begin(number, low, now)
            after = self._segment(number, low, carried, marks)
            end = b.let("add", low, after[-1], hint="low")
            yields = [*after[:-1], end, b.let("add", number, const(1, t), hint="segments")]
            if more is not None:
                left = b.let("lt", end, self.pair.most, hint="more")
                yields.append(b.let("band", left, self._goes_on(after), hint="more"))
        goes_on = more or (None if f.goes_on is None else now[f.goes_on])
        self.made = b.fresh("segments", t)
        results = [*f.results, b.fresh("trips", t), self.made]
        init, outer = [*f.init, const(0, t), const(0, t)], [*carried, low, count]
        if more is not None:
            results, init, outer = [*results, b.fresh("more", u1)], [*init, TRUE], [*outer, more]
        b.add(
            For(
                number,
                const(0, t),
                self.lengths.segments,
                1,
                Block(tuple(made), tuple(yields)),
                tuple(outer),
                tuple(init),
                tuple(results),
                goes_on,
                origin=f.origin,
            )
        )

    def _goes_on(self, values: Sequence[Atom]) -> Atom:
        """The carried value that is the loop's `goes_on`; true if it has none."""
        f = self.ahead
        return TRUE if f.goes_on is None else values[f.carried.index(f.goes_on)]

    def _compact_logs(self, number: Var) -> None:
        """Appends the compaction of undo logs: entries that only the segment before needed are dropped."""
        if not self.marks:
            return
        b = self.b
        with b.block() as made:
            before = b.let("sub", number, const(1, number.type))
            for j, area in self.marks.items():
                b.add(Compact(j, self.pair.logs[j], self._load(area, before), b.origin))
        later = b.let("gt", number, const(0, number.type))
        b.add(If(later, Block(tuple(made)), Block(()), (), b.origin))

    def _begin(self, number: Var, low: Var, now: Mapping[Var, Var]) -> dict[Memory, Var]:
        """Appends statements that save the state at the start of a segment; returns the undo-log marks."""
        b = self.b
        b.add(Store(self.first, (number,), low, b.origin))
        for c, area in self.starts.items():
            b.add(Store(area, (number,), now[c], b.origin))
        marks: dict[Memory, Var] = {}
        for j, area in self.marks.items():
            marks[j] = b.fresh(area.name, i64)
            b.add(LogMark(marks[j], j, b.origin))
            b.add(Store(area, (number,), marks[j], b.origin))
        for m, (area, shape) in self.copies.items():
            b.copy_elements(m, (), area, (number,), shape)
        return marks

    def _segment(
        self, number: Var, low: Var, init: tuple[Var, ...], marks: dict[Memory, Var]
    ) -> tuple[Var, ...]:
        """Appends the trips of a segment from `low` on; returns their carried values and their number."""
        b, f, t = self.b, self.ahead, self.type
        left = b.let("sub", self.pair.most, low, hint="left")
        trips = b.let("min", left, self.lengths.segment, hint="trips")
        start, stop = self._span(low, trips)
        stop = b.let("select", b.let("eq", trips, left), f.stop, stop, hint="stop")  # no overflow
        spent = b.let("ge", number, self.lengths.early, hint="spent") if marks else TRUE
        trip, body = self._trip()
        carried, first, on = [*f.carried, trip], [*init, const(0, t)], f.goes_on
        if marks:
            on = b.fresh("room", u1)
            with b.block() as tail:
                room = b.let("band", self._room(marks, spent), self._goes_on(body.yields), hint="room")
            carried, first = [*carried, on], [*first, TRUE]
            body = Block((*body.statements, *tail), (*body.yields, room))
        results = tuple(b.fresh(c.name, c.type) for c in carried)
        loop = replace(f, start=start, stop=stop, body=body, goes_on=on)
        b.add(replace(loop, carried=tuple(carried), init=tuple(first), results=results))
        return results[: len(f.carried) + 1]

    def _room(self, marks: dict[Memory, Var], spent: Atom) -> Atom:
        """Appends whether the undo logs have room since `marks`, or no segment may end early any longer."""
        b, room = self.b, TRUE
        most = const(max(1, self.budget // (2 * ENTRY * len(marks))), i64)
        for j, mark in marks.items():
            now = b.fresh(mark.name, i64)
            b.add(LogMark(now, j, b.origin))
            room = b.let("band", room, b.let("lt", b.let("sub", now, mark), most), hint="room")
        return b.let("bor", room, spent, hint="room")

    def _span(self, low: Atom, trips: Atom) -> tuple[Atom, Atom]:
        """The index range of `trips` trips from trip number `low` on."""
        start = index_of(self.b, self.ahead.start, low, self.ahead.step, hint="start")
        return start, index_of(self.b, start, trips, self.ahead.step, hint="stop")

    def _trip(self) -> tuple[Var, Block]:
        """The forward loop's body, and the trip number in its segment, which the body yields last."""
        b, f = self.b, self.ahead
        trip = b.fresh("trip", self.type)
        body = _renumbered(f.body, self.areas, trip)
        with b.block() as tail:
            after = b.let("add", trip, const(1, self.type), hint="trip")
        return trip, Block((*body.statements, *tail), (*body.yields, after))

    def backward(self) -> None:
        """Appends the backward loop over segments."""
        b, r, t = self.b, self.back, self.type
        one, upwards = const(1, t), r.step == 1
        number, high = b.fresh("segment", t), b.fresh("high", t)
        newest = b.let("sub", self.made, one, hint="newest")
        last = b.let("sub", r.stop, one, hint="last") if upwards else r.start
        carried = tuple(b.fresh(c.name, c.type) for c in r.carried)
        with b.block() as made:
            low = self._load(self.first, number)
            with b.block() as again:
                self._recompute_segment(number, low, high)
            older = b.let("lt", number, newest, hint="older")
            b.add(If(older, Block(tuple(again)), Block(()), (), b.origin))
            below, above = b.let("sub", low, one, hint="below"), b.let("add", high, one, hint="above")
            with b.block() as head:
                trip = b.let("sub", r.index, low, hint="trip")
            body = _renumbered(r.body, self.areas, trip)
            body = Block((*head, *body.statements), body.yields)
            start, stop = (low, above) if upwards else (high, below)
            after = tuple(b.fresh(c.name, c.type) for c in r.carried)
            b.add(replace(r, start=start, stop=stop, body=body, init=carried, results=after))
        body = Block(tuple(made), (*after, below))
        results = (*r.results, b.fresh("high", t))
        outer, init = (*carried, high), (*r.init, last)
        b.add(For(number, newest, const(-1, t), -1, body, outer, init, results, origin=r.origin))

    def _recompute_segment(self, number: Var, low: Atom, high: Atom) -> None:
        """Appends the recomputation of a segment, which restores the residuals of its trips."""
        b, f, logs = self.b, self.ahead, self.pair.logs
        for j, area in self.marks.items():
            b.add(RollBack(j, logs[j], self._load(area, number), b.origin))
        for m, (area, shape) in self.copies.items():
            b.copy_elements(area, (number,), m, (), shape)
        passing = {j: b.fresh("mark", i64) for j in logs if j.key not in self.pair.marked}
        for j, mark in passing.items():  # the backward trips must not see these writes
            b.add(LogMark(mark, j, b.origin))
        init = (TRUE if c == f.goes_on else self._load(self.starts[c], number) for c in f.carried)
        trips = b.let("add", b.let("sub", high, low), const(1, self.type), hint="trips")
        start, stop = self._span(low, trips)
        trip, body = self._trip()
        carried = (*f.carried, trip)
        loop = replace(f, start=start, stop=stop, body=body, goes_on=None)
        loop = replace(loop, carried=carried, init=(*init, const(0, self.type)), results=carried)
        b.add(Copier(b.names).statement(loop, {}))
        for j, mark in passing.items():
            b.add(RollBack(j, logs[j], mark, b.origin))

    def _load(self, area: Memory, at: Atom) -> Var:
        var = self.b.fresh(area.name, area.type)
        self.b.add(Load(var, area, (at,), self.b.origin))
        return var


def _renumbered(block: Block, areas: set[MemoryKey], at: Atom) -> Block:
    """`block` with the first index of accesses to `areas` replaced by `at`."""

    def change(s: Statement) -> Statement:
        if isinstance(s, Load | Store) and s.memory.key in areas:
            return replace(s, index=(at, *s.index[1:]))
        return with_blocks(s, lambda b: _renumbered(b, areas, at))

    return Block(tuple(map(change, block.statements)), block.yields)
