"""A parallel task as LLVM: its iterations' function, a chunk's function, and what the entry does.

- ``task_k``       runs iterations lo to hi; its sums go to ``%partial``.
- ``task_k_chunk`` finds the iterations of chunk c, and runs them with that chunk's private copies.
- the entry chooses the number of chunks, gives them to the threads, and combines what they summed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dsim.analysis.affine import Affine
from dsim.backends.llvm import frame, loops, partials, poll_intervals, ranges, stops
from dsim.backends.llvm.float_mode import FloatMode
from dsim.backends.llvm.kernel import KernelWriter, Task, close_body, settle
from dsim.backends.llvm.memory import buffers
from dsim.backends.llvm.parallel import dispatch, fused_copies, trials
from dsim.backends.llvm.parallel.plans import PrivateCopy, Schedule, chunk_count
from dsim.backends.llvm.places import Length
from dsim.backends.llvm.text import PLAIN, STORED, SUMS, WIDTH, Function
from dsim.backends.llvm.writer import Writer
from dsim.ir.types import ScalarType
from dsim.records import record


class _Slots(NamedTuple):
    """The slots in which the entry passes facts about a task to the chunks."""

    trips: int
    chunks: int
    runs: int  # what the dispatches remember
    lows: int  # of each private copy, the byte at which it starts in its memory
    partials: int


def write_parallel(k: KernelWriter, entry: Writer, task: Task, s: Schedule, mode: FloatMode | None) -> None:
    """Writes the functions of a parallel task, and its run in the entry."""
    phases = 2 if s.held else 1
    slots = _Slots(
        *(k.layout.take(1) for _ in range(2)),
        runs=k.layout.take(trials.MEMORY),
        lows=k.layout.take(len(s.private)),
        partials=k.layout.take(s.chunks * phases * len(s.partials)),
    )
    _write_body(k, task, s, task.name, shared=False)
    if s.atomic:
        _write_body(k, task, s, f"{task.name}_shared", shared=True)
    _write_chunk(k, task, s, slots)
    _write_run(k, entry, task, s, slots, mode)


def _copies(k: KernelWriter, task: Task, s: Schedule) -> list[tuple[int, PrivateCopy]]:
    """The private copies, with their memories' places among the task's parameters."""
    keys = [m.key for m in k.memories(task)]
    return [(keys.index(c.memory.key), c) for c in s.private]


# the iterations ---------------------------------------------------------------------------------


def _write_body(k: KernelWriter, task: Task, s: Schedule, name: str, *, shared: bool) -> None:
    params = "ptr noalias %frame, i64 %lo, i64 %hi, ptr noalias %partial" + k.memory_params(task)
    for at, c in _copies(k, task, s):
        alias = "" if c.also_used else "noalias "
        params = params.replace(f"ptr noalias %m{at}", f"ptr {alias}%m{at}") + f", ptr {alias}%p{at}"
    f = k.task_function(name, params, task)
    w = k.writer(f, task)
    for at, c in _copies(k, task, s):
        w.places[c.memory.key].target = f"%p{at}"
    for key in s.atomic if shared else ():
        w.places[key].atomic = True
    partials.start(w, s.partials)
    buffers.hoist(w, task.block)
    loop = task.loop
    first, last = ranges.span(w, loop, "%lo", "%hi")
    init = tuple(p.identity for p in s.partials if p.memory is None)
    later = loop.index in k.wishes.deferred
    if later:
        w.start_flag()
    carried = loops.counted(w, loop, first, last, init, poll_intervals.every_inside(loop))
    if later:
        w.look_at_flag(k.number(loop))
    partials.stop(w, s.partials, carried)
    close_body(w)


# one chunk --------------------------------------------------------------------------------------


@record
class _Chunk:
    """The values of a chunk's function: its number, how many there are, its iterations, its phase.

    `end` is where the iterations of both phases end.
    """

    f: Function
    number: str
    count: str
    lo: str
    hi: str
    end: str
    first: str


def _write_chunk(k: KernelWriter, task: Task, s: Schedule, slots: _Slots) -> None:
    f = k.function(f"{task.name}_chunk", "ptr %frame, i64 %c", PLAIN)
    w = Writer(f, k.target, {}, k.wishes.unchecked, k.messages)
    w.leave = "leave"
    trips = frame.read(f, slots.trips, "i64")
    chunk = _chunk(f, s, trips, frame.read(f, slots.chunks, "i64"))
    memories = k.memory_args(f, task)
    own = [_copy(chunk, s, i, memories[at], slots) for i, (at, _) in enumerate(_copies(k, task, s))]
    callee = f"@{task.name}"
    if s.atomic:
        alone = f.let(f"icmp eq i64 {chunk.count}, 1")
        callee = f.let(f"select i1 {alone}, ptr @{task.name}, ptr @{task.name}_shared")
    length, fused = poll_intervals.every(task.loop), k.wishes.copies
    asks = length > 0 and not poll_intervals.every_inside(task.loop)

    def run(first: str, last: str) -> None:
        if asks:
            stops.ask(w)
        _call(f, callee, (first, last), "null", memories + own)

    if fused is not None and fused.memory in task.touched:
        part = fused_copies.ChunkPart(chunk.lo, chunk.hi, chunk.end, chunk.first)
        fused_copies.in_pieces(k, f, fused, part, run)
    elif s.partials:
        _sum_blocks(w, chunk, s, slots, callee, memories + own, asks=length > 0)
    elif asks:
        _in_pieces(f, chunk, length, run)
    else:
        run(chunk.lo, chunk.hi)
    close_body(w)


def _call(f: Function, callee: str, edges: tuple[str, str], partial: str, memories: list[str]) -> None:
    """Calls a task's function for the iterations between `edges`."""
    args = ["ptr %frame", *(f"i64 {edge}" for edge in edges), f"ptr {partial}", *memories]
    f.do(f"call void {callee}({', '.join(args)})")


