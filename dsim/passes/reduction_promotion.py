"""Reduction promotion: an inner loop carries a sum into one element and adds it once, after the loop.

``for j: x_bar[i] += g`` becomes ``for j: s = s + g`` and one ``x_bar[i] += s``: no memory and no atomic in
the inner loop. Only the order of rounding changes; an `exact` kernel is left alone.
Conditions: the element is the same in every trip, and every other access to its memory in the loop is an
addition too, or certainly does not alias. Several additions to the element share one sum.

The addition after the loop may run where no trip added. So either the element is certainly in bounds, or the
addition is guarded by a flag that one in the loop has run.

Top-level loops do not change: the backend implements their reductions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple, assert_never

from dsim.analysis.intervals import Intervals
from dsim.ir.build import FALSE, TRUE, Builder, Names, const
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Atom,
    Block,
    Call,
    Compact,
    Const,
    Derive,
    For,
    If,
    KernelIR,
    Let,
    Load,
    LogMark,
    MemoryKey,
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.types import ScalarType, u1
from dsim.ir.walk import binds, bound_names, parameters, with_blocks
from dsim.passes.algebraic_simplification import Definitions
from dsim.passes.elements import Place, apart, place
from dsim.passes.touched_elements import Touches

_Element = tuple[MemoryKey, Place]


def promote_reductions(kernel: KernelIR) -> KernelIR:
    """`kernel` with sums carried by inner loops instead of added to memory in every trip.

    It is `kernel` itself if there is no such sum.
    """
    if kernel.exact:
        return kernel
    promotion = _ReductionPromotion(kernel)
    statements = promotion.statements(kernel.body.statements, 0)
    return replace(kernel, body=Block(statements, kernel.body.yields)) if promotion.changed else kernel


class _Sum(NamedTuple):
    """The sum of the additions to one element so far, in the block being built.

    `first` is one of the additions, whose index and origin the one after the loop gets. `some` is the
    bool "something was added"; it stays False if `sure`, since it is not read then.
    """

    first: Accumulate
    sure: bool
    total: Atom
    some: Atom


_Sums = dict[_Element, _Sum]


class _ReductionPromotion:
    def __init__(self, kernel: KernelIR) -> None:
        self.builder = Builder(Names(bound_names(kernel)))
        self.made: Definitions = {}
        self.touches = Touches(self.made)
        self.intervals = Intervals()
        self.changed = False
        self.depth: dict[str, int] = {}  # the loop depth at which a variable is bound; 0 for parameters

    def statements(self, given: Iterable[Statement], depth: int) -> tuple[Statement, ...]:
        with self.builder.block() as out:
            for s in given:
                self.statement(s, depth)
        return tuple(out)

    def block(self, b: Block, depth: int) -> Block:
        return Block(self.statements(b.statements, depth), b.yields)

    def statement(self, s: Statement, depth: int) -> None:
        for v in binds(s):
            self.depth[v.name] = depth
        match s:
            case Let():
                self.made[s.var.name] = s
                self.intervals.note(s)
            case For() | While():
                self.loop(s, depth)
                return
            case If():
                s = with_blocks(s, lambda b: self.block(b, depth))
            case Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog():
                pass
            case Append() | LogMark() | RollBack() | Compact() | Derive() | Call():
                pass
            case _:
                assert_never(s)
        self.builder.add(s)

    def loop(self, s: For | While, depth: int) -> None:
        if isinstance(s, For):
            self.intervals.enter(s)
        for v in parameters(s):
            self.depth[v.name] = depth + 1
        body = self.block(s.body, depth + 1)
        sums: _Sums = {}
        if depth > 0:
            self.find(body.statements, s, depth, sums)
        if sums:
            self.changed = True
            self.carry(replace(s, body=body), sums, depth)
        else:
            self.builder.add(replace(s, body=body))

    # which elements

    def find(self, body: Iterable[Statement], loop: For | While, depth: int, sums: _Sums) -> None:
        """Adds to `sums` the promotable additions of a loop's `body`, without those of inner loops."""
        for s in body:
            match s:
                case Accumulate():
                    element = self.element(s)
                    if element not in sums and self.gathers(s, element, loop, depth):
                        sure = self.intervals.inside(s.memory, s.index)
                        sums[element] = _Sum(s, sure, const(0, s.memory.type), FALSE)
                case If():
                    self.find(s.then.statements, loop, depth, sums)
                    self.find(s.orelse.statements, loop, depth, sums)
                case Let() | Load() | Store() | Alloc() | Probe() | Print() | Assert() | For() | While():
                    pass
                case UndoLog() | Append() | LogMark() | RollBack() | Compact() | Derive() | Call():
                    pass
                case _:
                    assert_never(s)

    def element(self, s: Accumulate) -> _Element:
        return s.memory.key, place(s.index, self.made)

    def gathers(self, s: Accumulate, element: _Element, loop: For | While, depth: int) -> bool:
        if s.op != "add" or s.old is not None:
            return False
        if any(not isinstance(a, Const) and self.depth.get(a.name, 0) > depth for a in s.index):
            return False
        inside = self.touches.of(loop)
        if s.memory.key in inside.made:
            return False
        key, at = element
        others = inside.read.get(key, set()) | inside.stored.get(key, set())
        return all(apart(at, other) for other in others)

    # the loop with the sums

    def carry(self, s: For | While, sums: _Sums, depth: int) -> None:
        """Appends `s` with `sums` carried, then the additions of their totals."""
        totals = {e: self.builder.fresh(_name(x), x.total.type) for e, x in sums.items()}
        flags = {e: self.builder.fresh(_name(x, "made"), u1) for e, x in sums.items() if not x.sure}
        inside = {e: x._replace(total=totals[e], some=flags.get(e, FALSE)) for e, x in sums.items()}
        body, after = self.gathered(s.body, inside)
        carried = (*s.carried, *totals.values(), *flags.values())
        init = (*s.init, *(x.total for x in sums.values()), *(FALSE for _ in flags))
        yields = (*body.yields, *(after[e].total for e in totals), *(after[e].some for e in flags))
        results = tuple(self.bound(v.name, v.type, depth) for v in carried[len(s.carried) :])
        self.builder.add(
            replace(
                s,
                body=Block(body.statements, yields),
                carried=carried,
                init=init,
                results=(*s.results, *results),
            )
        )
        for e, total in zip(totals, results, strict=False):
            self.add_total(after[e]._replace(total=total, some=self.made_any(s, e, after[e], flags, results)))

    def bound(self, hint: str, type: ScalarType, depth: int) -> Var:
        v = self.builder.fresh(hint, type)
        self.depth[v.name] = depth
        return v

    def made_any(
        self, s: For | While, e: _Element, after: _Sum, flags: dict[_Element, Var], results: tuple[Var, ...]
    ) -> Atom:
        """Whether the loop added anything to `e`."""
        if after.sure:
            return TRUE
        if after.some == TRUE and isinstance(s, For) and s.goes_on is None:  # every trip adds
            ends = (s.start, s.stop) if s.step > 0 else (s.stop, s.start)
            return self.builder.let("lt", *ends)
        return results[len(results) - len(flags) + list(flags).index(e)]

    def add_total(self, x: _Sum) -> None:
        s = replace(x.first, value=x.total)
        if x.some == TRUE:
            self.builder.add(s)
        else:
            self.builder.add(If(x.some, Block((s,)), Block(()), origin=s.origin))

    def gathered(self, block: Block, sums: _Sums) -> tuple[Block, _Sums]:
        """`block` with its additions to elements of `sums` promoted; and the sums at its end."""
        sums = dict(sums)
        with self.builder.block() as out:
            for s in block.statements:
                element = self.element(s) if isinstance(s, Accumulate) else None
                if isinstance(s, Accumulate) and element in sums:
                    self.add(s, sums, element)
                elif isinstance(s, If):
                    self.builder.add(self.branch(s, sums))
                else:
                    self.builder.add(s)
        return Block(tuple(out), block.yields), sums

    def add(self, s: Accumulate, sums: _Sums, e: _Element) -> None:
        with self.builder.at(s.origin):
            total = self.builder.let("add", sums[e].total, s.value, hint=_name(sums[e]))
        sums[e] = sums[e]._replace(total=total, some=TRUE)

    def branch(self, s: If, sums: _Sums) -> If:
        """`s` with the sums of its arms as results, if they differ; `sums` is updated to those after it."""
        then, yes = self.gathered(s.then, sums)
        orelse, no = self.gathered(s.orelse, sums)
        results, ys, ns = list(s.results), list(then.yields), list(orelse.yields)

        def either(hint: str, a: Atom, b: Atom) -> Atom:
            if a == b or (a, b) == (TRUE, FALSE):
                return a if a == b else s.cond
            results.append(self.builder.fresh(hint, a.type))
            ys.append(a)
            ns.append(b)
            return results[-1]

        for e, x in list(sums.items()):
            total = either(_name(x), yes[e].total, no[e].total)
            some = x.some if x.sure else either(_name(x, "made"), yes[e].some, no[e].some)
            sums[e] = x._replace(total=total, some=some)
        if len(results) == len(s.results):
            return s
        then, orelse = Block(then.statements, tuple(ys)), Block(orelse.statements, tuple(ns))
        return replace(s, then=then, orelse=orelse, results=tuple(results))


def _name(x: _Sum, what: str = "sum") -> str:
    return "_".join((x.first.memory.name, *x.first.memory.derivative, what))
