"""Which writes of a kernel feed which of its reads: the reads that may see what the kernel itself wrote.

`access_rules` asks the opposite question: which writes destroy what was read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dsim.analysis.dependence_test import DependenceTest, apart, common
from dsim.analysis.effects import Access, Effects, effects, is_write
from dsim.analysis.symbols import Loop
from dsim.ir.nodes import For, Kernel


@dataclass(frozen=True, slots=True)
class FlowDependence:
    """A read that may see what a write has left.

    Attributes
    ----------
    read, write : Access
        The two; an accumulation reads what it adds to.
    direct : bool
        Whether it may do so in the same trip of all loops around both.
    loops : tuple of Loop
        The loops in a later trip of which it may do so.
    """

    read: Access
    write: Access
    direct: bool
    loops: tuple[Loop, ...]


def flow_dependences(
    kernel: Kernel, needed: Collection[int], facts: Effects | None = None
) -> tuple[FlowDependence, ...]:
    """What feeds the accesses of `kernel` whose sites are `needed`, but for plain stores, which read nothing.

    Iterations of a parallel loop see nothing of one another, unless they accumulate to one element and
    use what was there before.
    """
    facts = facts if facts is not None else effects(kernel)
    meetings = DependenceTest(facts)
    found: list[FlowDependence] = []
    for accesses in facts.by_memory.values():
        if any(a.site in needed for a in accesses) and any(map(is_write, accesses)):
            for group in apart(accesses):
                found += _among(meetings, group, needed)
    found.sort(key=lambda f: (f.read.position, f.write.position))
    return tuple(found)


def _among(
    meetings: DependenceTest, accesses: list[Access], needed: Collection[int]
) -> Iterator[FlowDependence]:
    writes = [a for a in accesses if is_write(a)]
    for r in accesses:
        if r.site in needed and r.kind != "store":
            for w in writes:
                direct = w.position < r.position and meetings.same_trip(w, r)
                loops = tuple(_through(meetings, w, r))
                if direct or loops:
                    yield FlowDependence(r, w, direct, loops)


def _through(meetings: DependenceTest, w: Access, r: Access) -> Iterator[Loop]:
    """The loops in another trip of which `r` may see what `w` left."""
    for level in range(common(r, w)):
        loop = r.loops[level]
        if isinstance(loop.statement, For) and loop.statement.parallel:
            both = r.kind == w.kind == "accumulate"
            if both and meetings.other_trip(w, r, level):
                yield loop
        elif meetings.later_trip(w, r, level):
            yield loop
