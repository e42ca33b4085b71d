"""How a parallel loop writes its memories on a device: the analysis's plans, made concrete for grids.

Elements that iterations may share are accumulated to by atomics; sums that the loop only adds to are kept by
each thread. A loop for which that is not possible, or not allowed, runs on one thread. Loops in loops are the
matter of `nests.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dsim.analysis.write_plans import Plan
from dsim.backends.llvm import partials
from dsim.backends.llvm.cost import cost
from dsim.backends.llvm.grid import copies
from dsim.backends.llvm.grid.copies import BlockCopy
from dsim.backends.llvm.grid.nests import LoopNest, Nests, depends_on_order
from dsim.backends.llvm.grid.rotation import rotated_loops
from dsim.backends.llvm.kernel import Strides
from dsim.backends.llvm.partials import PartialSum
from dsim.ir.nodes import Accumulate, For, KernelIR, MemoryKey, Probe, Var
from dsim.ir.walk import statements

# Sums of one loop: those of 128 threads fill the 48 KiB of shared memory that a block has on all devices.
MOST_SUMS = 48
_BLOCK = 1 << 15  # simple instructions of a thread after which its sums are widened


class Sharing(NamedTuple):
    """How the threads of a grid share the iterations of a loop, and what these write.

    Attributes
    ----------
    nest : LoopNest
        The loop, and those in it that are shared with it.
    sums : list of PartialSum
        What each thread keeps, and is added up after the loop.
    atomic : frozenset
        The memories that are accumulated to by atomics.
    copies : tuple of BlockCopy
        Those of them to a block's copy of which that is done.
    block : int
        After how many iterations of a thread its sums are widened.
    rotated : frozenset of Var
        The indices of loops in an iteration that begin at the number of their thread.
    """

    nest: LoopNest
    sums: list[PartialSum]
    atomic: frozenset[MemoryKey]
    copies: tuple[BlockCopy, ...]
    block: int
    rotated: frozenset[Var]

    @property
    def copied_bytes(self) -> int:
        """Shared memory that the copies of a block take."""
        return self.copies[-1].end if self.copies else 0


def sharing(
    kernel: KernelIR,
    loop: For,
    plans: Mapping[MemoryKey, Plan],
    outside: Mapping[Var, object],
    strides: Strides,
    nests: Nests,
) -> Sharing | str:
    """How threads share `loop`; or why one thread runs it."""
    reduced = [k for k, p in plans.items() if p.kind == "reduce"]
    found = partials.find(kernel, loop, reduced, outside)
    if found is None:
        return "a value that its iterations share is not a sum"
    if len(found) > MOST_SUMS:
        return f"it has {len(found)} sums; threads share at most {MOST_SUMS}"
    if any(isinstance(s, Probe) for s in statements(loop.body)):
        return "it is watched"
    atomic = frozenset(k for k, p in plans.items() if p.kind in ("window", "private", "atomic"))
    if nests.deterministic and any(map(depends_on_order, _accumulations(loop, atomic))):
        return "threads would add to shared elements in any order, and results are to be deterministic"
    nest = nests.of(loop, reduced, atomic)
    block = min(max(_BLOCK // max(1, cost(nest.body)), 4), 4096)
    shared = atomic | nest.atomic
    rotated = rotated_loops(nest.body, shared, nests.reductions, kernel.exact or nests.deterministic)
    return Sharing(nest, found, shared, copies.find(kernel, loop, plans, strides), block, rotated)


def _accumulations(loop: For, memories: frozenset[MemoryKey]) -> list[Accumulate]:
    return [s for s in statements(loop.body) if isinstance(s, Accumulate) and s.memory.key in memories]
