"""Loop coalescing: the iterations of nested parallel loops are shared among threads as those of one loop.

``for i: for j:`` of 256 trips each would keep 256 threads busy; as one loop it has 65,536 iterations, and
neighbouring threads have neighbouring `j`. That the loops are parallel is the analysis's proof, level by
level. What the outer loop's body computes before the inner loop, each iteration computes again: it only
reads, and costs little. Sums that the inner loop carries, and the outer one adds up, a thread carries over
all of its iterations. Wherever a body does anything else beside its inner loop, that loop stays one of a
thread.

The reference is C. Polychronopoulos, "Loop coalescing", ICPP 1987. This decides; `tasks.py` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from dsim.analysis.effects import Effects
from dsim.analysis.reductions import Reductions
from dsim.analysis.write_plans import write_plan
from dsim.backends.llvm.cost import cost, known_trips
from dsim.backends.llvm.partials import PartialSum
from dsim.backends.llvm.text import constant
from dsim.ir.nodes import (
    Accumulate,
    AccumulateOp,
    Atom,
    Block,
    Const,
    For,
    Let,
    Load,
    MemoryKey,
    Statement,
    Var,
)
from dsim.ir.walk import operands, statements, written

_LENGTHS = frozenset(("add", "sub", "mul", "neg", "min", "max"))
LIGHT = 16  # simple instructions that each iteration may repeat, however few its own are


class LoopNest(NamedTuple):
    """Loops of which threads share the iterations.

    Attributes
    ----------
    loops : tuple of For
        The outermost first.
    first : tuple of Let
        What ranges of inner loops are computed from: the same in all iterations.
    body : Block
        What one iteration does: the innermost body, behind what else stands before inner loops.
    identities : tuple of tuple of str
        For each loop, what the sums that it carries begin with.
    behind : tuple of tuple of Statement
        For each loop but the innermost, what is done with the sums of the loop inside it.
    atomic : frozenset
        The memories that threads share since they share inner loops.
    """

    loops: tuple[For, ...]
    first: tuple[Let, ...]
    body: Block
    identities: tuple[tuple[str, ...], ...]
    behind: tuple[tuple[Statement, ...], ...]
    atomic: frozenset[MemoryKey]

    def levels(self) -> Iterator[tuple[For, tuple[str, ...], tuple[Statement, ...], For]]:
        """From the innermost outwards: a loop, its `identities` and `behind`, and the loop in it."""
        inner = self.loops[1:]
        yield from reversed(list(zip(self.loops, self.identities, self.behind, inner, strict=False)))


class Nests:
    """Finds the nests of one kernel.

    Parameters
    ----------
    facts : Effects
        The effects of the kernel.
    outside : collection of Var
        The values that are known outside of all loops.
    unchecked : callable
        Whether an access's site needs no check.
    deterministic : bool
        Whether no result may depend on the order of threads.
    """

    def __init__(
        self,
        facts: Effects,
        outside: Collection[Var],
        unchecked: Callable[[int], bool],
        deterministic: bool,
    ) -> None:
        self.facts = facts
        self.outside = outside
        self.unchecked = unchecked
        self.deterministic = deterministic
        self.reductions = Reductions(facts.kernel)

    def of(self, loop: For, reduced: Collection[MemoryKey], atomic: Collection[MemoryKey]) -> LoopNest:
        """The nest of the parallel `loop`: as many loops as can be.

        Parameters
        ----------
        loop : For
            It carries sums at most.
        reduced, atomic : collection of MemoryKey
            The memories to elements of which all iterations add, and those that they share otherwise.
        """
        loops, first, before, shared = [loop], list[Let](), list[Statement](), set(atomic)
        behind: list[tuple[Statement, ...]] = []
        writes = {m.key for m in map(written, statements(loop.body)) if m is not None}
        while True:
            level = _Level.of(loops[-1], {*self.outside, *(s.var for s in first)})
            if level is None or not self._even(level, writes, before):
                break
            more = self._shared(level.inner, {*reduced, *shared})
            if more is None or not self._adds_up(level, reduced):
                break
            loops.append(level.inner)
            first += level.first
            before += level.before
            behind.append(level.behind)
            shared |= more
        body = loops[-1].body
        whole = Block((*before, *body.statements), body.yields)
        identities = tuple(tuple(self._identity(s, v) for v in s.carried) for s in loops)
        return LoopNest(
            tuple(loops), tuple(first), whole, identities, tuple(behind), frozenset(shared.difference(atomic))
        )

    # the loop inside ----------------------------------------------------------------------------

    def _even(self, level: _Level, writes: Collection[MemoryKey], before: list[Statement]) -> bool:
        """Whether the inner loop is parallel, too, and what is before it may be repeated."""
        inner = level.inner
        if not inner.parallel or inner.goes_on is not None:
            return False
        if not all(self._repeatable(s, level, writes) for s in level.before):
            return False
        repeated = cost(Block((*before, *level.before)))
        return repeated <= max(LIGHT, cost(inner.body) // 2)

    def _repeatable(self, s: Statement, level: _Level, writes: Collection[MemoryKey]) -> bool:
        """Whether `s` gives the same in each iteration of the inner loop, and reports nothing."""
        if any(a in level.outer.carried for a in operands(s)):
            return False
        if isinstance(s, Let):
            return True
        if not isinstance(s, Load) or s.memory.key in writes:
            return False
        # If the loop inside has no trips, an index that is out of bounds would not be seen any more.
        return self._surely_inside(s) or bool(known_trips(level.inner))

    def _surely_inside(self, s: Load | Accumulate) -> bool:
        return not s.index or self.unchecked(s.site)

    def _shared(self, inner: For, known: Collection[MemoryKey]) -> set[MemoryKey] | None:
        """The memories that the trips of `inner` share and no loop around does; None if that is no gain.

        A sum that a thread can keep in a register is better than additions of many threads to one element.
        """
        plans = write_plan(self.facts.kernel, inner, self.facts)
        new = {key for key, plan in plans.items() if plan.kind != "plain" and key not in known}
        if any(plans[key].kind == "reduce" for key in new):
            return None
        added = [s for s in statements(inner.body) if isinstance(s, Accumulate) and s.memory.key in new]
        return None if any(map(self._ordered, added)) else new

    def _ordered(self, s: Accumulate) -> bool:
        """Whether it would matter in which order threads do `s`."""
        return s.old is not None or (self.deterministic and depends_on_order(s))

    # sums ---------------------------------------------------------------------------------------

    def _op(self, loop: For, carried: Var) -> AccumulateOp | None:
        return self.reductions.of(loop)[carried]

    def _identity(self, loop: For, carried: Var) -> str:
        op = self._op(loop, carried)
        assert op is not None, "a carried value of a parallel loop is a sum"
        return PartialSum(op, carried.type).identity

    def _adds_up(self, level: _Level, reduced: Collection[MemoryKey]) -> bool:
        """Whether the sums of the inner loop are only added to those of the outer one, or to `reduced`."""
        outer, inner = level.outer, level.inner
        sums: dict[Var, AccumulateOp] = {}  # what the inner loop gives, from the identity on
        passed: dict[Var, Atom] = {}  # what it gives, from a sum of the outer loop on
        for v, init, result in zip(inner.carried, inner.init, inner.results, strict=True):
            op = self._op(inner, v)
            if op is None:
                return False
            if isinstance(init, Const) and constant(init) == PartialSum(op, v.type).identity:
                sums[result] = op
            elif init in outer.carried:
                passed[result] = init
            else:
                return False
        for s in level.behind:
            if not self._joined(s, level, sums, reduced):
                return False
            if isinstance(s, Let):
                passed[s.var] = next(a for a in s.args if a in outer.carried)
        return all(
            isinstance(y, Var) and passed.get(y) == c
            for c, y in zip(outer.carried, outer.body.yields, strict=True)
        )

    def _joined(
        self, s: Statement, level: _Level, sums: dict[Var, AccumulateOp], reduced: Collection[MemoryKey]
    ) -> bool:
        """Whether `s` adds one of `sums` to a sum that the outer loop carries, or to one in memory."""
        if isinstance(s, Accumulate):
            kept = s.memory.key in reduced and s.old is None and self._surely_inside(s)
            return kept and isinstance(s.value, Var) and sums.get(s.value) == s.op
        if not isinstance(s, Let) or len(s.args) != 2:
            return False
        for carried, total in (s.args, s.args[::-1]):
            if isinstance(carried, Var) and carried in level.outer.carried and isinstance(total, Var):
                return sums.get(total) == s.op == self._op(level.outer, carried)
        return False


def depends_on_order(s: Accumulate) -> bool:
    """Whether what `s` leaves, or gives, depends on the order of the threads."""
    return s.old is not None or (s.memory.type.is_float and s.op in ("add", "mul"))


class _Level(NamedTuple):
    """A loop, the one loop in it, and what stands before and behind that; `first` is as in `LoopNest`."""

    outer: For
    inner: For
    first: tuple[Let, ...]
    before: tuple[Statement, ...]
    behind: tuple[Statement, ...]

    @staticmethod
    def of(loop: For, known: set[Var]) -> _Level | None:
        """The level of `loop`, around which `known` is; None if it has not one loop, of one range, in it."""
        body = loop.body.statements
        found = [(i, s) for i, s in enumerate(body) if isinstance(s, For)]
        if len(found) != 1:
            return None
        ((at, inner),) = found
        first: list[Let] = []
        for s in body[:at]:
            if isinstance(s, Let) and s.op in _LENGTHS and s.var.type.is_integer and _made_of(s.args, known):
                first.append(s)
                known = {*known, s.var}
        if not _made_of((inner.start, inner.stop), known):
            return None
        before = tuple(s for s in body[:at] if s not in first)
        return _Level(loop, inner, tuple(first), before, body[at + 1 :])


def _made_of(atoms: tuple[Atom, ...], known: Collection[Var]) -> bool:
    return all(isinstance(a, Const) or a in known for a in atoms)