def _chunk(f: Function, s: Schedule, trips: str, chunks: str) -> _Chunk:
    number, first = "%c", "true"
    if s.held:
        first = f.let(f"icmp slt i64 %c, {chunks}")
        second = f.let(f"sub i64 %c, {chunks}")
        number = f.let(f"select i1 {first}, i64 %c, i64 {second}")
    edges = []
    for edge in (number, f.let(f"add i64 {number}, 1")):
        share = f.let(f"mul i64 {trips}, {edge}")
        edges.append(f.let(f"udiv i64 {share}, {chunks}"))
    lo, hi = edges
    end = hi
    if s.held:
        alone = f.let(f"icmp eq i64 {chunks}, 1")
        held = f.let(f"select i1 {alone}, i64 0, i64 {s.held}")
        middle = f.let(f"sub i64 {hi}, {held}")
        lo = f.let(f"select i1 {first}, i64 {lo}, i64 {middle}")
        hi = f.let(f"select i1 {first}, i64 {middle}, i64 {hi}")
    return _Chunk(f, number, chunks, lo, hi, end, first)


def _copy(chunk: _Chunk, s: Schedule, i: int, memory: str, slots: _Slots) -> str:
    """The argument for the chunk's private copy number `i`, zeroed in the first phase.

    It is where the memory would begin if the copy were a part of it; the first chunk uses the memory.
    """
    f, copy = chunk.f, s.private[i]
    later, clear, ready = f.label("later"), f.label("clear"), f.label("ready")
    before = f.block
    f.fork(f.let(f"icmp eq i64 {chunk.number}, 0"), ready, later)
    f.open(later)
    base = _copy_address(f, s, i, chunk.number, chunk.count)
    back = f.let(f"sub i64 0, {frame.read(f, slots.lows + i, 'i64')}")
    origin = f.let(f"getelementptr i8, ptr {base}, i64 {back}")
    f.fork(chunk.first, clear, ready)
    f.open(clear)
    name = f.module.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    f.do(f"call void @{name}(ptr {base}, i8 0, i64 {copy.span * WIDTH[copy.memory.type]}, i1 false)")
    f.jump(ready)
    f.open(ready)
    real = memory.removeprefix("ptr ")
    return f"ptr {f.phi('ptr', [(real, before), (origin, later), (origin, clear)])}"


