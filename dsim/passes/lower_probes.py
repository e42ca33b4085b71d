"""Lowers each probe to stores into the probe buffer, which has a row for each slot.

If a line runs less often than the requested visit, its row keeps the last visit. With the value the row keeps
which probe wrote it, and the number of that probe's visit; the derivative kept is the one of the same probe
and visit. Adjoints come in the reverse order of values: the first one belongs to the last visit. A probe has
an adjoint at every visit or at none; the probes of one line may differ in that.

All probes of one kind run the same code. Machine code has it once, as a function (`routine`), since inlining
it at each probe would cost several times the kernel itself; the readable form has it inlined
(`lower_probes`). Not its job: the order of iterations; kernels with probes run serially.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from dsim.ir.build import FALSE, Builder, Names, const
from dsim.ir.copying import Copier
from dsim.ir.nodes import (
    Accumulate,
    AccumulateOp,
    Atom,
    Block,
    If,
    KernelIR,
    Load,
    Memory,
    Probe,
    Statement,
    Store,
    Var,
)
from dsim.ir.probe_buffer import AXES, WIDTH, Column, Request
from dsim.ir.types import ScalarType, f64, i64, u1
from dsim.ir.walk import bound_names, statements, with_blocks


class Routine(NamedTuple):
    """The code that all probes of one kind run.

    Attributes
    ----------
    name : str
        The name of the function.
    params : tuple of Var
        Its parameters; `arguments` gives the arguments of a probe.
    memory : Memory
        The probe buffer.
    block : Block
        The body of the function.
    """

    name: str
    params: tuple[Var, ...]
    memory: Memory
    block: Block


def routine(s: Probe) -> Routine:
    """The routine that `s` runs."""
    at = tuple(a.type for a in s.at[:AXES])
    source = tuple(a.type for a in s.source)
    return _routine(s.what, s.value.type, at, s.tie is not None, s.over is not None, source)


def arguments(s: Probe) -> tuple[Atom, ...]:
    """The arguments with which `s` calls its routine."""
    truths = (a for a in (s.tie, s.over) if a is not None)
    return (_at(s.slot), _at(s.own), s.value, *s.at[:AXES], *truths, *s.source)


def lower_probes(kernel: KernelIR) -> KernelIR:
    """`kernel` with its `Probe` nodes lowered; itself if it has none."""
    if not any(isinstance(s, Probe) for s in statements(kernel.body)):
        return kernel
    return replace(kernel, body=_lowered(kernel.body, Names(bound_names(kernel))))


def _lowered(block: Block, names: Names) -> Block:
    out: list[Statement] = []
    for s in block.statements:
        if not isinstance(s, Probe):
            out.append(with_blocks(s, lambda inner: _lowered(inner, names)))
            continue
        done, copier = routine(s), Copier(names)
        copier.memories[done.memory] = s.memory
        copied = copier.block(done.block, dict(zip(done.params, arguments(s), strict=True)))
        out.extend(replace(c, origin=s.origin) for c in copied.statements)
    return Block(tuple(out), block.yields)


@cache
def _routine(
    what: str,
    value: ScalarType,
    at: tuple[ScalarType, ...],
    tie: bool,
    over: bool,
    source: tuple[ScalarType, ...],
) -> Routine:
    indices = tuple(Var(f"at_{axis}", t) for axis, t in enumerate(at))
    row, own, seen = Var("row", i64), Var("own", i64), Var("value", value)
    truths = tuple(Var(name, u1) for name, there in (("tie", tie), ("over", over)) if there)
    sources = tuple(Var(f"source_{n}", t) for n, t in enumerate(source))
    params = (row, own, seen, *indices, *truths, *sources)
    memory = Memory("shown", f64, (None, WIDTH))
    made = _Maker(memory, row, own, indices, Names(p.name for p in params))
    if source:
        made.birth(what, seen, sources)
    elif tie:
        made.kink(what, seen, truths[0], truths[1] if over else None)
    elif what == "value":
        made.value(seen)
    else:
        made.derivative(seen, backwards=what == "adjoint")
    kind = [what, str(value), *map(str, at), *("tie",) * tie, *("over",) * over]
    kind += ["from", *map(str, source)] if source else []
    return Routine("_".join(("dsim_watch", *kind)), params, memory, made.b.close())


class _Maker:
    """Builds the block of a routine; `at` are the indices of the outermost loop."""

    def __init__(self, memory: Memory, row: Var, own: Var, at: tuple[Var, ...], names: Names) -> None:
        self.memory, self.row, self.own, self.at = memory, row, own, at
        self.b = Builder(names)

    # the row

    def load(self, row: Atom, column: int) -> Var:
        var = self.b.fresh("shown", f64)
        self.b.add(Load(var, self.memory, (row, _at(column)), self.b.origin))
        return var

    def store(self, column: int, value: Atom) -> None:
        self.b.add(Store(self.memory, (self.row, _at(column)), value, self.b.origin))

    def add(self, column: int, value: Atom, op: AccumulateOp = "add") -> None:
        self.b.add(Accumulate(self.memory, (self.row, _at(column)), value, op, None, self.b.origin))

    def counted(self, row: Atom, column: int) -> Var:
        """Increments a counter; returns its value before."""
        before = self.load(row, column)
        after = self.b.let("add", before, _number(1))
        self.b.add(Store(self.memory, (row, _at(column)), after, self.b.origin))
        return before

    def branch(self, cond: Atom, then: Iterable[Statement]) -> None:
        """Appends `then`, to be run where `cond` holds."""
        self.b.add(If(cond, Block(tuple(then)), Block(()), origin=self.b.origin))

    # one probe

    def kink(self, what: str, value: Var, tie: Var, over: Var | None) -> None:
        b = self.b
        if what == "value":
            self.add(Column.TIMES, _number(1))
            if over is not None:
                self.extremum(tie, over)
            return
        number = b.let("cast", value, type=f64)
        bad = self.bad(number)
        with b.block() as there:
            self.add(Column.BAD_DERIVATIVES, bad)
            with b.block() as finite:
                self.add(Column.BACK_HITS, _number(1))
                self.add(Column.SQUARES, b.let("mul", number, number))
            self.branch(b.let("eq", bad, _number(0), type=u1), finite)
            if over is None:
                self.first()
        self.branch(b.let("band", tie, b.let("ne", number, _number(0), type=u1), type=u1), there)

    def extremum(self, tie: Var, over: Var) -> None:
        """Counts ties with the extremum so far; a new extremum resets the count."""
        with self.b.block() as alone:
            self.store(Column.HITS, _number(0))
            self.store(Column.FOUND, _number(0))
        self.branch(over, alone)
        with self.b.block() as equal:
            self.add(Column.HITS, _number(1))
            self.first()
        self.branch(tie, equal)

    def birth(self, what: str, value: Var, sources: tuple[Var, ...]) -> None:
        """Counts non-finite values computed from finite ones."""
        b = self.b
        born: Atom = self.bad(b.let("cast", value, type=f64))
        for s in sources:
            fine = b.let("eq", self.bad(b.let("cast", s, type=f64)), _number(0), type=u1)
            born = b.let("select", fine, born, _number(0))
        if what == "value":
            self.add(Column.TIMES, _number(1))
        self.add(Column.BAD_VALUES if what == "value" else Column.BAD_DERIVATIVES, born)

    def first(self) -> None:
        """Keeps the lowest iteration so far: an adjoint may visit iterations in any order."""
        b = self.b
        here = [b.let("cast", at, type=f64) for at in self.at]
        earlier: Atom = FALSE
        for axis, at in reversed(list(enumerate(here))):
            known = self.load(self.row, Column.WHERE + axis)
            same = b.let("band", b.let("eq", at, known, type=u1), earlier, type=u1)
            earlier = b.let("bor", b.let("lt", at, known, type=u1), same, type=u1)
        found = self.load(self.row, Column.FOUND)
        new = b.let("bor", b.let("eq", found, _number(0), type=u1), earlier, type=u1)
        with b.block() as taken:
            self.store(Column.FOUND, _number(1))
            for axis, at in enumerate(here):
                self.store(Column.WHERE + axis, at)
        self.branch(new, taken)

    def value(self, value: Var) -> None:
        b = self.b
        self.add(Column.TIMES, _number(1))
        if value.type.is_float:
            number = b.let("cast", value, type=f64)
            self.add(Column.BAD_VALUES, self.bad(number))
        else:
            number = b.let("cast", value, type=i64) if value.type != i64 else value
            whole = b.let("cast", value, type=f64)
            self.add(Column.LEAST, whole, "min")
            self.add(Column.GREATEST, whole, "max")
        with b.block() as seen:
            hits = self.counted(self.row, Column.HITS)
            own = self.counted(self.own, Column.HITS)
            trip = self.load(_at(0), Request.TRIP)
            last = b.let("lt", trip, _number(0), type=u1)
            with b.block() as taken:
                self.keep(number)
                self.store(Column.OWN, b.let("cast", self.own, type=f64))
                self.store(Column.OWN_HIT, own)
            self.branch(b.let("bor", last, b.let("le", hits, trip, type=u1)), taken)
        self.at_probe(seen)

    def keep(self, number: Atom) -> None:
        b = self.b
        if number.type == i64:
            high = b.let("shr", number, const(32, i64))
            low = b.let("band", number, const(0xFFFFFFFF, i64))
            self.store(Column.VALUE, b.let("cast", high, type=f64))
            self.store(Column.LOW, b.let("cast", low, type=f64))
        else:
            self.store(Column.VALUE, number)
        self.store(Column.FOUND, _number(1))
        self.store(Column.DERIVATIVE, _number(0))
        for axis, at in enumerate(self.at):
            self.store(Column.WHERE + axis, b.let("cast", at, type=f64))

    def derivative(self, value: Var, *, backwards: bool) -> None:
        b = self.b
        number = b.let("cast", value, type=f64)
        self.add(Column.SQUARES, b.let("mul", number, number))
        self.add(Column.BAD_DERIVATIVES, self.bad(number))
        with b.block() as seen:
            left: Atom = b.let("sub", self.load(self.own, Column.HITS), _number(1))
            if backwards:
                left = b.let("sub", left, self.counted(self.own, Column.BACK_HITS))
            own = b.let("cast", self.own, type=f64)
            mine = b.let("eq", self.load(self.row, Column.OWN), own, type=u1)
            same = b.let("eq", self.load(self.row, Column.OWN_HIT), left, type=u1)
            with b.block() as taken:
                self.store(Column.DERIVATIVE, number)
                self.store(Column.FOUND, _number(3))
            self.branch(b.let("band", mine, same), taken)
        self.at_probe(seen)

    def bad(self, number: Atom) -> Atom:
        """1.0 when `number` is not finite."""
        b, most = self.b, float(np.finfo(np.float64).max)
        below = b.let("le", number, _number(most), type=u1)
        fine = b.let("band", below, b.let("ge", number, _number(-most), type=u1), type=u1)
        return b.let("select", fine, _number(0), _number(1))

    def at_probe(self, then: Iterable[Statement]) -> None:
        """Appends `then`, guarded to run in the requested iteration only."""
        b = self.b
        if not self.at:
            for inner in then:
                b.add(inner)
            return
        here = b.let("eq", self.load(_at(0), Request.ONE), _number(0), type=u1)
        same: Atom | None = None
        for axis, at in enumerate(self.at):
            wanted = self.load(_at(0), Request.INDEX + axis)
            one = b.let("eq", wanted, b.let("cast", at, type=f64), type=u1)
            same = one if same is None else b.let("band", same, one)
        assert same is not None
        self.branch(b.let("bor", here, same), then)


def _at(n: int) -> Atom:
    return const(n, i64)


def _number(value: float) -> Atom:
    return const(float(value), f64)
