"""The primal once more, for what comes out of it: nothing is saved for a way back.

Of its effects on fields only those remain that the adjoint does again, and these are logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dsim.autodiff import journals
from dsim.autodiff.bars import Env, Sweep
from dsim.autodiff.names import companion
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Assert,
    Block,
    Call,
    For,
    If,
    Load,
    Memory,
    Print,
    Statement,
    Store,
    Var,
    Watch,
    While,
)
from dsim.ir.walk import silent, statements, swap


def rerun(sweep: Sweep, body: Sequence[Statement], env: Env) -> None:
    """Appends `body`; `env` gains what it binds."""
    for s in body:
        with sweep.builder.at(s.origin):
            _statement(sweep, s, env)


def _statement(sweep: Sweep, s: Statement, env: Env) -> None:
    match s:
        case Print() | Assert() | Watch():
            pass
        case Store(memory=Memory(private=False)) | Accumulate(memory=Memory(private=False)):
            journals.log(sweep, s, env)
        case Alloc():
            alloc(sweep, s, env)
        case If():
            then, orelse = inside(sweep, s.then, env), inside(sweep, s.orelse, env)
            results = tuple(sweep.copier.variable(r, env) for r in s.results)
            sweep.builder.add(If(swap(s.cond, env), then, orelse, results, s.origin))
        case For():
            if s.carried or changed_buffers(s.body) or (sweep.doing and sweep.again.inside(s)):
                _loop(sweep, s, env)
        case While():
            _loop(sweep, s, env)
        case Call():
            silent_call(sweep, s, env)
        case Load():
            sweep.builder.add(sweep.copier.statement(s, env))
            journals.note_load(sweep, env[s.var])
        case _:
            sweep.builder.add(sweep.copier.statement(s, env))


def silent_call(sweep: Sweep, s: Call, env: Env) -> None:
    """Appends a call without its prints and asserts, which act in the primal only."""
    sweep.builder.add(sweep.copier.statement(replace(s, body=silent(s.body)), env))


def alloc(sweep: Sweep, s: Alloc, env: Env) -> None:
    """Appends a private buffer, and the one of its adjoints; both are buffers like any other."""
    copied = sweep.copier.statement(replace(s, trips=False, kept=False), env)
    assert isinstance(copied, Alloc)
    sweep.builder.add(copied)
    sweep.shapes[s.memory] = copied.shape
    if s.memory in sweep.activity.private:
        bar = companion(copied.memory, sweep.label, sweep.builder.names)
        sweep.adjoints[copied.memory] = bar
        sweep.builder.add(replace(copied, memory=bar))


def inside(sweep: Sweep, block: Block, env: Env) -> Block:
    """`block` once more."""
    inner = dict(env)
    with sweep.builder.block() as made:
        rerun(sweep, block.statements, inner)
    return Block(tuple(made), tuple(swap(y, inner) for y in block.yields))


def _loop(sweep: Sweep, s: For | While, env: Env) -> None:
    inner = dict(env)
    init = tuple(swap(a, env) for a in s.init)
    carried = tuple(sweep.copier.variable(c, inner) for c in s.carried)
    if isinstance(s, While):
        s = replace(s, condition=inside(sweep, s.condition, inner))
    else:
        goes_on = None if s.goes_on is None else inner[s.goes_on]
        assert goes_on is None or isinstance(goes_on, Var)
        ends = swap(s.start, env), swap(s.stop, env)
        number = sweep.copier.variable(s.index, inner)
        s = replace(s, index=number, start=ends[0], stop=ends[1], goes_on=goes_on, parallel=False)
    body = inside(sweep, s.body, inner)
    results = tuple(sweep.copier.variable(r, env) for r in s.results)
    sweep.builder.add(replace(s, body=body, carried=carried, init=init, results=results))


def changed_buffers(*blocks: Block) -> tuple[Memory, ...]:
    """Private memories from outside of `blocks` that they change."""
    everything = [s for block in blocks for s in statements(block)]
    made = {s.memory for s in everything if isinstance(s, Alloc)}
    found: dict[Memory, None] = {}
    for s in everything:
        if isinstance(s, Store | Accumulate) and s.memory.private and s.memory not in made:
            found.setdefault(s.memory)
    return tuple(found)
