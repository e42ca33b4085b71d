"""The access rules: which values that an adjoint reads again may be overwritten by then.

This file considers the writes of one kernel after its own reads; those of later launches are checked by
`regions.py` at each launch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from dsim.analysis.affine import Affine
from dsim.analysis.dependence.dependence_test import DependenceTest, apart, common, exclusive
from dsim.analysis.effects import Access, Effects, effects, is_write
from dsim.analysis.symbols import Loop
from dsim.ir.nodes import Accumulate, For, KernelIR


class Overwrite(NamedTuple):
    """A read whose value is needed, and a write that may change the element after it.

    `certain` if it changes the element in every launch that executes the read.
    """

    read: Access
    write: Access
    certain: bool


def overwritten(
    kernel: KernelIR, needed: Collection[int], facts: Effects | None = None
) -> tuple[Overwrite, ...]:
    """The writes of `kernel` that may follow a needed read of the same element.

    Parameters
    ----------
    kernel : KernelIR
        With its accesses numbered.
    needed : collection of int
        Sites whose value is needed after the kernel: for a load the loaded value; for an accumulation by
        min or max the final value of the element, which later accumulations by the same operation
        invalidate only if a read stands between; for another accumulation the value of the element before.
    facts : Effects, optional
        ``effects(kernel)``, if already computed.

    Returns
    -------
    tuple of Overwrite
        In the order of the reads; for one pair of statements at most one.
    """
    facts = facts if facts is not None else effects(kernel)
    asked = _Question(facts)
    found: list[Overwrite] = []
    for accesses in facts.by_memory.values():
        reads = any(a.site in needed and a.kind != "store" for a in accesses)
        if reads and any(map(is_write, accesses)):
            for group in apart(accesses):
                found += asked.conflicts(group, needed)
    found.sort(key=lambda o: (o.read.position, o.write.position))
    return tuple(found)


def of_values_still_there(found: Collection[Overwrite]) -> list[Overwrite]:
    """Those of `found` by which a value may be lost, for messages.

    Left out are writes that follow, in every execution, another one of `found` that overwrites the same read
    in its own trip. What has to be saved is not decided by this.
    """
    first: dict[int, int] = {}
    for o in found:
        if o.certain and _same_trip(o):
            known = first.get(id(o.read), o.write.position)
            first[id(o.read)] = min(known, o.write.position)
    return [
        o for o in found if _among_parallel(o) or o.write.position <= first.get(id(o.read), o.write.position)
    ]


def _same_trip(o: Overwrite) -> bool:
    """Whether the write has the index of the read and no loop of its own, and stands after it."""
    r, w = o.read, o.write
    return r.index == w.index and common(r, w) == len(w.loops) and _after(r, w)


def _among_parallel(o: Overwrite) -> bool:
    """Whether an iteration of a parallel loop may overwrite what another one read."""
    loops = o.read.loops[: common(o.read, o.write)]
    parallel = any(isinstance(loop.statement, For) and loop.statement.parallel for loop in loops)
    return parallel and o.read.index != o.write.index


def fed(kernel: KernelIR, needed: Collection[int], facts: Effects | None = None) -> tuple[Access, ...]:
    """The needed reads that may read what `kernel` itself wrote before, not the value on entry.

    An accumulation by min or max, which needs the final value, is one of them.

    Parameters
    ----------
    kernel, needed, facts
        As for `overwritten`.
    """
    facts = facts if facts is not None else effects(kernel)
    asked = _Question(facts)
    found: list[Access] = []
    for accesses in facts.by_memory.values():
        if any(a.site in needed for a in accesses) and any(map(is_write, accesses)):
            for group in apart(accesses):
                found += asked.fed(group, needed)
    found.sort(key=lambda a: a.position)
    return tuple(found)


class _Question:
    def __init__(self, facts: Effects) -> None:
        self.dependence = DependenceTest(facts)

    def conflicts(self, accesses: list[Access], needed: Collection[int]) -> Iterable[Overwrite]:
        """The overwrites among `accesses`, all to one memory."""
        writes = [a for a in accesses if is_write(a)]
        readers = [a for a in accesses if _returns_a_value(a)]
        for r in accesses:
            if r.site in needed and r.kind != "store":
                for w in writes:
                    if self._may_follow(r, w) and not self._spares(r, w, readers):
                        yield Overwrite(r, w, self._certain(r, w))

    def _spares(self, r: Access, w: Access, readers: list[Access]) -> bool:
        """Whether `w` preserves the needed value of `r`: both accumulate the same minimum or maximum.

        If one of `readers` reads the element between the two, its adjoint belongs to the extremum until
        then, not to the final one.
        """
        if r.op not in ("min", "max") or w.op != r.op:
            return False
        return not any(self._between(r, reader, w) for reader in readers)

    def _between(self, r: Access, reader: Access, w: Access) -> bool:
        """Whether `reader` may read after `r`, and before `w`, the element that `r` updates."""
        after = self._in_another_trip(r, reader) if reader is r else self._may_follow(r, reader)
        return after and self._may_follow(reader, w)

    def _may_follow(self, r: Access, w: Access) -> bool:
        """Whether `w` may write, after `r`, the element that `r` read."""
        if _after(r, w) and self.dependence.same_trip(r, w):
            return True
        return self._in_another_trip(r, w)

    def _in_another_trip(self, r: Access, w: Access) -> bool:
        """Whether `w` may touch the element of `r` after it, in another trip of a loop around both."""
        for level in range(common(r, w)):
            if self.dependence.later_trip(r, w, level):
                return True
            s = r.loops[level].statement
            any_order = isinstance(s, For) and s.parallel
            if any_order and self.dependence.later_trip(w, r, level):
                return True
        return False

    def fed(self, accesses: list[Access], needed: Collection[int]) -> Iterator[Access]:
        """The needed reads among `accesses`, all to one memory, that may depend on one of the writes."""
        writes = [a for a in accesses if is_write(a)]
        for r in accesses:
            final = r.op in ("min", "max")
            asked = r.site in needed and r.kind != "store"
            if asked and (final or any(self._may_precede(w, r) for w in writes)):
                yield r

    def _may_precede(self, w: Access, r: Access) -> bool:
        """Whether `w` may write, before `r`, the element that `r` reads."""
        if w.position < r.position and self.dependence.same_trip(w, r):
            return True
        for level in range(common(r, w)):
            if self.dependence.later_trip(w, r, level):
                return True
            s = r.loops[level].statement
            any_order = isinstance(s, For) and s.parallel
            if any_order and self.dependence.later_trip(r, w, level):
                return True
        return False

    def _certain(self, r: Access, w: Access) -> bool:
        shared = common(r, w)
        if any(loop.trips is None or loop.trips < 1 for loop in w.loops[shared:]):
            return False
        if any(all(g.condition != h.condition or g.branch != h.branch for h in r.guards) for g in w.guards):
            return False
        if _after(r, w) and self._same_element(r, w, shared):
            return True
        return shared > 0 and not r.guards and not w.guards and self._later_certain(r, w, shared - 1)

    def _same_element(self, r: Access, w: Access, shared: int) -> bool:
        """Whether `w` certainly writes what `r` reads, in the same trip of the loops around both."""
        own = {loop.index.name: loop for loop in w.loops[shared:] if loop.index is not None}
        return all(
            self._equal(x, y, shared) or self._sweeps(x, y, own)
            for x, y in zip(r.index, w.index, strict=True)
        )

    def _equal(self, x: Affine, y: Affine, shared: int) -> bool:
        return x == y and all(self.dependence.level_of(v.name) < shared for v, _ in x.terms)

    def _sweeps(self, x: Affine, y: Affine, own: dict[str, Loop]) -> bool:
        """Whether `y` is a loop index of `own`, used on no other axis, whose range covers every `x`."""
        if len(y.terms) != 1 or y.terms[0][1] != 1:
            return False
        loop = own.pop(y.terms[0][0].name, None)
        if loop is None or loop.start is None or loop.stop is None or abs(loop.step) != 1:
            return False
        low, high = self.dependence.facts.integers.extent(x + -y.constant)
        ends = sorted((loop.start.constant, loop.stop.constant - loop.step))
        return loop.start.is_constant and loop.stop.is_constant and ends[0] <= low and high <= ends[1]

    def _later_certain(self, r: Access, w: Access, level: int) -> bool:
        """Whether `w` certainly writes what `r` read a fixed number of trips of loop `level` before."""
        loop = r.loops[level]
        if loop.index is None or loop.trips is None:
            return False
        away: set[int] = set()
        for x, y in zip(r.index, w.index, strict=True):
            steady = all(
                self.dependence.level_of(v.name) < level or v.name == loop.index.name for v, _ in x.terms
            )
            trips = _trips_between(x - y, y.coefficient(loop.index) * loop.step)
            if not steady or trips is None:
                return False
            away |= trips
        return len(away) <= 1 and all(0 < d < loop.trips for d in away or {1})


def _trips_between(gap: Affine, step: int) -> set[int] | None:
    """The number of trips that changes a form by `gap`; empty if every number fits, None if none is known."""
    if not gap.is_constant or (gap.constant % step if step else gap.constant):
        return None
    return {gap.constant // step} if step else set()


def _after(r: Access, w: Access) -> bool:
    """Whether `w` runs after `r` in one trip; a statement that reads and writes runs after itself."""
    return w.position >= r.position and not exclusive(r, w)


def _returns_a_value(a: Access) -> bool:
    """Whether `a` passes on what stands in the element: a load, or an accumulation with an old value."""
    return a.kind == "load" or (isinstance(a.statement, Accumulate) and a.statement.old is not None)
