"""Probes call a function of their kind, which all modules share: `passes.lower_probes` says what it does."""

from __future__ import annotations

from dsim.backends.llvm.places import MemRef
from dsim.backends.llvm.text import TYPE, Module
from dsim.backends.llvm.writer import Messages, Writer
from dsim.ir.nodes import Probe
from dsim.ir.probe_buffer import WIDTH
from dsim.passes.lower_probes import Routine, arguments, routine

_ROWS = 1 << 40  # of a memory whose length its functions do not know: more than any has


def probe(w: Writer, s: Probe) -> None:
    """Calls what notes what `s` sees."""
    if w.dry:
        return
    done = routine(s)
    if done.name not in w.f.module.shared:
        w.f.module.share(done.name, _text(w, done))
    args = arguments(s)
    given = (f", {TYPE[a.type]} {value}" for a, value in zip(args, w.values(args), strict=True))
    w.f.do(f"call void @{done.name}(ptr {w.places[s.memory.key].base}{''.join(given)})")


def _text(caller: Writer, done: Routine) -> str:
    module = Module(exact=True)
    params = "".join(f", {TYPE[p.type]} %{p.name}" for p in done.params)
    f = module.function(f"define void @{done.name}(ptr %memory{params}) nounwind")
    w = Writer(f, caller.target, caller.handlers, lambda _: True, Messages())
    w.env = {p: f"%{p.name}" for p in done.params}
    w.places[done.memory.key] = MemRef(done.memory, "%memory", (_ROWS, WIDTH), (WIDTH, 1))
    w.block(done.block)
    f.do("ret void")
    assert f.text() == module.text().strip()  # it needs nothing else
    return f.text()
