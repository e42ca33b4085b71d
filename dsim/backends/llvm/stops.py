"""Polls of the stop flag in machine code, and the exit when it is set.

The flag is a slot of the launch's frame. A poll is a load, a comparison and a branch that is rarely
taken; it would prevent vectorisation of a loop, and slow a short one down. So loops that
are known to be short do not poll; innermost ones poll between blocks of trips, and small ones inside others
have code without blocks for short runs; those around others poll where their index is a multiple of a power
of two; `while` loops poll once in a few trips, which are unrolled. The number of
instructions between two polls is the sum over the loop nest (`_quiet`). When the flag is set, the code
leaves its function at once, as after a lack of memory: its buffers are freed, and fields that an
adjoint has written again are rolled back.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dsim.backends.llvm import frame, ranges
from dsim.backends.llvm.cost import cost, known_trips, one
from dsim.backends.llvm.places import Length
from dsim.backends.llvm.text import TYPE, Function, Module
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Accumulate, Block, Const, For, If, Let, Load, Store, Var, While
from dsim.ir.walk import binds, statements

_SHORT = 1 << 20  # simple instructions of a loop that does not poll: a few milliseconds
_BLOCK = 1 << 18  # of a block of trips of an innermost loop
_QUIET = 1 << 22  # between two polls of a loop around others
_UNROLLED = 1 << 11  # of an inner loop from which LLVM does not unroll it
_PIECE = 1 << 10  # trips for which the cost of a call is negligible
_TINY = 64  # of a loop's body for which a poll, or blocks, would cost measurably
_COPIES = 8  # trips of a `While`, at most, that are unrolled

Values = tuple[str, ...]


def every(s: For) -> int:
    """After how many trips `s` polls: a power of two; 0 for never, in a short loop."""
    each, trips = _quiet(s.body) + 1, known_trips(s)
    if trips is not None and trips * each <= _SHORT and not _asks(s.body):
        return 0
    most = (_BLOCK if innermost(s) else _QUIET) // each
    if s.step % 2 == 0 and not innermost(s):
        return 1
    return 1 << max(0, most.bit_length() - 1)


def every_inside(s: For) -> int:
    """The same for the function of a parallel loop, where that is not called for blocks of trips instead."""
    trips = every(s)
    return 0 if innermost(s) or trips >= _PIECE else trips


def innermost(s: For) -> bool:
    """Whether `s` may be vectorised: nothing inside it polls, and LLVM unrolls inner loops."""
    return not _asks(s.body) and not any(
        isinstance(i, For) and _whole(i) > _UNROLLED for i in s.body.statements
    )


def _asks(block: Block) -> bool:
    return any(
        (isinstance(s, While) and not short(s))
        or (isinstance(s, For) and every(s) > 0)
        or (isinstance(s, If) and (_asks(s.then) or _asks(s.orelse)))
        for s in block.statements
    )


def _quiet(block: Block) -> int:
    """The most simple instructions that a run of `block` executes without a poll."""
    total = 0
    for s in block.statements:
        if isinstance(s, If):
            total += _quiet(s.then) + _quiet(s.orelse)
        elif isinstance(s, While):
            total += _quiet_while(s)
        elif isinstance(s, For):
            total += _quiet_for(s)
        else:
            total += one(s)
    return total


def _quiet_for(s: For) -> int:
    most = [n for n in (every(s), known_trips(s)) if n]
    return min(most, default=0) * (_quiet(s.body) + 1)


def _quiet_while(s: While) -> int:
    most = counted(s)
    if most is not None and most <= _SHORT:
        return most
    each = _each(s)
    return copies(s) * each if bound(s) is None else _BLOCK


def block_of(s: While) -> int:
    """How many trips of a counted loop need no poll."""
    return _BLOCK // _each(s)


def _each(s: While) -> int:
    return _quiet(s.condition) + _quiet(s.body) + 1


def copies(s: While) -> int:
    """How many trips of a loop that polls are unrolled, with one poll for all of them."""
    return min(_COPIES, max(1, _TINY // (cost(s.condition) + cost(s.body) + 1))) if repeatable(s) else 1


def repeatable(s: For | While) -> bool:
    """Whether writing the body of `s` more than once is cheap."""
    return cost(s.body) <= _TINY and all(
        isinstance(i, Let | Load | Store | Accumulate | If) for i in statements(s.body)
    )


# loops that count with ``while`` ------------------------------------------------------------------


def short(s: While) -> bool:
    """Whether `s` counts up to a number, ``while n < 10 and …: …; n += 1``, and is short with all trips."""
    most = counted(s)
    return most is not None and most <= _SHORT


def counted(s: While) -> int | None:
    """Simple instructions of all trips of such a loop; None for any other."""
    most = [
        int(last.value) - int(first.value)
        for _, first, last in _counters(s)
        if isinstance(first, Const) and isinstance(last, Const)
    ]
    return max(0, min(most)) * (_each(s) + 1) if most and not _asks(s.body) else None


def bound(s: While) -> tuple[Var | Const, Var | Const] | None:
    """From what to what `s` counts, if it counts up by one to a value that stays, and that is all."""
    inside = {v for i in statements(Block((s,))) for v in binds(i)} | set(s.carried)
    if len(s.condition.statements) != 1 or not repeatable(s):
        return None
    return next(((first, last) for _, first, last in _counters(s) if last not in inside), None)


def _counters(s: While) -> list[tuple[Var, Var | Const, Var | Const]]:
    """The integers without which `s` does not go on: each with its first value, and what it stays below."""
    made = {i.var: i for i in (*s.condition.statements, *s.body.statements) if isinstance(i, Let)}
    needed, found = list(s.condition.yields), []
    while needed:
        v = needed.pop()
        test = made.get(v) if isinstance(v, Var) else None
        if test is not None and test.op == "band":
            needed += test.args
        elif test is not None and test.op == "lt" and test.args[0] in s.carried:
            n, last = test.args
            k = s.carried.index(n)
            after = s.body.yields[k]
            step = made.get(after) if isinstance(after, Var) else None
            if (
                n.type.is_integer
                and step is not None
                and step.op == "add"
                and step.args == (n, Const(1, n.type))
            ):
                found.append((n, s.init[k], last))
    return found


def _whole(s: For) -> int:
    """Simple instructions of all trips of a loop, if their number is known."""
    return (known_trips(s) or 0) * (1 + cost(s.body))


# polls ----------------------------------------------------------------------------------------


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
