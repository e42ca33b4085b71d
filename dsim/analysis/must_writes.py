"""Must-write analysis: the elements of a memory that every run of a kernel stores to.

Only what is plain counts: stores outside of branches, in loops with constant bounds, at indices that are
constants or the loops' counters. All other stores may write less than it seems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dsim.ir.nodes import Block, Const, For, KernelIR, MemoryKey, Store, Var

Box = tuple[tuple[int, int], ...]


def stored_boxes(kernel: KernelIR, key: MemoryKey) -> tuple[Box, ...]:
    """Boxes of the memory that every run stores to, in whichever order."""
    return tuple(_boxes(kernel.body, key, {}))


def _boxes(block: Block, key: MemoryKey, counters: Mapping[Var, tuple[int, int]]) -> Iterator[Box]:
    for s in block.statements:
        if isinstance(s, Store) and s.memory.key == key:
            axes = [_span(index, counters) for index in s.index]
            used = [index for index in s.index if isinstance(index, Var)]
            if all(axes) and len(set(used)) == len(used):
                yield tuple(axis for axis in axes if axis is not None)
        elif isinstance(s, For) and (span := _trips(s)) is not None:
            yield from _boxes(s.body, key, {**counters, s.index: span})


def _trips(loop: For) -> tuple[int, int] | None:
    """What the counter goes through, if that is known and without gaps."""
    if loop.goes_on is not None or not isinstance(loop.start, Const) or not isinstance(loop.stop, Const):
        return None
    start, stop = int(loop.start.value), int(loop.stop.value)
    return {1: (start, stop), -1: (stop + 1, start + 1)}.get(loop.step)


def _span(index: Const | Var, counters: Mapping[Var, tuple[int, int]]) -> tuple[int, int] | None:
    if isinstance(index, Const):
        return int(index.value), int(index.value) + 1
    return counters.get(index)
