"""Guards become bounds: ``for i in 0..n: if 0 < i and i < n - 1: …`` runs from 1 to n - 1, without a branch.

The iterations that are left out have no effect, so nothing is asked of the loop but ends that are known. In
those that stay, the comparisons hold, and constant folding removes the branch: then the body is straight
code for vectors, its accesses are in bounds by their indices alone, and an adjoint may carry the sums of
neighbours from one iteration to the next.

Not its job: branches of which both sides do something (`index_set_splitting` has loops to cut).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dsim.analysis.intervals import COMPARISONS, Intervals
from dsim.ir.build import FALSE, TRUE, const
from dsim.ir.nodes import Atom, Block, Const, For, If, KernelIR, Let, Load, Statement, Var
from dsim.ir.ranges import known_trips
from dsim.ir.types import u1
from dsim.ir.walk import statements, with_blocks
from dsim.passes.algebraic_simplification import Definitions, split
from dsim.passes.renaming import Renaming

_EXCHANGED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_NEGATED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}

Fact = tuple[Let, bool]  # a comparison, and whether it holds
Condition = tuple[str, int]  # an operation, and the number that the index is compared with


def guards_to_bounds(kernel: KernelIR) -> KernelIR:
    """`kernel` with loops shortened to the iterations that have an effect; `kernel` itself if all have."""
    if not any(map(_compares, statements(kernel.body))):
        return kernel
    shortener = _Shortener(kernel)
    body = shortener.block(kernel.body)
    return replace(kernel, body=body) if shortener.changed else kernel


def _compares(s: Statement) -> bool:
    return isinstance(s, Let) and s.op in COMPARISONS and s.args[0].type.is_integer


class _Shortener:
    def __init__(self, kernel: KernelIR) -> None:
        self.made: Definitions = {s.var.name: s for s in statements(kernel.body) if isinstance(s, Let)}
        self.before = Intervals()  # in all iterations of the loops as they are given
        for s in statements(kernel.body):
            if isinstance(s, For):
                self.before.enter(s)
            elif isinstance(s, Let):
                self.before.note(s)
        self.after = Intervals()  # in the iterations that stay
        self.names = Renaming()
        self.changed = False

    def block(self, b: Block) -> Block:
        kept = [made for s in b.statements if (made := self.statement(self.names.statement(s))) is not None]
        return Block(tuple(kept), self.names.atoms(b.yields))

    def statement(self, s: Statement) -> Statement | None:
        """`s` after the pass; None for a comparison that is known."""
        if isinstance(s, Let):
            holds = self.after.holds(s)
            if holds is not None:
                self.names.put(s.var, TRUE if holds else FALSE)
                self.changed = True
                return None
            self.after.note(s)
        elif isinstance(s, For):
            s = self.shortened(s)
            self.after.enter(s)
        return with_blocks(s, self.block)

    def shortened(self, s: For) -> For:
        """`s` without the iterations at its ends that have no effect."""
        if s.step != 1 or s.carried or not known_trips(s):
            return s
        assert isinstance(s.start, Const)
        assert isinstance(s.stop, Const)
        first, last = int(s.start.value), int(s.stop.value) - 1
        conditions = [self.condition(fact, s.index) for fact in self.needed(s.body) or ()]
        start, stop = _range(first, last, [c for c in conditions if c is not None])
        if (start, stop) == (first, last + 1):
            return s
        self.changed = True
        return replace(s, start=const(start, s.start.type), stop=const(stop, s.stop.type))

    def needed(self, b: Block) -> set[Fact] | None:
        """What holds whenever `b` has an effect; None if it never has one."""
        return _common(map(self.needed_by, b.statements))

    def needed_by(self, s: Statement) -> set[Fact] | None:
        if isinstance(s, Let) or (isinstance(s, Load) and self.before.inside(s.memory, s.index)):
            return None
        if isinstance(s, For):
            return self.needed(s.body)
        if not isinstance(s, If):
            return set()
        sides = (
            (self.needed(s.then), self.facts(s.cond, True)),
            (self.needed(s.orelse), self.facts(s.cond, False)),
        )
        return _common(None if inside is None else inside | facts for inside, facts in sides)

    def facts(self, cond: Atom, truth: bool) -> set[Fact]:
        """The comparisons that are decided where `cond` is `truth`."""
        found: set[Fact] = set()
        ahead = [(cond, truth)]
        while ahead:
            a, value = ahead.pop()
            s = self.made.get(a.name) if isinstance(a, Var) else None
            if s is None or s.var.type != u1:
                continue
            if s.op == ("band" if value else "bor"):
                ahead += [(b, value) for b in s.args]
            elif s.op == "bnot":
                ahead.append((s.args[0], not value))
            elif _compares(s):
                found.add((s, value))
        return found

    def condition(self, fact: Fact, index: Var) -> Condition | None:
        """A fact as a comparison of `index` with a number; None where it is something else."""
        s, truth = fact
        op = s.op if truth else _NEGATED[s.op]
        a, b = s.args
        if isinstance(a, Const):
            a, b, op = b, a, _EXCHANGED[op]
        if not isinstance(b, Const) or not self.is_shifted(a, index):
            return None
        here, there = self.before.of(a), self.before.of(index)
        return None if here is None or there is None else (op, int(b.value) - (here[0] - there[0]))

    def is_shifted(self, a: Atom, index: Var) -> bool:
        """Whether `a` is `index` and a number. Where its interval is known, the sum does not overflow."""
        base, _ = split(a, self.made)
        s = None if base is None else self.made.get(base.name)
        if s is not None and s.op == "cast":
            return self.before.of(s.var) is not None and self.is_shifted(s.args[0], index)
        return base == index


def _range(first: int, last: int, conditions: Iterable[Condition]) -> tuple[int, int]:
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


def _common(found: Iterable[set[Fact] | None]) -> set[Fact] | None:
    """What all of the sets have; None if there is none."""
    common: set[Fact] | None = None
    for facts in found:
        if facts is not None:
            common = facts if common is None else common & facts
    return common
