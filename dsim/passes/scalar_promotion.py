"""Scalar promotion: elements that a loop reads and writes at an invariant index become carried values.

``for k: x[i] = sin(x[i])`` becomes ``v = x[i]; for k: v = sin(v)`` and ``x[i] = v``. Conditions: the index is
loop-invariant, the element is certainly in bounds, and no other access to its memory in the loop may alias.
Inner loops come first, so that an element may be carried through several loops.

Parallel loops do not change: a carried value would order their iterations. Inside of them, elements that are
only accumulated to are not promoted, since other iterations may accumulate to them concurrently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, assert_never

from dsim.analysis.intervals import Intervals, runs
from dsim.ir.build import Builder, Names
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
from dsim.ir.walk import accesses, binds, blocks, bound_names, parameters, with_blocks
from dsim.passes.algebraic_simplification import Definitions
from dsim.passes.elements import Place, apart, place

_Element = tuple[MemoryKey, Place]
_Values = dict[_Element, Atom]  # the value of each element at one point


def promote_scalars(kernel: KernelIR, keys: Collection[MemoryKey]) -> KernelIR:
    """`kernel` with elements of the memories `keys` carried by loops; itself if there are none.

    Conditions of `While` may read these memories, not write them.
    """
    promotion = _ScalarPromotion(kernel, keys)
    done = promotion.block(kernel.body, 0)
    return replace(kernel, body=done) if promotion.changed else kernel


class _Carried(NamedTuple):
    """An element to promote: a statement that reads it, and one that writes it."""

    read: Load | Accumulate
    write: Store | Accumulate


class _ScalarPromotion:
    def __init__(self, kernel: KernelIR, keys: Collection[MemoryKey]) -> None:
        self.keys = keys
        self.builder = Builder(Names(bound_names(kernel)))
        self.made: Definitions = {}
        self.intervals = Intervals()
        self.depth: dict[str, int] = {p.name: 0 for p in kernel.params}  # the loop depth at which it is bound
        self.changed = False
        self.together = 0  # the number of parallel loops around

    def block(self, b: Block, depth: int) -> Block:
        with self.builder.block() as out:
            for s in b.statements:
                self.statement(s, depth)
        return Block(tuple(out), b.yields)

    def statement(self, s: Statement, depth: int) -> None:
        self.bind(binds(s), depth)
        match s:
            case Let():
                self.made[s.var.name] = s
                self.intervals.note(s)
            case If():
                s = with_blocks(s, lambda b: self.block(b, depth))
            case For() | While():
                self.loop(s, depth)
                return
            case Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog():
                pass
            case Append() | LogMark() | RollBack() | Compact() | Derive() | Call():
                pass
            case _:
                assert_never(s)
        self.builder.add(s)

    def bind(self, variables: Iterable[Var], depth: int) -> None:
        self.depth.update((v.name, depth) for v in variables)

    def loop(self, s: For | While, depth: int) -> None:
        if isinstance(s, For):
            self.intervals.enter(s)
        self.bind(parameters(s), depth + 1)
        parallel = isinstance(s, For) and s.parallel
        self.together += parallel
        changed = with_blocks(s, lambda b: self.block(b, depth + 1))
        self.together -= parallel
        assert isinstance(changed, For | While)
        found = {} if parallel else self.find(changed, depth)
        if found:
            self.changed = True
            self.carried(changed, found, depth)
        else:
            self.builder.add(changed)

    # which elements

    def find(self, s: For | While, depth: int) -> dict[_Element, _Carried]:
        """The elements that `s` may carry."""
        own = [a for b in blocks(s) for a in _outside_loops(b) if a.memory.key in self.keys]
        every = [a for a in accesses(Block((s,))) if a.memory.key in self.keys]
        found: dict[_Element, _Carried] = {}
        for element in dict.fromkeys(map(self.element, own)):
            here = [a for a in own if self.element(a) == element]
            reads = [a for a in here if isinstance(a, Load) or (isinstance(a, Accumulate) and _sees(a))]
            writes = [a for a in here if not isinstance(a, Load)]
            shared = self.together > 0 and all(isinstance(a, Accumulate) for a in here)
            if not reads or not writes or shared:
                continue
            if not self.steady(here[0], depth) or not self.exists(s, here):
                continue
            others = (a for a in every if all(a is not b for b in here))
            if all(a.memory.key != element[0] or apart(element[1], self.element(a)[1]) for a in others):
                found[element] = _Carried(reads[0], writes[0])
        return found

    def element(self, s: Load | Store | Accumulate) -> _Element:
        return s.memory.key, place(s.index, self.made)

    def steady(self, s: Load | Store | Accumulate, depth: int) -> bool:
        """Whether the index of `s` is invariant in a loop at depth `depth`."""
        return all(isinstance(a, Const) or self.depth.get(a.name, depth + 1) <= depth for a in s.index)

    def exists(self, s: For | While, here: list[Load | Store | Accumulate]) -> bool:
        """Whether the element is in bounds even if `s` makes no trip, or `s` certainly accesses it."""
        if any(self.intervals.inside(a.memory, a.index) for a in here):
            return True
        return runs(s) and any(a is b for a in here for b in s.body.statements)

    # the loop with the elements

    def carried(self, s: For | While, found: dict[_Element, _Carried], depth: int) -> None:
        """Appends `s` with the elements carried: loaded before it and stored after it."""
        before, inside, after = ({e: self.fresh(c, depth + d) for e, c in found.items()} for d in (0, 1, 0))
        for e, c in found.items():
            self.builder.add(Load(before[e], c.read.memory, c.read.index, c.read.origin, c.read.site))
        if isinstance(s, While):
            s = replace(s, condition=self.rewritten(s.condition, dict(inside), depth + 1))
        values: _Values = dict(inside)
        body = self.rewritten(s.body, values, depth + 1)
        self.builder.add(
            replace(
                s,
                body=replace(body, yields=(*body.yields, *values.values())),
                carried=(*s.carried, *inside.values()),
                init=(*s.init, *before.values()),
                results=(*s.results, *after.values()),
            )
        )
        for e, c in found.items():
            w = c.write
            self.builder.add(Store(w.memory, c.read.index, after[e], w.origin, w.site))

    def fresh(self, c: _Carried, depth: int) -> Var:
        var = self.builder.fresh(c.read.memory.name, c.read.memory.type)
        self.bind((var,), depth)
        return var

    def rewritten(self, block: Block, values: _Values, depth: int) -> Block:
        """`block` with the elements of `values` promoted; `values` is updated to those at its end."""
        with self.builder.block() as out:
            for s in block.statements:
                if isinstance(s, Load | Store | Accumulate) and (e := self.element(s)) in values:
                    with self.builder.at(s.origin):
                        self.access(s, e, values, depth)
                elif isinstance(s, If):
                    self.builder.add(self.branch(s, values, depth))
                else:
                    self.builder.add(s)
        return Block(tuple(out), block.yields)

    def access(self, s: Load | Store | Accumulate, e: _Element, values: _Values, depth: int) -> None:
        read = s.var if isinstance(s, Load) else s.old if isinstance(s, Accumulate) else None
        if read is not None:
            self.builder.add(Let(read, "cast", (values[e],), s.origin))
        if isinstance(s, Store):
            values[e] = s.value
        elif isinstance(s, Accumulate):
            values[e] = new = self.builder.let(s.op, values[e], s.value, hint=s.memory.name)
            if isinstance(new, Var):
                self.depth.setdefault(new.name, depth)

    def branch(self, s: If, values: _Values, depth: int) -> If:
        yes, no = dict(values), dict(values)
        then, orelse = self.rewritten(s.then, yes, depth), self.rewritten(s.orelse, no, depth)
        results, ys, ns = list(s.results), list(then.yields), list(orelse.yields)
        for e in values:
            if yes[e] == no[e]:  # a constant, or defined before the branch
                values[e] = yes[e]
            else:
                values[e] = result = self.builder.fresh(e[0][0], yes[e].type)
                self.bind((result,), depth)
                results.append(result)
                ys.append(yes[e])
                ns.append(no[e])
        then, orelse = replace(then, yields=tuple(ys)), replace(orelse, yields=tuple(ns))
        return replace(s, then=then, orelse=orelse, results=tuple(results))


def _sees(s: Accumulate) -> bool:
    """Whether an accumulation uses the value before it in more than a sum."""
    return s.old is not None or s.op != "add"


def _outside_loops(block: Block) -> Iterator[Load | Store | Accumulate]:
    """The accesses in `block` and its branches, without those in inner loops."""
    for s in block.statements:
        if isinstance(s, Load | Store | Accumulate):
            yield s
        elif isinstance(s, If):
            for b in blocks(s):
                yield from _outside_loops(b)
