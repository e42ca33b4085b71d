"""Makes ordinary statements of watches: each notes what it sees in its row of the memory that is shown.

Where a line runs less often than the trip asked for, it shows its last time.
A value that is kept says which watch it came by, and which time of that one it was; its derivative is the
one that comes by at the same watch and time. Adjoints come in the opposite order of the values: the first
one belongs to the last time. A watch has an adjoint each time or never; those of one line may differ in that.
Not its job: the order of iterations; kernels with watches run in series.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dsim.ir.build import FALSE, Builder, Names, const
from dsim.ir.nodes import (
    Accumulate,
    AccumulateOp,
    Atom,
    Block,
    If,
    Kernel,
    Load,
    Memory,
    Statement,
    Store,
    Var,
    Watch,
)
from dsim.ir.shown import AXES, Column, Request
from dsim.ir.types import f64, i64, u1
from dsim.ir.walk import bound_names, statements, with_blocks


def exposed(kernel: Kernel) -> Kernel:
    """`kernel` without `Watch` nodes; itself when it has none."""
    if not any(isinstance(s, Watch) for s in statements(kernel.body)):
        return kernel
    return replace(kernel, body=_Exposer(Names(bound_names(kernel))).block(kernel.body))


class _Exposer:
    def __init__(self, names: Names) -> None:
        self.b = Builder(names)

    def block(self, block: Block) -> Block:
        with self.b.block() as out:
            for s in block.statements:
                if isinstance(s, Watch):
                    with self.b.at(s.origin):
                        self.watch(s)
                else:
                    self.b.add(with_blocks(s, self.block))
        return Block(tuple(out), block.yields)

    # the row

    def load(self, memory: Memory, row: int, column: int) -> Var:
        var = self.b.fresh("shown", f64)
        self.b.add(Load(var, memory, (_at(row), _at(column)), self.b.origin))
        return var

    def store(self, s: Watch, column: int, value: Atom) -> None:
        self.b.add(Store(s.memory, (_at(s.slot), _at(column)), value, self.b.origin))

    def add(self, s: Watch, column: int, value: Atom, op: AccumulateOp = "add") -> None:
        self.b.add(Accumulate(s.memory, (_at(s.slot), _at(column)), value, op, None, self.b.origin))

    def counted(self, s: Watch, row: int, column: int) -> Var:
        """Counts one more; gives the number before."""
        before = self.load(s.memory, row, column)
        after = self.b.let("add", before, _number(1))
        self.b.add(Store(s.memory, (_at(row), _at(column)), after, self.b.origin))
        return before

    # one watch

    def watch(self, s: Watch) -> None:
        if s.tie is not None:
            self.kink(s, s.tie)
        elif s.what == "value":
            self.value(s)
        else:
            self.derivative(s)

    def kink(self, s: Watch, tie: Atom) -> None:
        b = self.b
        if s.what == "value":
            self.add(s, Column.TIMES, _number(1))
            if s.over is not None:
                self.extremum(s, tie, s.over)
            return
        number = b.let("cast", s.value, type=f64)
        fine = b.let("eq", self.bad(number), _number(0), type=u1)
        told = b.let("band", fine, b.let("ne", number, _number(0), type=u1), type=u1)
        with b.block() as there:
            self.add(s, Column.BACK_HITS, _number(1))
            self.add(s, Column.SQUARES, b.let("mul", number, number))
            if s.over is None:
                self.first(s)
        b.add(If(b.let("band", tie, told, type=u1), Block(tuple(there)), Block(()), origin=b.origin))

    def extremum(self, s: Watch, tie: Atom, over: Atom) -> None:
        """Counts what ties with the extremum so far, anew for each new one."""
        b = self.b
        with b.block() as alone:
            self.store(s, Column.HITS, _number(0))
            self.store(s, Column.FOUND, _number(0))
        b.add(If(over, Block(tuple(alone)), Block(()), origin=b.origin))
        with b.block() as equal:
            self.add(s, Column.HITS, _number(1))
            self.first(s)
        b.add(If(tie, Block(tuple(equal)), Block(()), origin=b.origin))

    def first(self, s: Watch) -> None:
        """Notes the iteration if it is the first one so far: an adjoint may meet them in any order."""
        b = self.b
        here = [b.let("cast", at, type=f64) for at in s.at[:AXES]]
        earlier: Atom = FALSE
        for axis, at in reversed(list(enumerate(here))):
            known = self.load(s.memory, s.slot, Column.WHERE + axis)
            same = b.let("band", b.let("eq", at, known, type=u1), earlier, type=u1)
            earlier = b.let("bor", b.let("lt", at, known, type=u1), same, type=u1)
        found = self.load(s.memory, s.slot, Column.FOUND)
        new = b.let("bor", b.let("eq", found, _number(0), type=u1), earlier, type=u1)
        with b.block() as taken:
            self.store(s, Column.FOUND, _number(1))
            for axis, at in enumerate(here):
                self.store(s, Column.WHERE + axis, at)
        b.add(If(new, Block(tuple(taken)), Block(()), origin=b.origin))

    def value(self, s: Watch) -> None:
        b = self.b
        self.add(s, Column.TIMES, _number(1))
        if s.value.type.is_float:
            number = b.let("cast", s.value, type=f64)
            self.add(s, Column.BAD_VALUES, self.bad(number))
        else:
            number = b.let("cast", s.value, type=i64) if s.value.type != i64 else s.value
            whole = b.let("cast", s.value, type=f64)
            self.add(s, Column.LEAST, whole, "min")
            self.add(s, Column.GREATEST, whole, "max")
        with b.block() as seen:
            hits = self.counted(s, s.slot, Column.HITS)
            own = self.counted(s, s.own, Column.HITS)
            trip = self.load(s.memory, 0, Request.TRIP)
            last = b.let("lt", trip, _number(0), type=u1)
            with b.block() as taken:
                self.keep(s, number)
                self.store(s, Column.OWN, _number(s.own))
                self.store(s, Column.OWN_HIT, own)
            wanted = b.let("bor", last, b.let("le", hits, trip, type=u1))
            b.add(If(wanted, Block(tuple(taken)), Block(()), origin=b.origin))
        self.at_probe(s, seen)

    def keep(self, s: Watch, number: Atom) -> None:
        b = self.b
        if number.type == i64:
            high = b.let("shr", number, const(32, i64))
            low = b.let("band", number, const(0xFFFFFFFF, i64))
            self.store(s, Column.VALUE, b.let("cast", high, type=f64))
            self.store(s, Column.LOW, b.let("cast", low, type=f64))
        else:
            self.store(s, Column.VALUE, number)
        self.store(s, Column.FOUND, _number(1))
        self.store(s, Column.DERIVATIVE, _number(0))
        for axis, at in enumerate(s.at[:AXES]):
            self.store(s, Column.WHERE + axis, b.let("cast", at, type=f64))

    def derivative(self, s: Watch) -> None:
        b = self.b
        number = b.let("cast", s.value, type=f64)
        self.add(s, Column.SQUARES, b.let("mul", number, number))
        self.add(s, Column.BAD_DERIVATIVES, self.bad(number))
        with b.block() as seen:
            left = b.let("sub", self.load(s.memory, s.own, Column.HITS), _number(1))
            if s.what == "adjoint":
                left = b.let("sub", left, self.counted(s, s.own, Column.BACK_HITS))
            mine = b.let("eq", self.load(s.memory, s.slot, Column.OWN), _number(s.own), type=u1)
            same = b.let("eq", self.load(s.memory, s.slot, Column.OWN_HIT), left, type=u1)
            wanted = b.let("band", mine, same)
            with b.block() as taken:
                self.store(s, Column.DERIVATIVE, number)
                self.store(s, Column.FOUND, _number(3))
            b.add(If(wanted, Block(tuple(taken)), Block(()), origin=b.origin))
        self.at_probe(s, seen)

    def bad(self, number: Atom) -> Atom:
        """1.0 when `number` is not finite."""
        b = self.b
        size = b.let("abs", number)
        fine = b.let("le", size, _number(float(np.finfo(np.float64).max)), type=u1)
        return b.let("select", fine, _number(0), _number(1))

    def at_probe(self, s: Watch, then: Iterable[Statement]) -> None:
        """Appends `then`, to be run in the iteration that is looked for."""
        b = self.b
        if not s.at:
            for inner in then:
                b.add(inner)
            return
        here = b.let("eq", self.load(s.memory, 0, Request.ONE), _number(0), type=u1)
        same: Atom | None = None
        for axis, at in enumerate(s.at[:AXES]):
            wanted = self.load(s.memory, 0, Request.INDEX + axis)
            one = b.let("eq", wanted, b.let("cast", at, type=f64), type=u1)
            same = one if same is None else b.let("band", same, one)
        assert same is not None
        b.add(If(b.let("bor", here, same), Block(tuple(then)), Block(()), origin=b.origin))


def _at(n: int) -> Atom:
    return const(n, i64)


def _number(value: float) -> Atom:
    return const(float(value), f64)
