"""How a parallel loop writes its memories on a device: the analysis's plans, made concrete for grids.

Elements that iterations may share are accumulated to by atomics; sums that the loop only adds to are kept by
each thread. A loop for which that is not possible, or not allowed, runs on one thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dsim.analysis.write_plans import Plan
from dsim.backends.llvm import partials
from dsim.backends.llvm.cost import cost
from dsim.backends.llvm.partials import PartialSum
from dsim.ir.nodes import Accumulate, For, Kernel, MemoryKey, Probe, Var
from dsim.ir.walk import statements

# Sums of one loop: those of 128 threads fill the 48 KiB of shared memory that a block has on all devices.
MOST_SUMS = 48
_BLOCK = 1 << 15  # simple instructions of a thread after which its sums are widened


class Sharing(NamedTuple):
    """How the threads of a grid share the writes of a loop.

    Attributes
    ----------
    sums : list of PartialSum
        What each thread keeps, and is added up after the loop.
    atomic : frozenset
        The memories that are accumulated to by atomics.
    block : int
        After how many iterations of a thread its sums are widened.
    """

    sums: list[PartialSum]
    atomic: frozenset[MemoryKey]
    block: int


def sharing(
    kernel: Kernel,
    loop: For,
    plans: Mapping[MemoryKey, Plan],
    outside: Mapping[Var, object],
    deterministic: bool,
) -> Sharing | str:
    """How threads share `loop`; or why one thread runs it."""
    found = partials.find(kernel, loop, [k for k, p in plans.items() if p.kind == "reduce"], outside)
    if found is None:
        return "a value that its iterations share is not a sum"
    if len(found) > MOST_SUMS:
        return f"it has {len(found)} sums; threads share at most {MOST_SUMS}"
    if any(isinstance(s, Probe) for s in statements(loop.body)):
        return "it is watched"
    atomic = frozenset(k for k, p in plans.items() if p.kind in ("window", "private", "atomic"))
    if deterministic and any(map(_depends_on_order, _accumulations(loop, atomic))):
        return "threads would add to shared elements in any order, and results are to be deterministic"
    return Sharing(found, atomic, min(max(_BLOCK // max(1, cost(loop.body)), 4), 4096))


def _accumulations(loop: For, memories: frozenset[MemoryKey]) -> list[Accumulate]:
    return [s for s in statements(loop.body) if isinstance(s, Accumulate) and s.memory.key in memories]


def _depends_on_order(s: Accumulate) -> bool:
    """Whether what `s` leaves, or gives, depends on the order of the threads."""
    return s.old is not None or (s.memory.type.is_float and s.op in ("add", "mul"))
