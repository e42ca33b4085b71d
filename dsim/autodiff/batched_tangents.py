"""Forward mode along several directions at once: a kernel that computes values once, tangents often.

Along each direction a memory has tangents of its own, in a memory of its shape. They are no companions of a
field: whoever runs the kernel says where they lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dsim.autodiff.forward_mode import Direction, along
from dsim.autodiff.names import TANGENT
from dsim.ir.build import Names
from dsim.ir.nodes import KernelIR, Memory, MemoryKey
from dsim.ir.walk import bound_names

TangentNames = Mapping[MemoryKey, tuple[str, ...]]  # of an active memory: those of its tangents, by direction


def forward_batch(
    kernel: KernelIR, active: frozenset[MemoryKey], count: int
) -> tuple[KernelIR, TangentNames]:
    """The kernel that runs `kernel` and propagates tangents along `count` directions.

    What the partial derivatives of a statement share is computed once for all directions.

    Parameters
    ----------
    kernel : KernelIR
        Without `Derive` nodes (`expand` replaces them).
    active : frozenset of MemoryKey
        Memories with tangents.
    count : int
        How many directions there are.

    Returns
    -------
    KernelIR
        With the same parameters and return values; differentiable again.
    mapping of MemoryKey to tuple of str
        For each active memory the names of those that hold its tangents.
    """
    names = Names(bound_names(kernel))
    tangents = {
        (name, path): tuple(names.fresh("_".join((name, *path, f"{TANGENT}{n}"))) for n in range(count))
        for name, path in sorted(active)
    }
    return along(kernel, active, [_direction(tangents, n) for n in range(count)], names), tangents


def _direction(tangents: TangentNames, n: int) -> Direction:
    def tangent(memory: Memory) -> Memory:
        return replace(memory, name=tangents[memory.key][n], derivative=())

    return Direction(f"{TANGENT}{n}", tangent)
