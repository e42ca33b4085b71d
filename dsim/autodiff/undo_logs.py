"""Repeated writes of an adjoint to fields: each saves the value before, and the backward sweep undoes it.

Where the backward sweep reverses the write itself, a variable holds the value before. Elsewhere (the
rerun of a loop, or of a branch for its results) it is appended to the memory's undo log, which
is rolled back to a mark taken before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import NamedTuple

from dsim.autodiff.adjoint_environment import Env, Reversal
from dsim.ir.nodes import (
    Accumulate,
    Append,
    Atom,
    Load,
    LogMark,
    Memory,
    RollBack,
    Store,
    UndoLog,
    Var,
)
from dsim.ir.types import i64
from dsim.ir.walk import swap

Marks = dict[Memory, Var]  # memories, and marks in their undo logs


class UndoneWrite(NamedTuple):
    """A replayed write: the value before, for the adjoint and to be restored."""

    before: Var | None
    kept: Var | None


def opened(ctx: Reversal, memories: Iterable[Memory]) -> None:
    """Appends new undo logs of `memories`, in use from here on."""
    for m in memories:
        log = Memory(ctx.builder.names.fresh(f"{m.name}_log"), m.type, (None,), private=True)
        ctx.builder.add(UndoLog(log, m, ctx.builder.origin))
        ctx.logs[m] = log


@contextmanager
def own(ctx: Reversal, memories: Iterable[Memory]) -> Generator[None, None, None]:
    """Inside, `memories` have undo logs made in the open block."""
    before = dict(ctx.logs)
    opened(ctx, memories)
    yield
    ctx.logs.clear()
    ctx.logs.update(before)


def marks(ctx: Reversal, memories: Iterable[Memory]) -> Marks:
    """Appends marks in the undo logs of `memories`."""
    made: Marks = {}
    for m in memories:
        made[m] = ctx.builder.fresh(f"{m.name}_mark", i64)
        ctx.builder.add(LogMark(made[m], ctx.logs[m], ctx.builder.origin))
    return made


def roll_back(ctx: Reversal, to: Marks) -> None:
    """Appends the roll-back of the undo logs to the marks `to`."""
    for m, mark in to.items():
        ctx.builder.add(RollBack(ctx.logs[m], m, mark, ctx.builder.origin))


def note_load(ctx: Reversal, value: Atom) -> None:
    """Remembers the variable of a load in the rerun of a whole branch or loop."""
    if ctx.running >= 0 and isinstance(value, Var):
        ctx.loaded[value.name] = ctx.running


def log(ctx: Reversal, s: Store | Accumulate, env: Env) -> None:
    """Appends the write `s` to a field, with an undo-log entry, if it is a repeated one."""
    _old(ctx, s, env)
    if ctx.repeats_writes and ctx.recomputed.number(s) in ctx.recomputed.writes:
        ctx.builder.add(Append(ctx.logs[s.memory], s.memory, _at(s, env), s.origin))
        _write(ctx, s, env)


def keep(ctx: Reversal, s: Store | Accumulate, env: Env) -> UndoneWrite | None:
    """Appends the write `s` to a field, if a read in the open region depends on it."""
    _old(ctx, s, env)
    before = _before(ctx, s, env)
    kept = None
    if ctx.recomputed.seen(s, ctx.region):
        kept = _load(ctx, s, env, -1)
        _write(ctx, s, env)
    return None if before is None and kept is None else UndoneWrite(before, kept)


def _before(ctx: Reversal, s: Store | Accumulate, env: Env) -> Var | None:
    """The value before an accumulation whose adjoint depends on it."""
    if not isinstance(s, Accumulate) or s.op == "add" or s.memory.key not in ctx.recomputed.entry:
        return None
    return _load(ctx, s, env, s.site) if ctx.activity.carries(s.memory) else None


def _old(ctx: Reversal, s: Store | Accumulate, env: Env) -> None:
    """Appends a load of the value that the primal got from an accumulation.

    In a memory that is as the primal left it that value is lost.
    """
    if not isinstance(s, Accumulate) or s.old is None:
        return
    old = ctx.copier.variable(s.old, env)
    ctx.builder.add(Load(old, s.memory, _at(s, env), s.origin, s.site))
    ctx.lost[old] = s
    note_load(ctx, old)


def _load(ctx: Reversal, s: Store | Accumulate, env: Env, site: int) -> Var:
    value = ctx.builder.fresh(f"{s.memory.name}_before", s.memory.type)
    ctx.builder.add(Load(value, s.memory, _at(s, env), s.origin, site))
    return value


def _write(ctx: Reversal, s: Store | Accumulate, env: Env) -> None:
    at, value = _at(s, env), swap(s.value, env)
    if isinstance(s, Store):
        ctx.builder.add(Store(s.memory, at, value, s.origin))
    else:
        ctx.builder.add(Accumulate(s.memory, at, value, s.op, None, s.origin))


def _at(s: Store | Accumulate, env: Env) -> tuple[Atom, ...]:
    return tuple(swap(i, env) for i in s.index)
