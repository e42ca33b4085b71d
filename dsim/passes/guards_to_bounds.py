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

from dsim.analysis.guards import Fact, Guards, compares
from dsim.analysis.intervals import Intervals
from dsim.ir.build import FALSE, TRUE
from dsim.ir.nodes import Block, For, If, KernelIR, Let, Load, Statement
from dsim.ir.walk import statements, with_blocks
from dsim.passes.renaming import Renaming


def guards_to_bounds(kernel: KernelIR) -> KernelIR:
    """`kernel` with loops shortened to the iterations that have an effect; `kernel` itself if all have."""
    if not any(map(compares, statements(kernel.body))):
        return kernel
    shortener = _Shortener(kernel)
    body = shortener.block(kernel.body)
    return replace(kernel, body=body) if shortener.changed else kernel


class _Shortener:
    def __init__(self, kernel: KernelIR) -> None:
        self.guards = Guards(kernel)
        self.intervals = Intervals()  # in the iterations that stay
        self.names = Renaming()
        self.changed = False

    def block(self, b: Block) -> Block:
        kept = [made for s in b.statements if (made := self.statement(self.names.statement(s))) is not None]
        return Block(tuple(kept), self.names.atoms(b.yields))

    def statement(self, s: Statement) -> Statement | None:
        """`s` after the pass; None for a comparison that is known."""
        if isinstance(s, Let):
            holds = self.intervals.holds(s)
            if holds is not None:
                self.names.put(s.var, TRUE if holds else FALSE)
                self.changed = True
                return None
            self.intervals.note(s)
        elif isinstance(s, For):
            s = self.shortened(s)
            self.intervals.enter(s)
        return with_blocks(s, self.block)

    def shortened(self, s: For) -> For:
        """`s` without the iterations at its ends that have no effect."""
        facts = None if s.carried else self.needed(s.body)
        after = self.guards.shortened(s, facts) if facts else s
        self.changed |= after is not s
        return after

    def needed(self, b: Block) -> frozenset[Fact] | None:
        """What is so whenever `b` has an effect; None if it never has one."""
        return _common(map(self.needed_by, b.statements))

    def needed_by(self, s: Statement) -> frozenset[Fact] | None:
        if isinstance(s, Let) or (isinstance(s, Load) and self.guards.intervals.inside(s.memory, s.index)):
            return None
        if isinstance(s, For):
            return self.needed(s.body)
        if not isinstance(s, If):
            return frozenset()
        sides = [
            (self.needed(b), self.guards.facts(s.cond, truth))
            for b, truth in ((s.then, True), (s.orelse, False))
        ]
        return _common(None if inside is None else inside | facts for inside, facts in sides)


def _common(found: Iterable[frozenset[Fact] | None]) -> frozenset[Fact] | None:
    """What all of the sets have; None if there is none."""
    common: frozenset[Fact] | None = None
    for facts in found:
        if facts is not None:
            common = facts if common is None else common & facts
    return common
