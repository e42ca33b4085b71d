"""Flow dependences of a kernel: which of its reads may read what which of its own writes wrote.

`access_rules` finds the antidependences: which writes overwrite what was read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from dsim.analysis.dependence.dependence_test import DependenceTest, apart, common
from dsim.analysis.effects import Access, Effects, effects, is_write
from dsim.analysis.symbols import Loop
from dsim.ir.nodes import For, KernelIR


class FlowDependence(NamedTuple):
    """A flow dependence: a read that may read what a write wrote.

    Attributes
    ----------
    read, write : Access
        The two accesses; an accumulation also reads the element that it updates.
    direct : bool
        Whether the dependence is possible in the same trip of all loops around both.
    loops : tuple of Loop
        The loops that may carry the dependence: the read is in a later trip than the write.
    """

    read: Access
    write: Access
    direct: bool
    loops: tuple[Loop, ...]


def flow_dependences(
    kernel: KernelIR, needed: Collection[int], facts: Effects | None = None
) -> tuple[FlowDependence, ...]:
    """The flow dependences of the reads and accumulations of `kernel` whose sites are `needed`.

    A parallel loop carries none, unless its iterations accumulate to one element and use the value before.
    """
    facts = facts if facts is not None else effects(kernel)
    dependence = DependenceTest(facts)
    found: list[FlowDependence] = []
    for accesses in facts.by_memory.values():
        if any(a.site in needed for a in accesses) and any(map(is_write, accesses)):
            for group in apart(accesses):
                found += _among(dependence, group, needed)
    found.sort(key=lambda f: (f.read.position, f.write.position))
    return tuple(found)


def _among(
    dependence: DependenceTest, accesses: list[Access], needed: Collection[int]
) -> Iterator[FlowDependence]:
    writes = [a for a in accesses if is_write(a)]
    for r in accesses:
        if r.site in needed and r.kind != "store":
            for w in writes:
                direct = w.position < r.position and dependence.same_trip(w, r)
                loops = tuple(_through(dependence, w, r))
                if direct or loops:
                    yield FlowDependence(r, w, direct, loops)


def _through(dependence: DependenceTest, w: Access, r: Access) -> Iterator[Loop]:
    """The loops that may carry the dependence of `r` on `w`."""
    for level in range(common(r, w)):
        loop = r.loops[level]
        if isinstance(loop.statement, For) and loop.statement.parallel:
            both = r.kind == w.kind == "accumulate"
            if both and dependence.other_trip(w, r, level):
                yield loop
        elif dependence.later_trip(w, r, level):
            yield loop
