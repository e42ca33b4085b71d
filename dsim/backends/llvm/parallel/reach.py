"""Which part of a memory each trip of a parallel loop touches, for copies that are fused into it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dsim.analysis.affine import Affine
from dsim.analysis.effects import Access, Effects, is_write
from dsim.backends.llvm.cost import known_trips
from dsim.backends.llvm.kernel import Task, TripReach
from dsim.backends.llvm.parallel.plans import Schedule
from dsim.ir.nodes import Accumulate, Const, For, Load, Memory, MemoryKey, Store, Var
from dsim.ir.walk import blocks


def reach(
    key: MemoryKey,
    tasks: Iterable[Task],
    schedules: Mapping[Var, Schedule],
    facts: Effects,
    strided: Iterable[MemoryKey],
) -> TripReach | None:
    """What a parallel loop touches of the memory `key`, if it can copy it; None if it cannot.

    Nothing else in the kernel touches the memory, each trip touches a part around its own number, and chunks
    that run at the same time write to no part in common.
    """
    touching = [t for t in tasks if key in t.touched]
    memory = next((m for m in facts.kernel.memories if m.key == key), None)
    if len(touching) != 1 or touching[0].kind != "parallel" or memory is None or key in strided:
        return None
    loop = touching[0].loop
    schedule, trips = schedules[loop.index], known_trips(loop)
    if not _fits(loop, schedule, memory) or not trips:
        return None
    uses = [a for a in facts.inside(facts.loop(loop)) if a.memory.key == key]
    distances = _distances(loop, uses)
    if not distances:
        return None
    length = memory.shape[0] or 0
    low, high = min(distances), max(distances)
    beyond = low < 0 or trips + high > length
    little = length - trips > length // 8  # the chunks at the ends would copy the rest alone
    if beyond or little or (any(map(is_write, uses)) and schedule.held < high - low):
        return None
    return TripReach(low, high, trips, low == high == 0 and trips == length and not schedule.held)


def _fits(loop: For, schedule: Schedule, memory: Memory) -> bool:
    """Whether the loop may run in other pieces, and the memory's size is known.

    Sums are rounded as the pieces say: those of blocks, and those that an innermost loop carries from trip
    to trip, as it may where chunks hold back iterations.
    """
    sums = schedule.partials or schedule.private or schedule.atomic
    carries = schedule.held > 0 and not any(map(blocks, loop.body.statements))
    known = bool(memory.shape) and None not in memory.shape and 0 not in memory.shape
    return not sums and not carries and known and loop.step == 1


def _distances(loop: For, uses: Iterable[Access]) -> list[int]:
    """How far behind the number of its trip each access is, on the first axis; none if one is not known."""
    found: list[int] = []
    for a in uses:
        if not isinstance(a.statement, Load | Store | Accumulate) or not isinstance(loop.start, Const):
            return []
        distance = a.index[0] - Affine(((loop.index, 1),))
        if not distance.is_constant:
            return []
        found.append(distance.constant + int(loop.start.value))
    return found
