"""In a watched kernel, a probe beside each primitive that has kinks: whether it is at one.

It visits the whole lowered kernel, so that it finds every primitive. It skips
functions that are differentiated in the kernel or have custom derivatives: those may not contain probes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial, reduce
from typing import assert_never

from dsim.diagnostics.places import outside
from dsim.frontend.frames.watches import Watches
from dsim.ir import nodes as ir
from dsim.ir.build import FALSE, Builder
from dsim.ir.kinks import POINT, Kink
from dsim.ir.primitives import TABLE
from dsim.ir.types import f64
from dsim.ir.walk import with_blocks

_COMPARISONS = frozenset(("lt", "le", "gt", "ge"))
_LOGIC = frozenset(("band", "bor", "bnot"))


def with_kinks(block: ir.Block, watches: Watches, builder: Builder) -> ir.Block:
    """`block`, with probes of the kinks of its floats; `builder` makes names."""
    return _Marker(watches, builder).block(block)


class _Marker:
    def __init__(self, watches: Watches, builder: Builder) -> None:
        self.watches, self.b = watches, builder
        self.indices = {s.row: s for s in watches.slots.values() if s.axis is not None}
        self.made: dict[ir.Var, ir.Let] = {}
        self.loops: tuple[str, ...] = ()  # the outermost loops here, and their indices
        self.at: tuple[ir.Atom, ...] = ()

    def block(self, block: ir.Block) -> ir.Block:
        before = self.loops, self.at
        with self.b.block() as out:
            for s in block.statements:
                self.statement(s)
        self.loops, self.at = before
        return ir.Block(tuple(out), block.yields)

    def statement(self, s: ir.Statement) -> None:
        match s:
            case ir.Let():
                self.made[s.var] = s
                self.let(s)
            case ir.Accumulate(op="min" | "max") if _shared(s) and s.origin.span is not None:
                self.extremum(s)
            case ir.Probe() if s.slot in self.indices:
                self.at, self.loops = s.at, (*self.loops, self.indices[s.slot].name)
                self.b.add(s)
            case ir.If():
                compared = tuple(self.compared(s.cond))
                raw = {r: self.b.fresh(r.name, r.type) for r in s.results if compared and r.type.is_float}
                self.b.add(
                    replace(with_blocks(s, self.block), results=tuple(raw.get(r, r) for r in s.results))
                )
                for r, one in raw.items():
                    self.border(compared, one, r)
            case ir.Derive() | ir.Call():
                self.b.add(s)
            case ir.For() | ir.While():
                self.b.add(with_blocks(s, self.block))
            case (
                ir.Load() | ir.Store() | ir.Accumulate() | ir.Alloc() | ir.Probe() | ir.Print() | ir.Assert()
            ):
                self.b.add(s)
            case ir.UndoLog() | ir.Append() | ir.LogMark() | ir.RollBack() | ir.Compact():
                self.b.add(s)
            case _:
                assert_never(s)

    def let(self, s: ir.Let) -> None:
        """Appends `s`, with a probe if it is a primitive of floats with kinks, or selects floats."""
        kink = TABLE[s.op].kink
        if kink is not None and _never(kink, s):
            kink = None
        compared = tuple(self.compared(s.args[0])) if s.op == "select" else ()
        if not s.var.type.is_float or s.origin.span is None or not (kink or compared):
            self.b.add(s)
        elif kink is not None:
            self.mark(s, kink)
        else:
            raw = self.b.fresh(s.var.name, s.var.type)
            self.b.add(replace(s, var=raw))
            self.border(compared, raw, s.var)

    def mark(self, s: ir.Let, kink: Kink) -> None:
        """Appends `s` with its probe; its value is a copy, whose adjoint belongs to this place alone."""
        b, raw = self.b, self.b.fresh(s.var.name, s.var.type)
        b.add(replace(s, var=raw))
        b.add(ir.Let(s.var, "copy", (raw,), s.origin))
        with b.at(s.origin):
            terms = [b.term(a) for a in (*s.args, raw)]
            tie = kink.tie(*terms).atom
            across = tuple(t.atom for t in kink.across(*terms))
            if kink is POINT:
                across = tuple(a for one in across for a in self.squared(one))
            across = tuple(a for a in across if isinstance(a, ir.Var))
            self.watch(s, s.var, tie, across)

    def border(self, compared: tuple[ir.Let, ...], raw: ir.Var, value: ir.Var) -> None:
        """Appends the copy `value` of a selection's result, with a probe of equal compared numbers."""
        b, first = self.b, compared[0]
        with b.at(first.origin):
            b.add(ir.Let(value, "copy", (raw,), b.origin))
            tie = reduce(partial(b.let, "bor"), [b.let("eq", *c.args) for c in compared])
            self.watch(replace(first, op="select"), value, tie, (raw,))

    def compared(self, a: ir.Atom) -> Iterator[ir.Let]:
        """The comparisons of floats that the truth value `a` depends on."""
        made = self.made.get(a) if isinstance(a, ir.Var) else None
        if made is None:
            return
        if made.op in _COMPARISONS and made.args[0].type.is_float and made.origin.span is not None:
            yield made
        elif made.op in _LOGIC:
            for part in made.args:
                yield from self.compared(part)

    def extremum(self, s: ir.Accumulate) -> None:
        """Appends `s`, and before it a probe of the operand and the extremum so far."""
        b = self.b
        before, value = b.fresh(f"{s.memory.name}_so_far", s.memory.type), b.fresh("into", s.memory.type)
        with b.at(s.origin):
            b.add(ir.Load(before, s.memory, s.index, s.origin))
            b.add(ir.Let(value, "copy", (s.value,), s.origin))
            over = b.let("gt" if s.op == "max" else "lt", value, before)
            self.watch(s, value, b.let("eq", value, before), (value,), over)
        b.add(replace(s, value=value))

    def watch(
        self,
        s: ir.Let | ir.Accumulate,
        value: ir.Var,
        tie: ir.Atom,
        across: tuple[ir.Atom, ...],
        over: ir.Atom | None = None,
    ) -> None:
        place, calls = outside(s.origin.span, s.origin.inlined)
        assert place is not None
        slot = self.watches.kink(s.op, place, calls, self.loops, over is not None)
        memory = ir.Memory("", f64, ())
        watch = ir.Probe(memory, slot.row, value, self.at, tie=tie, across=across, over=over, origin=s.origin)
        self.b.add(watch)

    def squared(self, a: ir.Atom) -> Iterator[ir.Atom]:
        """The numbers squared in a sum of squares: at 0 only they, not the sum, change to first order."""
        made = self.made.get(a) if isinstance(a, ir.Var) else None
        if made is not None and made.op == "add":
            for term in made.args:
                yield from self.squared(term)
        elif made is not None and made.op == "mul" and made.args[0] == made.args[1]:
            yield made.args[0]
        else:
            yield a


def _never(kink: Kink, s: ir.Let) -> bool:
    """Whether a constant argument keeps `s` away from `kink`: a power of 2.5 is never one of 0."""
    b = Builder()
    return kink.tie(*map(b.term, (*s.args, s.var))).atom == FALSE


def _shared(s: ir.Accumulate) -> bool:
    """Whether all contributions go to one element of a field of floats."""
    one = all(isinstance(i, ir.Const) for i in s.index)
    return one and s.memory.type.is_float and not s.memory.private and isinstance(s.value, ir.Var)
