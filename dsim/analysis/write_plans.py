"""How a parallel loop may write each memory without a lost update: which iterations may share which elements.

A plan is a fact about the program; the backend chooses the implementation. Each kind permits every
implementation that the kinds after it permit: plain, reduce, window, private, atomic.
"""

from __future__ import annotations

from math import prod
from typing import Literal, NamedTuple

from dsim.analysis.affine import ZERO, Affine
from dsim.analysis.dependence.dependence_test import DependenceTest, apart
from dsim.analysis.effects import Access, Effects, effects, is_write
from dsim.analysis.interval_hull import Box, Hulls
from dsim.analysis.symbols import Loop
from dsim.ir.nodes import Accumulate, For, KernelIR, MemoryKey

PRIVATE_BYTES = 256 * 1024  # the most that a thread's private copy of a target may have
WIDEST_WINDOW = 16

PlanKind = Literal["plain", "reduce", "window", "private", "atomic"]


class Plan(NamedTuple):
    """How the iterations of one loop write one memory.

    Attributes
    ----------
    kind : str
        "plain": no two iterations write one element.
        "reduce": the elements that iterations may share are `elements`, the same in all iterations.
        "window": two iterations may share an element only if their indices differ by at most
        ``hi - lo``: accumulations go to ``base + index + o`` on axis `axis`, ``lo <= o <= hi``.
        "private": all accumulations go into `box`, of less than `PRIVATE_BYTES`.
        "atomic": any two iterations may share any element.
        With "reduce" and "private", nothing in the loop reads the accumulated values, so they may be
        summed in other storage and added to the memory after the loop.
    op : str
        The operation of the accumulations; empty if the memory is only stored to.
    elements : tuple of index vectors
        For "reduce"; in the kernel's parameters and the indices of the loops around.
    axis, base, lo, hi
        For "window".
    box : tuple of (Affine, Affine)
        For "private", per axis from and to (exclusive), in the kernel's parameters and the indices of
        the loops around; the difference of the two is a constant. The box may extend beyond the
        memory's shape.
    """

    kind: PlanKind
    op: str = ""
    elements: tuple[tuple[Affine, ...], ...] = ()
    axis: int = 0
    base: Affine = ZERO
    lo: int = 0
    hi: int = 0
    box: Box = ()


def write_plan(kernel: KernelIR, loop: For, facts: Effects | None = None) -> dict[MemoryKey, Plan]:
    """A plan for each memory that the parallel `loop` of `kernel` writes and that outlives it."""
    return _Planner(facts if facts is not None else effects(kernel), loop).plans()


