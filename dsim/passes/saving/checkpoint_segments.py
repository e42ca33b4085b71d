"""Splits loops with too many residuals into checkpoint segments, so that one segment at a time keeps its own.

A loop that saves the state before each trip (`loop_pairs`) becomes two: over segments, and over the trips of
a segment. It saves the state before each segment, and residuals of trips only for the newest segment. The
backward loop runs over segments too, the last one first: the residuals of the last one are still there, those
of the others are recomputed from the segment's start. So if all trips fit into one segment nothing runs
twice. The length of a segment is computed at run time. A. Griewank, *Optim. Methods Softw.* 1(1), 1992.

The backward loop rolls back writes to memories by undo logs; the recomputation of a segment appends to them
again. Entries that only the trips of one segment needed are compacted when the next one begins, and a segment
ends early when it has appended many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from dsim.ir.build import Builder, Names, const
from dsim.ir.nodes import Alloc, Atom, Block, Const, For, If, KernelIR, MemoryKey, Statement
from dsim.ir.sites import number
from dsim.ir.types import f64, i64
from dsim.ir.walk import blocks, bound_names, statements, with_blocks
from dsim.passes.common_subexpression_elimination import eliminate_common_subexpressions
from dsim.passes.constant_folding import fold_constants
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.saving.loop_pairs import ENTRY, LoopPair, appended_entries, by_trip, loop_pairs
from dsim.passes.saving.segmented_loops import Cut, Lengths


def segment_loops(kernel: KernelIR, budget: int, threads: int = 1) -> KernelIR:
    """`kernel` with loops that save at most about `budget` bytes at a time; itself if none may save more.

    Parameters
    ----------
    kernel : KernelIR
        Simplified; not to be differentiated any more.
    budget : int
        Bytes, for all nested loops and all threads together.
    threads : int
        How many iterations of a parallel loop run at once.
    """
    if not any(by_trip(s) for s in statements(kernel.body)):
        return kernel
    cutter = _Cutter(kernel, max(1, budget // max(1, _depth(kernel.body))))
    body = Block(tuple(cutter.top(s, threads) for s in kernel.body.statements), kernel.body.yields)
    body = cutter.paired(body, cutter.budget)
    if not cutter.changed:
        return kernel
    return number(
        eliminate_dead_code(eliminate_common_subexpressions(fold_constants(replace(kernel, body=body))))
    )


def _depth(block: Block) -> int:
    """The nesting depth of loops that save residuals."""
    own = any(by_trip(s) for s in block.statements)
    inner = (_depth(b) for s in block.statements for b in blocks(s))
    return max(inner, default=0) + own


def _may_exceed(block: Block, p: LoopPair, budget: int) -> bool:
    """Whether the trips of a pair in `block` may save more than `budget` bytes."""
    forward = block.statements[p.forward]
    assert isinstance(forward, For)
    logged = appended_entries(forward.body) if p.logs else 0
    lengths = [n for a in p.areas for n in a.shape[1:]]
    if logged is None or not isinstance(p.most, Const) or not all(isinstance(n, Const) for n in lengths):
        return True
    each = logged * ENTRY
    for a in p.areas:
        each += a.memory.type.numpy.itemsize * prod(int(n.value) for n in a.shape[1:] if isinstance(n, Const))
    return p.most.value * each > budget


class _Cutter:
    def __init__(self, kernel: KernelIR, budget: int) -> None:
        self.b = Builder(Names(bound_names(kernel)))
        self.budget = budget
        self.made: dict[MemoryKey, Alloc] = {
            s.memory.key: s for s in statements(kernel.body) if isinstance(s, Alloc)
        }
        self.changed = False

    # which loops are cut

    def top(self, s: Statement, threads: int) -> Statement:
        at_once = threads if isinstance(s, For) and s.parallel else 1
        return with_blocks(s, lambda b: self.block(b, max(1, self.budget // at_once)))

    def block(self, block: Block, budget: int) -> Block:
        """`block` with all loops in it segmented that may save more than `budget` bytes."""
        inner = tuple(with_blocks(s, lambda b: self.block(b, budget)) for s in block.statements)
        return self.paired(Block(inner, block.yields), budget)

    def paired(self, block: Block, budget: int) -> Block:
        """The same for the loops directly in `block`."""
        taken: set[int] = set()
        chosen: list[LoopPair] = []
        for p in loop_pairs(block, self.made):
            if taken.isdisjoint((p.forward, p.backward)) and _may_exceed(block, p, budget):
                taken.update((p.forward, p.backward))
                chosen.append(p)
        if not chosen:
            return block
        self.changed = True
        return self.cut(block, chosen, budget)

    def bytes(self, p: LoopPair) -> Atom:
        """Appends the number of bytes that a trip saves (an i64)."""
        total: Atom = const(0, i64)
        for a in p.areas:
            size: Atom = const(a.memory.type.numpy.itemsize, i64)
            for n in a.shape[1:]:
                size = self.b.let("mul", size, self.b.let("cast", n, type=i64), hint="bytes")
            total = self.b.let("add", total, size, hint="bytes")
        return total

    def cut(self, block: Block, chosen: Sequence[LoopPair], budget: int) -> Block:
        """`block` with the chosen pairs of its loops segmented."""
        rings = {a.memory.key: n for n, p in enumerate(chosen) for a in p.areas}
        forward = {p.forward: n for n, p in enumerate(chosen)}
        backward = {p.backward: n for n, p in enumerate(chosen)}
        cuts: dict[int, Cut] = {}
        with self.b.block() as out:
            for at, s in enumerate(block.statements):
                with self.b.at(s.origin):
                    if isinstance(s, Alloc) and s.memory.key in rings:
                        n = rings[s.memory.key]
                        if n not in cuts:
                            lengths = self.lengths(chosen[n], budget)
                            cuts[n] = Cut(self.b, chosen[n], block, lengths, budget)
                        shape = (cuts[n].lengths.segment, *s.shape[1:])
                        assert s.saves is not None
                        self.b.add(replace(s, shape=shape, saves=replace(s.saves, by="trip of segment")))
                    elif at in forward:
                        cuts[forward[at]].forward()
                    elif at in backward:
                        cuts[backward[at]].backward()
                    else:
                        self.b.add(s)
        return Block(tuple(out), block.yields)

    def lengths(self, p: LoopPair, budget: int) -> Lengths:
        """The longest length of a segment, the most segments, and how many of them may end early.

        All trips if they fit; else half of those that fit, since starts of segments take space too.
        """
        b, t = self.b, p.most.type
        zero, one = const(0, i64), const(1, i64)
        trips = b.let("cast", p.most, type=i64, hint="trips")
        fits = b.let("floordiv", const(budget, i64), b.let("max", self.bytes(p), one), hint="fits")
        root = self.root(trips) if p.logs else None
        with b.block() as made:
            half = b.let("floordiv", fits, const(2, i64), hint="half")
            many = b.let("max", half, root or self.root(trips), hint="length")
            others = b.let("floordiv", b.let("sub", trips, one), many)
            segments = b.let("add", others, one, hint="segments")
        cut = Block(tuple(made), (many, segments))
        length, segments = b.fresh("length", i64), b.fresh("segments", i64)
        whole = Block((), (b.let("max", trips, one, hint="length"), one))
        b.add(If(b.let("le", trips, fits), whole, cut, (length, segments), b.origin))
        early = zero if root is None else root
        most = b.let("add", segments, early, hint="segments")
        return Lengths(
            b.let("cast", length, type=t, hint="length"),
            b.let("cast", most, type=t, hint="segments"),
            b.let("cast", early, type=t, hint="early"),
        )

    def root(self, trips: Atom) -> Atom:
        """A little more than the square root of `trips`."""
        b = self.b
        exact = b.let("sqrt", b.let("cast", trips, type=f64))
        return b.let("add", b.let("cast", exact, type=i64), const(1, i64), hint="root")