def _copy_address(f: Function, s: Schedule, i: int, chunk: str, chunks: str) -> str:
    """Where the private copy number `i` of a chunk lies: copies of one memory one after the other."""
    scratch = frame.read(f, frame.SCRATCH, "ptr")
    before = sum(_copy_bytes(c) for c in s.private[:i])
    skipped = f.let(f"mul i64 {chunks}, {before}")
    own = f.let(f"mul i64 {chunk}, {_copy_bytes(s.private[i])}")
    offset = f.let(f"add i64 {skipped}, {own}")
    return f.let(f"getelementptr inbounds i8, ptr {scratch}, i64 {offset}")


def _copy_bytes(c: PrivateCopy) -> int:
    """Bytes of a copy, up to whole cache lines so that no two threads write to one."""
    return -(-c.span * WIDTH[c.memory.type] // 64) * 64


def _sum_blocks(
    w: Writer, chunk: _Chunk, s: Schedule, slots: _Slots, callee: str, memories: list[str], *, asks: bool
) -> None:
    """Runs a chunk block by block, adding the sums of each to the chunk's."""
    f = w.f
    here = f.slot(f"[{len(s.partials)} x i64]")
    offset = f.let(f"mul i64 %c, {8 * len(s.partials)}")
    total = f.let(f"getelementptr inbounds i8, ptr {frame.address(f, slots.partials)}, i64 {offset}")
    partials.clear(w, s.partials, total)

    def block(start: str, end: str) -> None:
        if asks:
            stops.ask(w)
        partials.clear(w, s.partials, here)
        _call(f, callee, (start, end), here, memories)
        partials.join(w, s.partials, total, here)

    _in_pieces(f, chunk, s.block, block)


def _in_pieces(f: Function, chunk: _Chunk, length: int, run: Callable[[str, str], None]) -> None:
    """Runs a chunk piece by piece, by ``run(first, last)``."""

    def piece(start: str) -> None:
        after = f.let(f"add nsw i64 {start}, {length}")
        whole = f.let(f"icmp slt i64 {after}, {chunk.hi}")
        run(start, f.let(f"select i1 {whole}, i64 {after}, i64 {chunk.hi}"))

    loops.plain(f, chunk.lo, chunk.hi, length, piece)


# the whole --------------------------------------------------------------------------------------


def _write_run(
    k: KernelWriter, entry: Writer, task: Task, s: Schedule, slots: _Slots, mode: FloatMode | None
) -> None:
    f = entry.f
    k.read_values(entry, task)
    trips, chunks = _split(entry, task, s)
    frame.write(f, slots.trips, "i64", str(trips))
    for i, c in enumerate(s.private):
        low = entry.times(_affine(k, entry, c.low), WIDTH[c.memory.type])
        frame.write(f, slots.lows + i, "i64", str(low))
    if s.private:
        chunks = _with_scratch(f, s, chunks)
    frame.write(f, slots.chunks, "i64", str(chunks))
    run = dispatch.dispatch(f.module, mode)
    own = frame.address(f, slots.runs)
    for first in ("0", chunks) if s.held else ("0",):
        numbers = f"i64 {first}, i64 {chunks}, ptr {own}, i64 {trips}, i64 {k.wishes.threads}"
        f.do(f"call void @{run}(ptr %frame, ptr @{task.name}_chunk, {numbers})")
        stops.end_if_stopped(entry)
    for i, c in enumerate(s.private):
        _add_copies(k, entry, s, c, i, chunks, slots)
    if s.partials:
        _combine(k, entry, task, s, slots, chunks)


def _split(w: Writer, task: Task, s: Schedule) -> tuple[Length, Length]:
    """How many iterations, and how many chunks."""
    trips = ranges.trip_count(w, task.loop)
    if isinstance(trips, int):
        return trips, chunk_count(trips, s)
    least = 2 * s.held if s.held else 1
    numbers = (trips, s.cost, s.grain, s.chunks, least)
    return trips, w.f.call("i64", dispatch.chunks(w.f.module), *(f"i64 {n}" for n in numbers))


def _with_scratch(f: Function, s: Schedule, chunks: Length) -> Length:
    """Makes room for the private copies; one chunk when there is none."""
    if chunks == 1:
        return 1
    size = f.let(f"mul i64 {chunks}, {sum(map(_copy_bytes, s.private))}")
    got = f.call("ptr", dispatch.scratch(f.module), "ptr %frame", f"i64 {size}")
    lacking = f.let(f"icmp eq ptr {got}, null")
    return f.let(f"select i1 {lacking}, i64 1, i64 {chunks}")


def _affine(k: KernelWriter, w: Writer, form: Affine) -> Length:
    """The number that an affine form of the kernel's parameters is."""
    total: Length = form.constant
    for v, factor in form.terms:
        w.env[v] = frame.read_scalar(w.f, k.layout.value(v), v.type)
        total = w.plus(w.times(w.exact(v), factor), total)
    return total


def _add_copies(
    k: KernelWriter, entry: Writer, s: Schedule, c: PrivateCopy, i: int, chunks: Length, slots: _Slots
) -> None:
    """Adds the private copies to their memory, chunk by chunk; what lies outside it is left out."""
    if chunks == 1:
        return
    f, width = entry.f, WIDTH[c.memory.type]
    memory = frame.read(f, k.layout.memories[c.memory.key], "ptr")
    low = frame.read(f, slots.lows + i, "i64")
    size = k.size(c.memory) * width
    skipped = ranges.least(f, ranges.greatest(f, f.let(f"sub i64 0, {low}"), 0), c.span * width)
    end = ranges.least(f, f.let(f"add i64 {low}, {c.span * width}"), size)
    begin = f.let(f"add i64 {low}, {skipped}")
    rest = ranges.greatest(f, f.let(f"sub i64 {end}, {begin}"), 0)
    count = f.let(f"sdiv i64 {rest}, {width}")
    to = f.let(f"getelementptr i8, ptr {memory}, i64 {begin}")
    add = dispatch.add_up(f.module, STORED[c.memory.type], _adding(c.memory.type), width)

    def one(chunk: str) -> None:
        base = _copy_address(f, s, i, chunk, str(chunks))
        source = f.let(f"getelementptr i8, ptr {base}, i64 {skipped}")
        f.do(f"call void @{add}(ptr {to}, ptr {source}, i64 {count})")

    loops.plain(f, "1", str(chunks), 1, one)


def _adding(t: ScalarType) -> str:
    return f"fadd {SUMS}" if t.is_float else "add"


def _combine(k: KernelWriter, entry: Writer, task: Task, s: Schedule, slots: _Slots, chunks: Length) -> None:
    """Joins the chunks' sums in their order, and puts the results where they belong."""
    f, size = entry.f, 8 * len(s.partials)
    total = f.slot(f"[{len(s.partials)} x i64]")
    partials.clear(entry, s.partials, total)
    count = f.let(f"mul i64 {chunks}, {2 if s.held else 1}")
    base = frame.address(f, slots.partials)

    def one(chunk: str) -> None:
        offset = f.let(f"mul i64 {chunk}, {size}")
        at = f.let(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")
        partials.join(entry, s.partials, total, at)

    loops.plain(f, "0", count, 1, one)
    settle(k, entry, task, s.partials, total)
