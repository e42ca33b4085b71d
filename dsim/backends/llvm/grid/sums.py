"""Sums over a grid: each thread's are added up by its block, and those of the blocks by one more kernel.

The order is fixed by the numbers of threads and blocks. Within a block, sums lie in shared memory, those of
one number beside each other, and are folded: threads of the lower half add those of the upper half, with a
barrier before each step. A thread's function that has barriers is a straight line of calls, so all threads
meet at each of them.
"""

from __future__ import annotations

from dsim.backends.llvm import frame, loops, partials
from dsim.backends.llvm.grid import slots
from dsim.backends.llvm.grid.device import barrier, global_address
from dsim.backends.llvm.grid.module import MOST_THREADS
from dsim.backends.llvm.kernel import KernelWriter, Task, settle
from dsim.backends.llvm.partials import PartialSum
from dsim.backends.llvm.text import Function
from dsim.backends.llvm.writer import Writer

WORD = 8  # bytes


def share(w: Writer, sums: list[PartialSum], total: str) -> None:
    """Puts a thread's sums, at `total`, into its place in shared memory."""
    for i, p in enumerate(sums):
        value = partials.read(w, i, p, total)
        partials.save(w, 0, p, value, _shared(w.f, i, "%tid"))


def _shared(f: Function, i: int, thread: str) -> str:
    """Where sum number `i` of a thread lies in shared memory."""
    at = f.let(f"add i64 {f.let(f'mul i64 {i}, %ntid')}, {thread}")
    return f.let(f"getelementptr inbounds i64, ptr %shared, i64 {at}")


def write_fold(k: KernelWriter, name: str, sums: list[PartialSum]) -> None:
    """Writes ``name(half, tid, ntid, shared)``: threads below `half` add what those behind it have."""
    f = k.function(name, "i64 %half, i64 %tid, i64 %ntid, ptr %shared", "nounwind")
    w = Writer(f, k.target, {}, k.wishes.unchecked, k.messages)
    other = f.let("add i64 %tid, %half")
    lower, there = f.let("icmp slt i64 %tid, %half"), f.let(f"icmp slt i64 {other}, %ntid")
    add, end = f.label("add"), f.label("end")
    f.fork(f.let(f"and i1 {lower}, {there}"), add, end)
    f.open(add)
    for i, p in enumerate(sums):
        partials.join(w, [p], _shared(f, i, "%tid"), _shared(f, i, other))
    f.jump(end)
    f.open(end)
    f.do("ret void")


def fold(f: Function, name: str) -> None:
    """Adds up the sums of the block's threads, into those of thread 0."""
    half = MOST_THREADS // 2
    while half:
        barrier(f)
        f.do(f"call void @{name}(i64 {half}, i64 %tid, i64 %ntid, ptr %shared)")
        half //= 2


def leave(w: Writer, sums: list[PartialSum]) -> None:
    """Puts the sums of the block, at thread 0, where the blocks' sums are."""
    f = w.f
    blocks = frame.address(f, slots.BLOCKS)
    f.do(f"store i64 %ncta, ptr {blocks}, align {WORD}")
    first = f.let(f"mul i64 %cta, {len(sums)}")
    base = f.let(f"getelementptr inbounds i64, ptr {global_address(f, slots.SUMS)}, i64 {first}")
    for i, p in enumerate(sums):
        partials.save(w, i, p, partials.read(w, 0, p, _shared(f, i, "0")), base)


def gather(w: Writer, sums: list[PartialSum]) -> None:
    """Adds up the sums of the blocks `tid`, `tid + ntid`, …, into the thread's place in shared memory."""
    f = w.f
    total = f.slot(f"[{len(sums)} x i64]")
    partials.clear(w, sums, total)
    blocks, base = frame.read(f, slots.BLOCKS, "i64"), global_address(f, slots.SUMS)

    def one(block: str) -> None:
        first = f.let(f"mul i64 {block}, {len(sums)}")
        partials.join(w, sums, total, f.let(f"getelementptr inbounds i64, ptr {base}, i64 {first}"))

    loops.plain(f, "%tid", blocks, "%ntid", one)
    share(w, sums, total)


def finish(k: KernelWriter, w: Writer, task: Task, sums: list[PartialSum]) -> None:
    """Puts the whole sums, at thread 0, where they belong."""
    f = w.f
    total = f.slot(f"[{len(sums)} x i64]")
    for i, p in enumerate(sums):
        partials.save(w, i, p, partials.read(w, 0, p, _shared(f, i, "0")), total)
    k.read_values(w, task)
    settle(k, w, task, sums, total)
