"""Recomputation: reruns statements of the primal for their results, without saving residuals.

Of their effects on fields it repeats only the writes in `RecomputedWrites`, and logs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from dsim.autodiff import undo_logs
from dsim.autodiff.adjoint_environment import Env, Reversal
from dsim.autodiff.names import companion
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Block,
    Call,
    Compact,
    Derive,
    For,
    If,
    Let,
    Load,
    LogMark,
    Memory,
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.walk import silent, statements, swap


def rerun(ctx: Reversal, body: Sequence[Statement], env: Env) -> None:
    """Appends a rerun of `body`; extends `env` by the variables that it binds."""
    for s in body:
        with ctx.builder.at(s.origin):
            _statement(ctx, s, env)


def _statement(ctx: Reversal, s: Statement, env: Env) -> None:  # noqa: C901 (one case a node)
    match s:
        case Print() | Assert() | Probe():
            pass
        case Store(memory=Memory(private=False)) | Accumulate(memory=Memory(private=False)):
            undo_logs.log(ctx, s, env)
        case Alloc():
            alloc(ctx, s, env)
        case If():
            then, orelse = inside(ctx, s.then, env), inside(ctx, s.orelse, env)
            results = tuple(ctx.copier.variable(r, env) for r in s.results)
            ctx.builder.add(If(swap(s.cond, env), then, orelse, results, s.origin))
        case For():
            if s.carried or changed_buffers(s.body) or (ctx.repeats_writes and ctx.recomputed.inside(s)):
                _loop(ctx, s, env)
        case While():
            _loop(ctx, s, env)
        case Call():
            silent_call(ctx, s, env)
        case Load():
            ctx.builder.add(ctx.copier.statement(s, env))
            undo_logs.note_load(ctx, env[s.var])
        case Let() | Store() | Accumulate() | UndoLog() | Append() | LogMark() | RollBack() | Compact():
            ctx.builder.add(ctx.copier.statement(s, env))
        case Derive():
            ctx.builder.add(ctx.copier.statement(s, env))
        case _:
            assert_never(s)


def silent_call(ctx: Reversal, s: Call, env: Env) -> None:
    """Appends a call without its prints and asserts, which run in the primal only."""
    ctx.builder.add(ctx.copier.statement(replace(s, body=silent(s.body)), env))


def alloc(ctx: Reversal, s: Alloc, env: Env) -> None:
    """Appends the allocation of a private buffer, and that of its adjoints; neither is a residual."""
    copied = ctx.copier.statement(replace(s, saves=None), env)
    assert isinstance(copied, Alloc)
    ctx.builder.add(copied)
    ctx.shapes[s.memory] = copied.shape
    if s.memory in ctx.activity.private:
        bar = companion(copied.memory, ctx.label, ctx.builder.names)
        ctx.adjoints[copied.memory] = bar
        ctx.builder.add(replace(copied, memory=bar))


def inside(ctx: Reversal, block: Block, env: Env) -> Block:
    """A rerun of `block`."""
    inner = dict(env)
    with ctx.builder.block() as made:
        rerun(ctx, block.statements, inner)
    return Block(tuple(made), tuple(swap(y, inner) for y in block.yields))


def _loop(ctx: Reversal, s: For | While, env: Env) -> None:
    inner = dict(env)
    init = tuple(swap(a, env) for a in s.init)
    carried = tuple(ctx.copier.variable(c, inner) for c in s.carried)
    if isinstance(s, While):
        s = replace(s, condition=inside(ctx, s.condition, inner))
    else:
        goes_on = None if s.goes_on is None else inner[s.goes_on]
        assert goes_on is None or isinstance(goes_on, Var)
        ends = swap(s.start, env), swap(s.stop, env)
        number = ctx.copier.variable(s.index, inner)
        s = replace(s, index=number, start=ends[0], stop=ends[1], goes_on=goes_on, parallel=False)
    body = inside(ctx, s.body, inner)
    results = tuple(ctx.copier.variable(r, env) for r in s.results)
    ctx.builder.add(replace(s, body=body, carried=carried, init=init, results=results))


def changed_buffers(*blocks: Block) -> tuple[Memory, ...]:
    """The private memories made outside of `blocks` that they write."""
    everything = [s for block in blocks for s in statements(block)]
    made = {s.memory for s in everything if isinstance(s, Alloc)}
    found: dict[Memory, None] = {}
    for s in everything:
        if isinstance(s, Store | Accumulate) and s.memory.private and s.memory not in made:
            found.setdefault(s.memory)
    return tuple(found)