class _Planner:
    def __init__(self, facts: Effects, loop: For) -> None:
        self.facts = facts
        self.loop: Loop = facts.loop(loop)
        self.dependence = DependenceTest(facts)
        around: set[str] = {p.name for p in facts.kernel.params}
        outer = self.loop.parent
        while outer is not None:
            if outer.index is not None:
                around.add(outer.index.name)
            outer = outer.parent
        self.hulls = Hulls(facts, around)

    def plans(self) -> dict[MemoryKey, Plan]:
        inside: dict[MemoryKey, list[Access]] = {}
        for a in self.facts.inside(self.loop):
            inside.setdefault(a.memory.key, []).append(a)
        return {
            key: self._plan(accesses)
            for key, accesses in inside.items()
            if any(map(is_write, accesses)) and not self._own(key)
        }

    def _own(self, key: MemoryKey) -> bool:
        """Whether each iteration allocates its own memory of this key."""
        home = self.facts.allocated.get(key)
        return home is not None and home.depth >= self.loop.depth

    def _plan(self, accesses: list[Access]) -> Plan:
        writes = list({(a.form, a.kind, a.op, _old(a)): a for a in accesses if is_write(a)}.values())
        ops = {a.op for a in writes if a.op}
        op = next(iter(ops)) if len(ops) == 1 else ""
        shared = [a for group in apart(writes) for a in self._shared(group)]
        if not shared:
            return Plan("plain", op)
        plan: Plan | None = None
        if op and not any(map(_old, shared)):
            plan = self._reduce(shared, op) if self._unobserved(shared, accesses) else None
            plan = plan or self._window(shared, op)
            everything = [a for a in writes if a.op]  # goes to the private copy, also what is not shared
            if plan is None and self._unobserved(everything, accesses):
                plan = self._private(everything, op)
        return plan or Plan("atomic", op)

    def _shared(self, writes: list[Access]) -> list[Access]:
        """The accumulations to elements that another iteration may write too."""
        level = self.loop.depth
        writes = self.dependence.suspects(writes, level)
        found = {a: None for a in writes if a.op and self.dependence.other_trip(a, a, level)}
        for a in writes:
            for b in writes if a not in found else ():
                stores = a.kind == "store" and b.kind == "store"  # independence excludes it
                if not stores and a is not b and self.dependence.other_trip(a, b, level):
                    found.update(dict.fromkeys((a, b)))
                    break
        return list(found)

    def _unobserved(self, accumulations: list[Access], accesses: list[Access]) -> bool:
        """Whether no other access of an iteration touches the elements that are accumulated to."""
        others = {(o.form, o.kind): o for o in accesses if o.kind != "accumulate" or _old(o)}.values()
        if any(a.kind == "store" for a in accumulations):
            return False
        return not any(
            self.dependence.within_trip(a, o, self.loop.depth) for a in accumulations for o in others
        )

    def _reduce(self, shared: list[Access], op: str) -> Plan | None:
        if any(v.name not in self.hulls.free for a in shared for form in a.index for v, _ in form.terms):
            return None
        return Plan("reduce", op, tuple(dict.fromkeys(a.index for a in shared)))

    def _window(self, shared: list[Access], op: str) -> Plan | None:
        index = self.loop.index
        if index is None or self.loop.step != 1:
            return None
        for axis in range(len(shared[0].index)):
            forms = [a.index[axis] for a in shared]
            bases = {form.without(index).terms for form in forms}
            if len(bases) > 1 or any(form.coefficient(index) != 1 for form in forms):
                continue
            base = Affine(next(iter(bases)))
            lo, hi = min(form.constant for form in forms), max(form.constant for form in forms)
            fixed = all(v.name in self.hulls.free for v, _ in base.terms)
            if fixed and hi - lo <= WIDEST_WINDOW:
                return Plan("window", op, axis=axis, base=base, lo=lo, hi=hi)
        return None

    def _private(self, accumulations: list[Access], op: str) -> Plan | None:
        memory = accumulations[0].memory
        if any(n is None for n in memory.shape):
            return None
        box = _around([self.hulls.box(a) for a in accumulations], memory.shape)
        size = prod((upper - lower).constant for lower, upper in box) * memory.type.bits // 8
        return Plan("private", op, box=box) if size < PRIVATE_BYTES else None


def _old(a: Access) -> bool:
    """Whether the value before an accumulation is used."""
    return isinstance(a.statement, Accumulate) and a.statement.old is not None


def _around(boxes: list[Box], shape: tuple[int | None, ...]) -> Box:
    """One box around all, of constant size on every axis; the whole axis where the size would vary."""
    found: list[tuple[Affine, Affine]] = []
    for axis, n in enumerate(shape):
        lowers, uppers = [b[axis][0] for b in boxes], [b[axis][1] for b in boxes]
        kinds = {form.terms for form in (*lowers, *uppers)}
        if len(kinds) == 1:
            lower, upper = min(lowers, key=lambda f: f.constant), max(uppers, key=lambda f: f.constant)
        else:
            lower, upper = ZERO, Affine((), n or 0)
        if lower.is_constant:
            lower, upper = Affine((), max(lower.constant, 0)), Affine((), min(upper.constant, n or 0))
        found.append((lower, upper))
    return tuple(found)
