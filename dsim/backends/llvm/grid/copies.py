"""Privatisation in shared memory: each block adds to a copy of its own of a small memory that all add to.

``h[b[i]] += v`` lets many threads wait for each other at a few addresses of global memory. Instead the
threads of a block zero a copy in shared memory, add to that, and then add what is not zero in it to the
memory: by atomics both times, with a barrier before and after the iterations. Only memories that the loop
does nothing else with have copies, and only where additions may take any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dsim.analysis.write_plans import Plan
from dsim.backends.llvm import loops
from dsim.backends.llvm.cost import known_trips, trips
from dsim.backends.llvm.memory import atomics
from dsim.backends.llvm.places import MemRef, dense_strides
from dsim.backends.llvm.text import STORED, WIDTH, Function, number
from dsim.ir.nodes import Accumulate, Block, For, KernelIR, Memory, MemoryKey
from dsim.ir.walk import blocks, memory_of, statements

MOST_BYTES = 4 << 10  # of all copies of a block: eight blocks have room in 48 KiB beside what sums take
MANY = 8  # additions for each element, at least, where the number of iterations is known
_ALIGNED = 8  # bytes


class BlockCopy(NamedTuple):
    """A memory of which each block has a copy.

    Attributes
    ----------
    memory : Memory
    elements : int
        How many it reaches over.
    first, end : int
        Between which bytes of the block's copies this one lies.
    """

    memory: Memory
    elements: int
    first: int
    end: int


def find(
    kernel: KernelIR,
    loop: For,
    plans: Mapping[MemoryKey, Plan],
    strides: Mapping[MemoryKey, tuple[int, ...]],
) -> tuple[BlockCopy, ...]:
    """The memories of which blocks have copies while they run `loop`."""
    found: list[BlockCopy] = []
    end = 0
    for m in kernel.memories:
        plan = plans.get(m.key)
        if plan is None or plan.kind != "private" or not _only_added_to(loop, m):
            continue
        elements = _elements(m, strides.get(m.key))
        behind = end + -(-elements * WIDTH[m.type] // _ALIGNED) * _ALIGNED
        if elements and behind <= MOST_BYTES and _are_many(loop, m, elements):
            found.append(BlockCopy(m, elements, end, behind))
            end = behind
    return tuple(found)


def _are_many(loop: For, m: Memory, elements: int) -> bool:
    """Whether `loop` adds many times to each element, on average; taken to be so where it is not known."""
    known = known_trips(loop)
    return known is None or known * _additions(loop.body, m) >= MANY * elements


def _additions(block: Block, m: Memory) -> int:
    """How often one run of `block` adds to `m`, both arms of branches counted."""
    found = 0
    for s in block.statements:
        inside = sum(_additions(b, m) for b in blocks(s))
        found += trips(s) * inside if isinstance(s, For) else inside
        found += isinstance(s, Accumulate) and s.memory.key == m.key
    return found


def _only_added_to(loop: For, m: Memory) -> bool:
    inside = [s for s in statements(loop.body) if (of := memory_of(s)) is not None and of.key == m.key]
    return all(isinstance(s, Accumulate) and s.op == "add" and s.old is None for s in inside)


def _elements(m: Memory, strides: tuple[int, ...] | None) -> int:
    """How many elements `m` reaches over; 0 if that is not known, or not from its first element on."""
    shape = tuple(n for n in m.shape if n is not None)
    place = MemRef(m, "", shape, strides or dense_strides(shape) or ())
    return place.extent if len(shape) == len(m.shape) and place.small else 0


# what is written ----------------------------------------------------------------------------------


def address(f: Function, c: BlockCopy, thread_bytes: int) -> str:
    """Where the block's copy lies: behind `thread_bytes` of shared memory for each thread."""
    at = f.let(f"add i64 {f.let(f'mul i64 %ntid, {thread_bytes}')}, {c.first}")
    return f.let(f"getelementptr inbounds i8, ptr %shared, i64 {at}")


def clear(f: Function, copies: Sequence[BlockCopy], thread_bytes: int) -> None:
    """Writes how the threads of a block zero its copies."""
    for c in copies:
        base, stored = address(f, c, thread_bytes), STORED[c.memory.type]

        def one(i: str, c: BlockCopy = c, base: str = base, stored: str = stored) -> None:
            at = f.let(f"getelementptr inbounds {stored}, ptr {base}, i64 {i}")
            f.do(f"store {stored} {number(0, c.memory.type)}, ptr {at}, align {WIDTH[c.memory.type]}")

        loops.plain(f, "%tid", str(c.elements), "%ntid", one)


def flush(
    f: Function, copies: Sequence[BlockCopy], thread_bytes: int, addresses: Mapping[MemoryKey, str]
) -> None:
    """Writes how they add these to the memories, which have these `addresses`."""
    for c in copies:
        base, to, t = address(f, c, thread_bytes), addresses[c.memory.key], c.memory.type
        stored = STORED[t]

        def one(i: str, base: str = base, to: str = to, t=t, stored: str = stored) -> None:
            place = f"getelementptr inbounds {stored}, ptr {{}}, i64 {i}"
            value = f.let(f"load {stored}, ptr {f.let(place.format(base))}, align {WIDTH[t]}")
            some = f.let(f"{'fcmp une' if t.is_float else 'icmp ne'} {stored} {value}, {number(0, t)}")
            add, after = f.label("add"), f.label("added")
            f.fork(some, add, after)
            f.open(add)
            atomics.accumulate(f, "add", t, f.let(place.format(to)), value, False)
            f.jump(after)
            f.open(after)

        loops.plain(f, "%tid", str(c.elements), "%ntid", one)
