"""Constant folding: computes at compile time what is known before the kernel runs.

It folds operations on constants, identities, branches on a constant, loops of zero or one trip, carried
values that are invariant (or equal the index), and results that are equal in both arms.

Not its job: equal statements (`common_subexpression_elimination`), and the unused ones that it leaves
(`dead_code_elimination`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, assert_never

from dsim.ir.build import FALSE, TRUE, simplify
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
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    While,
)
from dsim.ir.primitive import Formula, Libm
from dsim.ir.primitives import TABLE
from dsim.ir.ranges import known_trips
from dsim.ir.walk import statements, with_blocks
from dsim.passes.algebraic_simplification import Definitions, simplified, split
from dsim.passes.renaming import Renaming, carrying, pick


def fold_constants(kernel: KernelIR) -> KernelIR:
    """`kernel` with constants folded."""
    folder = _Folder(kernel.exact)
    body = folder.block(kernel.body)
    while folder.late:  # a variable with uses before was replaced: run again
        folder.late = False
        body = folder.block(body)
    return replace(kernel, body=body)


class _Folder:
    def __init__(self, exact: bool) -> None:
        self.exact = exact
        self.names = Renaming()
        self.made: Definitions = {}
        self.late = False
        self.out: list[Statement] = []

    def block(self, block: Block) -> Block:
        outer, self.out = self.out, []
        yields = self.into(block)
        inner, self.out = self.out, outer
        return Block(tuple(inner), yields)

    def into(self, block: Block) -> tuple[Atom, ...]:
        """Appends the statements of `block` to the output; returns its yields."""
        for s in block.statements:
            self.statement(self.names.statement(s))
        return self.names.atoms(block.yields)

    def statement(self, s: Statement) -> None:
        match s:
            case Let():
                self.let(s)
            case If():
                self.branch(s)
            case For():
                self.for_(s)
            case While():
                self.while_(s)
            case Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog():
                self.out.append(with_blocks(s, self.block))
            case Append() | LogMark() | RollBack() | Compact() | Derive() | Call():
                self.out.append(with_blocks(s, self.block))
            case _:
                assert_never(s)

    def let(self, s: Let) -> None:
        done = simplified(s, self.made)
        if isinstance(done, Let):
            known = simplify(done.op, done.args, done.var.type)
            if known is None or (self.exact and _rounds_otherwise(done)):
                self.made[done.var.name] = done
                self.out.append(done)
                return
            done = known
        self.names.put(s.var, done)

    # branches

    def branch(self, s: If) -> None:
        if isinstance(s.cond, Const):
            self.names.put_all(s.results, self.into(s.then if s.cond.value else s.orelse))
            return
        with self.names.assuming(s.cond, TRUE):
            then = self.block(s.then)
        with self.names.assuming(s.cond, FALSE):
            orelse = self.block(s.orelse)
        kept: list[int] = []
        for k, (v, a, b) in enumerate(zip(s.results, then.yields, orelse.yields, strict=True)):
            if a == b:
                self.names.put(v, a)
            elif (a, b) == (TRUE, FALSE):
                self.names.put(v, s.cond)
            else:
                kept.append(k)
        then, orelse = (Block(b.statements, pick(b.yields, kept)) for b in (then, orelse))
        self.out.append(replace(s, then=then, orelse=orelse, results=pick(s.results, kept)))

    # loops

    def for_(self, s: For) -> None:
        trips = _few_trips(s)
        if trips == 0:
            self.names.put_all(s.results, s.init)
        elif trips == 1:
            self.names.put(s.index, s.start)
            self.names.put_all(s.carried, s.init)
            self.names.put_all(s.results, self.into(s.body))
        else:
            s = self.unchanging(s)
            s = replace(s, body=self.block(s.body))
            self.out.append(self.counting(self.unchanging(s, late=True)))

    def while_(self, s: While) -> None:
        s = self.unchanging(s)
        condition = self.block(s.condition)
        if condition.yields == (FALSE,) and not any(map(_has_effect, statements(condition))):
            self.names.put_all(s.results, s.init)
            return
        self.out.append(self.unchanging(replace(s, condition=condition, body=self.block(s.body)), late=True))

    def unchanging(self, s: _Loop, late: bool = False) -> _Loop:
        """`s` without carried values that keep their initial value in every trip."""
        kept: list[int] = []
        for k, (c, start, result) in enumerate(zip(s.carried, s.init, s.results, strict=True)):
            after = self.names.atom(s.body.yields[k])
            decides = isinstance(s, For) and c == s.goes_on
            if after not in (c, start) or (decides and start != TRUE):
                kept.append(k)
                continue
            if decides:
                s = replace(s, goes_on=None)
            self.names.put(c, start)
            self.names.put(result, start)
            self.late |= late
        return s if len(kept) == len(s.carried) else carrying(s, kept)

    def counting(self, s: For) -> For:
        """`s` with carried values that equal the index in every trip replaced by the index."""
        kept: list[int] = []
        for k, (c, result) in enumerate(zip(s.carried, s.results, strict=True)):
            steps = split(s.body.yields[k], self.made) == (c, s.step)
            kept.append(k)
            if not steps or c.type != s.index.type or s.init[k] != s.start:
                continue
            self.names.put(c, s.index)
            self.late = True
            if s.goes_on is None and s.step == 1:
                last = Let(result, "max", (s.start, s.stop), s.origin)
                self.let(last)  # before the loop, where both ends are in scope
                kept.pop()
        return s if len(kept) == len(s.carried) else carrying(s, kept)


def _rounds_otherwise(s: Let) -> bool:
    """Whether machine code may give other bits for these constants.

    An exact kernel and its adjoint compute the same bits, but not always of constants: a loop that is
    unrolled in one of them may be a loop in the other.
    """
    computed = isinstance(TABLE[s.op].lowering, Formula | Libm)
    return computed and s.var.type.is_float and all(isinstance(a, Const) for a in s.args)


_Loop = TypeVar("_Loop", For, While)


def _few_trips(s: For) -> int | None:
    """The trip count of `s` if it is 0 or 1; else None."""
    if s.start == s.stop or (s.goes_on is not None and s.init[s.carried.index(s.goes_on)] == FALSE):
        return 0
    trips = known_trips(s)
    return trips if trips == 0 or (trips == 1 and s.goes_on is None) else None


def _has_effect(s: Statement) -> bool:
    return isinstance(s, Store | Accumulate | RollBack | Print | Assert | Probe)
