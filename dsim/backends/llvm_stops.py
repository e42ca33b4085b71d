"""Where machine code asks whether its launch is to stop, and how it leaves then.

The flag is a slot of the launch's frame. A question is a load, a comparison and a branch that is never
taken; in a loop that becomes vectors it would cost the vectors. So loops that are short for certain do not
ask, innermost ones ask between blocks of trips, those around a loop that asks and those that repeat while a
condition holds ask in each trip. Who asked and is to stop leaves its function at once, as one that lacks
memory does: what it holds is freed, and fields that an adjoint has written again are put back.
"""

from __future__ import annotations

from collections.abc import Callable

from dsim.backends import llvm_frame as frame
from dsim.backends.llvm_cost import cost, known_trips, one
from dsim.backends.llvm_text import TYPE, Function
from dsim.backends.llvm_writer import Length, Writer
from dsim.ir.nodes import Block, Const, For, If, Let, Var, While

_QUIET = 1 << 20  # simple instructions between two questions: a few milliseconds, if they wait for memory too
_UNROLLED = 1 << 11  # simple instructions of an inner loop from which LLVM does not write it out


def every(s: For) -> int:
    """After how many trips `s` asks: a power of two; 0 when it never does, being short."""
    each = _quiet(s.body)
    if each is None:
        return 1
    trips = known_trips(s)
    if trips is not None and trips * (each + 1) <= _QUIET:
        return 0
    if any(isinstance(i, For) and _whole(i) > _UNROLLED for i in s.body.statements):
        return 1  # it becomes no vectors
    return 1 << max(0, (_QUIET // (each + 1)).bit_length() - 1)


def _quiet(block: Block) -> int | None:
    """How many simple instructions a run of `block` is at most; None when something in it asks."""
    total = 0
    for s in block.statements:
        inside = _inside(s) if isinstance(s, For | While | If) else one(s)
        if inside is None:
            return None
        total += inside
    return total


def _inside(s: For | While | If) -> int | None:
    if isinstance(s, If):
        then, orelse = _quiet(s.then), _quiet(s.orelse)
        return None if then is None or orelse is None else then + orelse
    if isinstance(s, While):
        return counted(s) if short(s) else None
    return None if every(s) else _whole(s)


def short(s: While) -> bool:
    """Whether `s` counts up to a number, ``while n < 10: …; n += 1``, and is short with all of its trips."""
    most = counted(s)
    return most is not None and most <= _QUIET


def counted(s: While) -> int | None:
    """Simple instructions of all trips of such a loop; None for any other."""
    match s.condition:
        case Block((Let(var=go, op="lt", args=(Var() as n, Const(value=bound))),), (after,)) if after == go:
            pass
        case _:
            return None
    k = s.carried.index(n) if n in s.carried else -1
    first, each = s.init[k] if k >= 0 else None, _quiet(s.body)
    if not isinstance(first, Const) or not n.type.is_integer or each is None:
        return None
    made = next((i for i in s.body.statements if isinstance(i, Let) and i.var == s.body.yields[k]), None)
    if made is None or made.op != "add" or made.args[0] != n or made.args[1] != Const(1, n.type):
        return None
    return max(0, int(bound) - int(first.value)) * (each + 2)


def _whole(s: For) -> int:
    """Simple instructions of all trips of a loop, if their number is known."""
    return (known_trips(s) or 0) * (1 + cost(s.body))


def ask(w: Writer) -> None:
    """Leaves the function if the launch is to stop."""
    f = w.f
    go, stop = f.label("go"), f.label("stop") if w.held else w.leave
    f.fork(_unstopped(f), go, stop, w.likely)
    if w.held:
        f.open(stop)
        w.free_all()
        f.jump(w.leave)
    f.open(go)


def _unstopped(f: Function) -> str:
    f.module.asks = True
    flag = f.let(f"load volatile i64, ptr {frame.address(f, frame.STOP)}, align 8")
    return f.let(f"icmp eq i64 {flag}, 0")


def start(f: Function) -> None:
    """At the entry: nobody has asked this launch to stop."""
    for slot in (frame.STOP, frame.INTERRUPTS):
        f.do(f"store volatile i64 0, ptr {frame.address(f, slot)}, align 8")


def end_if_stopped(entry: Writer) -> None:
    """Behind a task, at the entry: what comes next may need what the task has not done."""
    f = entry.f
    if not f.module.asks:
        return
    go, stop = f.label("go"), f.label("stop")
    f.fork(_unstopped(f), go, stop)
    f.open(stop)
    f.do(f"%pair{stop} = cmpxchg ptr %frame, i64 0, i64 {frame.STOPPED} monotonic monotonic")
    entry.free_all()
    f.jump(entry.leave)
    f.open(go)


def in_blocks(
    w: Writer,
    s: For,
    trips: int,
    edges: tuple[Length, Length],
    init: tuple[str, ...],
    inner: Callable[[Length, Length, tuple[str, ...]], tuple[str, ...]],
) -> tuple[str, ...]:
    """Writes `s` as a loop over blocks of so many `trips`, between which it asks.

    ``inner(start, stop, init)`` writes the loop over one block. `edges` are those of all trips.
    """
    f, (start, stop), up = w.f, edges, s.step > 0
    head, again, end = f.label("blocks"), f.label("again"), f.label("done")
    before = f.block
    f.jump(head)
    f.open(head)
    at, place = f.open_phi("i64", str(start), before)
    carried = [f.open_phi(TYPE[v.type], first, before) for v, first in zip(s.carried, init, strict=True)]
    add = f.module.declare("llvm.sadd.sat.i64", "declare i64 @llvm.sadd.sat.i64(i64, i64)")
    following = f.call("i64", add, f"i64 {at}", f"i64 {trips * s.step}")
    more = f.let(f"icmp {'slt' if up else 'sgt'} i64 {following}, {stop}")
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
