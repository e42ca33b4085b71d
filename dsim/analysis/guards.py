"""What a branch says of the indices of the loops around it: ``if 0 < i and i + 1 < n``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dsim.analysis.intervals import Intervals
from dsim.ir.build import const
from dsim.ir.nodes import Atom, Const, For, KernelIR, Let, Statement, Var
from dsim.ir.operators import COMPARISONS, MIRRORED, NEGATED
from dsim.ir.ranges import known_trips
from dsim.ir.types import u1
from dsim.ir.walk import statements

Fact = tuple[Let, bool]  # a comparison of integers, and whether it holds
_Condition = tuple[str, int]  # an operation, and the number that an index is compared with


def compares(s: Statement) -> bool:
    """Whether `s` compares integers."""
    return isinstance(s, Let) and s.op in COMPARISONS and s.args[0].type.is_integer


class Guards:
    """The conditions of a kernel's branches.

    Attributes
    ----------
    intervals : Intervals
        The intervals of its integers, in all iterations of all loops.
    """

    def __init__(self, kernel: KernelIR) -> None:
        self._made: dict[str, Let] = {}
        self.intervals = Intervals()
        for s in statements(kernel.body):
            if isinstance(s, For):
                self.intervals.enter(s)
            elif isinstance(s, Let):
                self._made[s.var.name] = s
                self.intervals.note(s)

    def facts(self, cond: Atom, truth: bool) -> frozenset[Fact]:
        """The comparisons that are decided where `cond` is `truth`."""
        found: set[Fact] = set()
        ahead = [(cond, truth)]
        while ahead:
            a, value = ahead.pop()
            s = self._made.get(a.name) if isinstance(a, Var) else None
            if s is None or s.var.type != u1:
                continue
            if s.op == ("band" if value else "bor"):
                ahead += [(b, value) for b in s.args]
            elif s.op == "bnot":
                ahead.append((s.args[0], not value))
            elif compares(s):
                found.add((s, value))
        return frozenset(found)

    def shortened(self, s: For, facts: Iterable[Fact]) -> For:
        """`s` without the iterations at its ends in which one of `facts` is not so."""
        if s.step != 1 or not known_trips(s):
            return s
        assert isinstance(s.start, Const)
        assert isinstance(s.stop, Const)
        first, last = int(s.start.value), int(s.stop.value) - 1
        conditions = [self._condition(fact, s.index) for fact in facts]
        start, stop = _range(first, last, [c for c in conditions if c is not None])
        if (start, stop) == (first, last + 1):
            return s
        return replace(s, start=const(start, s.start.type), stop=const(stop, s.stop.type))

    def _condition(self, fact: Fact, index: Var) -> _Condition | None:
        """A fact as a comparison of `index` with a number; None where it is something else."""
        s, truth = fact
        op = s.op if truth else NEGATED[s.op]
        a, b = s.args
        if isinstance(a, Const):
            a, b, op = b, a, MIRRORED[op]
        here, there = self.intervals.of(a), self.intervals.of(index)
        if not isinstance(b, Const) or here is None or there is None or not self._is_shifted(a, index):
            return None
        return op, int(b.value) - (here[0] - there[0])

    def _is_shifted(self, a: Atom, index: Var) -> bool:
        """Whether `a` is `index` and a number."""
        if a == index:
            return True
        s = self._made.get(a.name) if isinstance(a, Var) else None
        if s is None or self.intervals.of(a) is None:  # it may overflow
            return False
        numbers = [isinstance(b, Const) for b in s.args]
        if s.op == "cast" or (s.op in ("add", "sub") and numbers == [False, True]):
            return self._is_shifted(s.args[0], index)
        return s.op == "add" and numbers == [True, False] and self._is_shifted(s.args[1], index)


def _range(first: int, last: int, conditions: Iterable[_Condition]) -> tuple[int, int]:
    """Start and stop of the indices from `first` to `last`, but those at the ends that break a condition."""
    without: set[int] = set()
    for op, number in conditions:
        if op in ("lt", "le", "eq"):
            last = min(last, number - (op == "lt"))
        if op in ("gt", "ge", "eq"):
            first = max(first, number + (op == "gt"))
        if op == "ne":
            without.add(number)
    while first <= last and first in without:
        first += 1
    while first <= last and last in without:
        last -= 1
    return (first, last + 1) if first <= last else (0, 0)
