"""Polls of the stop flag in machine code, and the exit when it is set.

The flag is a slot of the launch's frame. A poll is a load, a comparison and a branch that is rarely
taken; how often which loop polls, `poll_intervals.py` says. When the flag is set, the code leaves its
function at once, as after a lack of memory: its buffers are freed, and fields that an adjoint has written
again are rolled back.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dsim.backends.llvm import frame, ranges
from dsim.backends.llvm.places import Length
from dsim.backends.llvm.text import TYPE, Function, Module
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import For, Var

Values = tuple[str, ...]


def ask(w: Writer) -> None:
    """Leaves the function if the stop flag is set."""
    f = w.f
    go, stop = f.label("go"), f.label("stop") if w.held else w.leave
    f.fork(unstopped(f), go, stop, w.likely)
    if w.held:
        f.open(stop)
        w.free_all()
        f.jump(w.leave)
    f.open(go)


def unstopped(f: Function) -> str:
    """Whether the stop flag is not set."""
    f.module.asks = True
    flag = f.let(f"load volatile i64, ptr {frame.address(f, frame.STOP)}, align 8")
    return f.let(f"icmp eq i64 {flag}, 0")


def start(f: Function) -> None:
    """At the entry: clears the stop flag."""
    f.do("call void @dsim_begin(ptr %frame)")


def finish(module: Module) -> None:
    """Writes the start of a launch that polls; one that does not needs none."""
    f = module.function("define internal void @dsim_begin(ptr %frame) alwaysinline")
    if module.asks:
        for slot in (frame.STOP, frame.INTERRUPTS):
            f.do(f"store volatile i64 0, ptr {frame.address(f, slot)}, align 8")
        clock = frame.read(f, frame.CLOCK, "ptr", frame.read(f, frame.RUNTIME, "ptr"))
        f.do(f"call i32 {clock}(i32 {time.CLOCK_REALTIME}, ptr {frame.address(f, frame.BEGAN)})")
    f.do("ret void")


def end_if_stopped(entry: Writer) -> None:
    """After a task, in the entry: later tasks may need what a stopped one has not computed."""
    f = entry.f
    if not f.module.asks:
        return
    go, stop = f.label("go"), f.label("stop")
    f.fork(unstopped(f), go, stop)
    f.open(stop)
    f.do(f"%pair{stop} = cmpxchg ptr %frame, i64 0, i64 {frame.STOPPED} monotonic monotonic")
    entry.free_all()
    f.jump(entry.leave)
    f.open(go)


def ask_at(w: Writer, index: str, every: int) -> None:
    """Polls if `index` is a multiple of `every`, a power of two."""
    f = w.f
    if every == 1:
        ask(w)
        return
    go, due = f.label("quiet"), f.label("due")
    rest = f.let(f"and i64 {index}, {every - 1}")
    f.fork(f.let(f"icmp ne i64 {rest}, 0"), go, due, w.likely)
    f.open(due)
    ask(w)
    f.jump(go)
    f.open(go)


def either(
    w: Writer,
    edges: tuple[Length, Length],
    most: int,
    carried: tuple[Var, ...],
    quick: Callable[[], Values],
    asking: Callable[[], Values],
) -> Values:
    """Writes a loop twice: as `quick` does for runs between `edges` that are no longer than `most`."""
    f = w.f
    small, large, end = f.label("short"), f.label("long"), f.label("either")
    length = f.let(f"sub i64 {edges[1]}, {edges[0]}")
    f.fork(f.let(f"icmp ule i64 {length}, {most}"), small, large, w.likely)
    written = []
    for label, write in ((large, asking), (small, quick)):
        f.open(label)
        values = w.apart(write)
        written.append((values, f.block))
        f.jump(end)
    f.open(end)
    return tuple(f.phi(TYPE[v.type], [(x[i], at) for x, at in written]) for i, v in enumerate(carried))


def in_blocks(
    w: Writer,
    s: For,
    trips: int,
    edges: tuple[Length, Length],
    init: tuple[str, ...],
    inner: Callable[[Length, Length, tuple[str, ...]], tuple[str, ...]],
) -> tuple[str, ...]:
    """Writes `s` as a loop over blocks of `trips` trips, between which it polls.

    ``inner(start, stop, init)`` writes the loop over one block. `edges` are those of all trips.
    """
    f, (start, stop) = w.f, edges
    head, again, end = f.label("blocks"), f.label("again"), f.label("done")
    before = f.block
    f.jump(head)
    f.open(head)
    at, place = f.open_phi("i64", str(start), before)
    carried = [f.open_phi(TYPE[v.type], first, before) for v, first in zip(s.carried, init, strict=True)]
    following = ranges.following(f, s, at, trips * s.step)
    more = f.let(f"icmp {ranges.before(s.index.type, s.step)} i64 {following}, {stop}")
    limit = f.let(f"select i1 {more}, i64 {following}, i64 {stop}")
    results = inner(at, limit, tuple(name for name, _ in carried))
    if s.goes_on is not None:
        more = f.let(f"select i1 {more}, i1 {results[s.carried.index(s.goes_on)]}, i1 false")
    f.fork(more, again, end)
    f.open(again)
    ask(w)
    f.close_phi(place, following, f.block)
    for (_, where), value in zip(carried, results, strict=True):
        f.close_phi(where, value, f.block)
    f.jump(head)
    f.open(end)
    return results
