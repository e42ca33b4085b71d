"""Global sums: memories of one element to which the iterations of parallel loops only add."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dsim.ir.nodes import Accumulate, Block, For, KernelIR, Memory, MemoryKey
from dsim.ir.ranges import known_trips
from dsim.ir.walk import accesses, blocks, free


def global_sums(kernel: KernelIR) -> dict[MemoryKey, Accumulate]:
    """The first addition to each such memory, which holds floats and is not a derivative.

    The kernel has no other access to the memory, and the loop uses its index: an addition in a serial loop,
    or outside of loops, may as well be a time step of a state as a term of a sum.
    """
    sums = [s for loop in _loops(kernel.body) for s in accesses(loop.body) if isinstance(s, Accumulate)]
    added = {id(s) for s in sums if s.op == "add" and s.old is None}
    others = {s.memory.key for s in accesses(kernel.body) if id(s) not in added}
    found: dict[MemoryKey, Accumulate] = {}
    for s in sums:
        if _single(s.memory) and s.memory.key not in others:
            found.setdefault(s.memory.key, s)
    return found


def _loops(block: Block) -> Iterator[For]:
    """The outermost parallel loops whose trips use the index."""
    for s in block.statements:
        if isinstance(s, For) and s.parallel and not _once(s) and s.index in free(s.body):
            yield s
        else:
            for inner in blocks(s):
                yield from _loops(inner)


def _once(loop: For) -> bool:
    known = known_trips(loop)
    return known is not None and known <= 1


def _single(memory: Memory) -> bool:
    """Whether it is a field of one float that is not a derivative."""
    shape = memory.shape[: len(memory.shape) - memory.entry_axes]
    lengths = [0 if n is None else n for n in shape]  # an array has unknown lengths
    return not memory.private and not memory.derivative and memory.type.is_float and prod(lengths) == 1
