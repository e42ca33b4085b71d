"""Loop-invariant code motion (LICM): hoists invariant operations and loads out of inner loops.

Operations never trap, so they may be hoisted even if the loop makes no trip. A load may only if it is
certainly in bounds or the loop certainly makes a trip, and only out of loops that do not write its memory.
Nothing is hoisted out of a top-level loop: these are the parallel ones, where each thread computes invariants
for itself, without a reduction in the adjoint. From inside a branch, only cheap integer operations (mostly
indices) are hoisted out of the loop around it.

A `copy` stays with its assignment. Not its job: accumulations (`reduction_promotion`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from dsim.analysis.intervals import Intervals, runs
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
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
    Var,
    While,
)
from dsim.ir.walk import binds, operands, parameters, with_blocks
from dsim.passes.touched_elements import Touches

_CHEAP = ("add", "sub", "mul", "neg", "cast", "min", "max", "lt", "le", "gt", "ge", "eq", "ne")


def move_loop_invariants(kernel: KernelIR) -> KernelIR:
    """`kernel` with loop invariants hoisted out of inner loops; itself if there are none."""
    motion = _CodeMotion()
    statements: list[Statement] = []
    for s in kernel.body.statements:
        motion.statement(s, None, True, statements)
    if not motion.moved:
        return kernel
    return replace(kernel, body=Block(tuple(statements), kernel.body.yields))


class _Loop:
    """An open loop: `depth` is 0 at the top level; `before` has the statements hoisted out of it."""

    def __init__(self, depth: int, statement: For | While, runs: bool) -> None:
        self.depth = depth
        self.statement = statement
        self.runs = runs  # certainly makes at least one trip
        self.before: list[Let | Load] = []


class _CodeMotion:
    def __init__(self) -> None:
        self.touches = Touches({})
        self.depth: dict[str, int] = {}  # the loop depth at which a variable is bound; 0 for parameters
        self.intervals = Intervals()
        self.moved = False

    def statement(self, s: Statement, loop: _Loop | None, direct: bool, out: list[Statement]) -> None:
        """Appends `s` or hoists it out of `loop`; `direct` if no branch is between the two."""
        match s:
            case Let():
                self.intervals.note(s)
                self.value(s, loop, direct, out)
            case Load():
                self.value(s, loop, direct, out)
            case For():
                self.intervals.enter(s)
                self.loop(s, loop, direct, out)
            case While():
                self.loop(s, loop, direct, out)
            case If():
                then = self.block(s.then, loop, False)
                self.bind(s.results, loop)
                out.append(replace(s, then=then, orelse=self.block(s.orelse, loop, False)))
            case (
                Store()
                | Accumulate()
                | Alloc()
                | Probe()
                | Print()
                | Assert()
                | UndoLog()
                | Append()
                | LogMark()
                | RollBack()
                | Compact()
                | Derive()
                | Call()
            ):
                self.bind(binds(s), loop)
                out.append(s)
            case _:
                assert_never(s)

    def block(self, block: Block, loop: _Loop | None, direct: bool) -> Block:
        out: list[Statement] = []
        for s in block.statements:
            self.statement(s, loop, direct, out)
        return Block(tuple(out), block.yields)

    def bind(self, variables: tuple[Var, ...], loop: _Loop | None) -> None:
        for v in variables:
            self.depth[v.name] = 0 if loop is None else loop.depth + 1

    def value(self, s: Let | Load, loop: _Loop | None, direct: bool, out: list[Statement]) -> None:
        if loop is not None and loop.depth > 0 and self.may_leave(s, loop, direct):
            self.moved = True
            self.depth[s.var.name] = loop.depth
            loop.before.append(s)
        else:
            self.bind((s.var,), loop)
            out.append(s)

    def may_leave(self, s: Let | Load, loop: _Loop, direct: bool) -> bool:
        if any(not isinstance(a, Const) and self.depth.get(a.name, 0) > loop.depth for a in operands(s)):
            return False
        if isinstance(s, Let):
            return s.op != "copy" and (
                direct or (s.op in _CHEAP and not s.args[0].type.is_float and not s.var.type.is_float)
            )
        inside, key = self.touches.of(loop.statement), s.memory.key
        if key in inside.stored or key in inside.added or key in inside.made:
            return False
        return self.intervals.inside(s.memory, s.index) or (direct and loop.runs)

    def loop(self, s: For | While, outer: _Loop | None, direct: bool, out: list[Statement]) -> None:
        inner = _Loop(0 if outer is None else outer.depth + 1, s, runs(s))
        self.bind(parameters(s), inner)
        done = with_blocks(s, lambda b: self.block(b, inner, True))
        for early in inner.before:  # may be hoisted out of the next loop too
            self.statement(early, outer, direct, out)
        self.bind(s.results, outer)
        out.append(done)
