"""The adjoints of loads, stores and accumulations, and how a write is undone.

``z = f[i]``   → ``f_bar[i] += z_bar``
``f[i] = v``   → ``v_bar += f_bar[i]; f_bar[i] = 0``
``f[i] += v``  → ``v_bar += f_bar[i]``
``f[i] max= v`` → the adjoint goes to `v` if `v` is the final value, else it stays with what was before
"""

from __future__ import annotations

from dsim.autodiff.adjoint_environment import Adjoints, Env, Reversal
from dsim.autodiff.forward_sweep import Replayed
from dsim.autodiff.names import ADJOINT, zero
from dsim.autodiff.undo_logs import UndoneWrite
from dsim.ir.nodes import Accumulate, Atom, Load, Store, Var
from dsim.ir.walk import swap


def _at(s: Load | Store | Accumulate, env: Env) -> tuple[Atom, ...]:
    return tuple(swap(i, env) for i in s.index)


def accumulate_bar(ctx: Reversal, s: Load | Accumulate, env: Env, value: Atom) -> None:
    """Adds `value` to the adjoint of the element."""
    target = ctx.adjoint(s.memory)
    ctx.builder.add(Accumulate(target, _at(s, env), value, "add", None, ctx.builder.origin, s.site))


def _read_bar(ctx: Reversal, s: Store | Accumulate, env: Env) -> Var:
    memory = ctx.adjoint(s.memory)
    bar = ctx.builder.fresh(f"{s.memory.name}_{ADJOINT}", memory.type)
    ctx.builder.add(Load(bar, memory, _at(s, env), ctx.builder.origin, s.site))
    return bar


def _write_bar(ctx: Reversal, s: Store | Accumulate, env: Env, value: Atom) -> None:
    target = ctx.adjoint(s.memory)
    ctx.builder.add(Store(target, _at(s, env), value, ctx.builder.origin, s.site))


def store(ctx: Reversal, s: Store, env: Env, bars: Adjoints) -> None:
    """Appends the adjoint of a store."""
    if ctx.activity.varies(s.value):
        bars.add(s.value, _read_bar(ctx, s, env))
    _write_bar(ctx, s, env, zero(s.memory.type))


def undo(ctx: Reversal, s: Store | Accumulate, record: Replayed | None, env: Env) -> None:
    """Restores the value that a write replaced."""
    if isinstance(record, UndoneWrite) and record.kept is not None:
        target = ctx.memory(s.memory)
        ctx.builder.add(Store(target, _at(s, env), record.kept, ctx.builder.origin))


def accumulate(ctx: Reversal, s: Accumulate, record: Replayed | None, env: Env, bars: Adjoints) -> None:
    """Appends the adjoint of an accumulation."""
    known = record.before if isinstance(record, UndoneWrite) else None
    varies = ctx.activity.varies(s.value)
    if s.op == "add":
        if varies:
            bars.add(s.value, _read_bar(ctx, s, env))
    elif s.op == "mul":
        _accumulate_mul(ctx, s, known, env, bars)
    else:
        _accumulate_extremum(ctx, s, known, env, bars)
    old_bar = None if s.old is None else bars.of(s.old)
    if old_bar is not None:
        accumulate_bar(ctx, s, env, old_bar)


def _accumulate_mul(ctx: Reversal, s: Accumulate, before: Var | None, env: Env, bars: Adjoints) -> None:
    b, bar, value = ctx.builder, _read_bar(ctx, s, env), swap(s.value, env)
    if ctx.activity.varies(s.value):
        if before is None:
            before = b.fresh(f"{s.memory.name}_before", s.memory.type)
            b.add(Load(before, ctx.memory(s.memory), _at(s, env), b.origin, s.site))
            ctx.lost[before] = s
        bars.add(s.value, b.let("mul", before, bar))
    _write_bar(ctx, s, env, b.let("mul", value, bar))


def _accumulate_extremum(ctx: Reversal, s: Accumulate, before: Var | None, env: Env, bars: Adjoints) -> None:
    """Gives the adjoint to the extremal value, known from the value before or equal to the final one."""
    b, bar, value = ctx.builder, _read_bar(ctx, s, env), swap(s.value, env)
    nothing = zero(bar.type)
    if before is not None:
        stays = b.let("gt" if s.op == "max" else "lt", before, value, hint="stays")
        won, left = b.let("select", stays, nothing, bar), b.let("select", stays, bar, nothing)
    else:
        final = b.fresh(s.memory.name, s.memory.type)
        b.add(Load(final, ctx.memory(s.memory), _at(s, env), b.origin, s.site))
        wins = b.let("eq", value, final, hint="wins")
        won, left = b.let("select", wins, bar, nothing), b.let("select", wins, nothing, bar)
    bars.add(s.value, won)
    _write_bar(ctx, s, env, left)
