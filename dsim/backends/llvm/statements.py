"""The table of handlers for each kind of statement, and the small handlers."""

from __future__ import annotations

from collections.abc import Mapping

from dsim.backends.llvm import loops, probes
from dsim.backends.llvm.arithmetic.primitives import EMIT, Use
from dsim.backends.llvm.memory import access, buffers, undo_logs
from dsim.backends.llvm.writer import Handler, Writer
from dsim.ir import nodes as ir


def _let(w: Writer, s: ir.Let) -> None:
    use = Use(w.f, w.target, s.op, s.args, w.values(s.args), s.var.type, w.near.get(s.var))
    value = EMIT[s.op](use)
    w.define(s, value if w.chains is None else w.chains.cut(w.f, s, value))


def _assert(w: Writer, s: ir.Assert) -> None:
    f = w.f
    bad, good = f.label("violated"), f.label("holds")
    f.fork(w.value(s.cond), good, bad, w.likely)
    f.open(bad)
    w.fault("assertion", s, tuple(w.bits(p) for p in s.parts if not isinstance(p, str)))
    f.jump(good)
    f.open(good)


def _print(w: Writer, s: ir.Print) -> None:
    w.messages.prints.append(s)
    bits = [w.bits(p) for p in s.parts if not isinstance(p, str)]
    w.target.print(w.f, len(w.messages.prints) - 1, bits)


HANDLERS: Mapping[type, Handler] = {
    ir.Let: _let,
    ir.Load: access.load,
    ir.Store: access.store,
    ir.Accumulate: access.accumulate,
    ir.Alloc: buffers.allocate,
    ir.UndoLog: undo_logs.start,
    ir.Append: undo_logs.record,
    ir.LogMark: undo_logs.mark,
    ir.RollBack: undo_logs.roll_back,
    ir.Compact: undo_logs.compact,
    ir.If: loops.branch,
    ir.For: loops.count,
    ir.While: loops.repeat,
    ir.Print: _print,
    ir.Assert: _assert,
    ir.Probe: probes.probe,
}
