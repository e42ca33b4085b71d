"""How a parallel task writes its memories: the analysis's plans, made concrete for this backend.

A task that would need atomics is better run by one thread if there are few, and so is one whose
results must not depend on the order of atomics; those get no `Schedule`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from dsim.analysis.affine import Affine
from dsim.analysis.write_plans import Plan
from dsim.backends.llvm import partials
from dsim.backends.llvm.cost import cost, known_trips
from dsim.backends.llvm.partials import PartialSum
from dsim.backends.llvm.places import dense_strides
from dsim.ir.nodes import Accumulate, For, KernelIR, Load, Memory, MemoryKey, Store, Var
from dsim.ir.walk import statements
from dsim.records import record

GRAIN_BITS = 14
GRAIN = 1 << GRAIN_BITS  # simple instructions that a chunk is worth
MOST_CHUNKS = 64
_LONG = 1 << 24  # simple instructions: some milliseconds
_PRIVATE_CHUNKS = 16
_PRIVATE_ELEMENTS = 4  # simple instructions that zeroing and adding up one element cost
_ATOMIC_THREADS = 8  # threads from which atomics pay
_BLOCK = 1 << 15  # simple instructions after which sums are widened


class PrivateCopy(NamedTuple):
    """A part of a memory of which each chunk has its own copy: `span` elements from `low` on.

    `low` counts elements from the memory's first; `also_used` says that the task loads or stores
    other parts of the memory.
    """

    memory: Memory
    low: Affine
    span: int
    also_used: bool


@record
class Schedule:
    """How the iterations of a parallel task are split and what is done after them.

    Attributes
    ----------
    cost : int
        Simple instructions of an iteration.
    grain, chunks : int
        Simple instructions of a chunk, at least, and how many chunks there are at most.
    held : int
        Iterations at each chunk's end that wait until all chunks have run (see `Plan`'s "window").
    block : int
        After how many iterations sums are widened.
    """

    cost: int
    grain: int
    chunks: int
    held: int
    block: int
    partials: list[PartialSum]
    private: list[PrivateCopy]
    atomic: frozenset[MemoryKey] = field(default_factory=frozenset)


def schedule(
    kernel: KernelIR,
    loop: For,
    plans: Mapping[MemoryKey, Plan],
    outside: Mapping[Var, object],
    strides: Mapping[MemoryKey, tuple[int, ...]],
    threads: int,
) -> Schedule | None:
    """How to run `loop` on several threads, or None when one is faster."""
    found = partials.find(kernel, loop, [k for k, p in plans.items() if p.kind == "reduce"], outside)
    if found is None:
        return None
    memories = {m.key: m for m in kernel.memories}
    private, atomic = [], set()
    for key, plan in plans.items():
        copy = _private(loop, memories.get(key), plan, strides.get(key)) if plan.kind == "private" else None
        if copy is not None:
            private.append(copy)
        elif plan.kind in ("private", "atomic"):
            atomic.add(key)
    if atomic and threads < _ATOMIC_THREADS:
        return None
    held = max((p.hi - p.lo for p in plans.values() if p.kind == "window"), default=0)
    weight = max(1, cost(loop.body))
    elements = sum(c.span for c in private)
    return Schedule(
        cost=weight,
        grain=max(GRAIN, _PRIVATE_ELEMENTS * elements),
        chunks=_most_chunks(loop, weight, threads, bool(private)),
        held=held,
        block=min(max(_BLOCK // weight, 4), 4096),
        partials=found,
        private=private,
        atomic=frozenset(atomic),
    )


def _most_chunks(loop: For, weight: int, threads: int, private: bool) -> int:
    """The most chunks: few per thread where their number may follow from that of threads (not 1).

    In long loops there are many, so that threads end together, unless chunks have private copies.
    """
    many = _PRIVATE_CHUNKS if private else MOST_CHUNKS
    trips = known_trips(loop)
    if threads == 1 or not (private or (trips is not None and trips * weight < _LONG)):
        return many
    return min(many, 1 << ((2 if private else 4) * threads - 1).bit_length())


def _private(loop: For, m: Memory | None, plan: Plan, strides: tuple[int, ...] | None) -> PrivateCopy | None:
    if m is None or plan.op != "add":
        return None
    shape = tuple(n for n in m.shape if n is not None)
    if strides is None:
        strides = tuple(int(s) for s in dense_strides(shape) or ())
    if any(s < 0 for s in strides):
        return None
    low, span = Affine(), 1
    for (lower, upper), stride in zip(plan.box, strides, strict=True):
        low = low + lower * stride
        span += max((upper - lower).constant - 1, 0) * stride
    used = any(
        s.memory.key == m.key and (isinstance(s, Load | Store) or s.op != "add")
        for s in statements(loop.body)
        if isinstance(s, Load | Store | Accumulate)
    )
    return PrivateCopy(m, low, span, used)


def chunk_count(trips: int, s: Schedule) -> int:
    """Into how many chunks a loop of `trips` iterations is split: a power of two."""
    most = min(trips * s.cost // s.grain, s.chunks, trips // (2 * s.held) if s.held else trips)
    return 1 << (most.bit_length() - 1) if most > 0 else 1
