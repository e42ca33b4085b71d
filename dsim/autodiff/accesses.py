"""Loads, stores and accumulations backwards: what they do to adjoints, and how a write is undone.

``z = f[i]``   → ``f_bar[i] += z_bar``
``f[i] = v``   → ``v_bar += f_bar[i]; f_bar[i] = 0``
``f[i] += v``  → ``v_bar += f_bar[i]``
``f[i] max= v`` → the adjoint goes to `v` if `v` is the final value, else it stays with what was before
"""

from __future__ import annotations

from dsim.autodiff.bars import Bars, Env, Sweep
from dsim.autodiff.journals import Written
from dsim.autodiff.names import ADJOINT, zero
from dsim.autodiff.replay import Replayed
from dsim.ir.nodes import Accumulate, Atom, Load, Store, Var
from dsim.ir.walk import swap


def _at(s: Load | Store | Accumulate, env: Env) -> tuple[Atom, ...]:
    return tuple(swap(i, env) for i in s.index)


def accumulate_bar(sweep: Sweep, s: Load | Accumulate, env: Env, value: Atom) -> None:
    """Adds `value` to the adjoint of the element."""
    target = sweep.adjoint(s.memory)
    sweep.builder.add(Accumulate(target, _at(s, env), value, "add", None, sweep.builder.origin, s.site))


def _read_bar(sweep: Sweep, s: Store | Accumulate, env: Env) -> Var:
    memory = sweep.adjoint(s.memory)
    bar = sweep.builder.fresh(f"{s.memory.name}_{ADJOINT}", memory.type)
    sweep.builder.add(Load(bar, memory, _at(s, env), sweep.builder.origin, s.site))
    return bar


def _write_bar(sweep: Sweep, s: Store | Accumulate, env: Env, value: Atom) -> None:
    target = sweep.adjoint(s.memory)
    sweep.builder.add(Store(target, _at(s, env), value, sweep.builder.origin, s.site))


def store(sweep: Sweep, s: Store, env: Env, bars: Bars) -> None:
    """A store backwards."""
    if sweep.activity.varies(s.value):
        bars.add(s.value, _read_bar(sweep, s, env))
    _write_bar(sweep, s, env, zero(s.memory.type))


def undo(sweep: Sweep, s: Store | Accumulate, record: Replayed | None, env: Env) -> None:
    """Puts back what a write replaced."""
    if isinstance(record, Written) and record.kept is not None:
        target = sweep.memory(s.memory)
        sweep.builder.add(Store(target, _at(s, env), record.kept, sweep.builder.origin))


def accumulate(sweep: Sweep, s: Accumulate, record: Replayed | None, env: Env, bars: Bars) -> None:
    """An accumulation backwards."""
    known = record.before if isinstance(record, Written) else None
    varies = sweep.activity.varies(s.value)
    if s.op == "add":
        if varies:
            bars.add(s.value, _read_bar(sweep, s, env))
    elif s.op == "mul":
        _accumulate_mul(sweep, s, known, env, bars)
    else:
        _accumulate_extremum(sweep, s, known, env, bars)
    old_bar = None if s.old is None else bars.of(s.old)
    if old_bar is not None:
        accumulate_bar(sweep, s, env, old_bar)


def _accumulate_mul(sweep: Sweep, s: Accumulate, before: Var | None, env: Env, bars: Bars) -> None:
    b, bar, value = sweep.builder, _read_bar(sweep, s, env), swap(s.value, env)
    if sweep.activity.varies(s.value):
        if before is None:
            before = b.fresh(f"{s.memory.name}_before", s.memory.type)
            b.add(Load(before, sweep.memory(s.memory), _at(s, env), b.origin, s.site))
            sweep.lost[before] = s
        bars.add(s.value, b.let("mul", before, bar))
    _write_bar(sweep, s, env, b.let("mul", value, bar))


def _accumulate_extremum(sweep: Sweep, s: Accumulate, before: Var | None, env: Env, bars: Bars) -> None:
    """To the value that won: known from the value before, or equal to the final value."""
    b, bar, value = sweep.builder, _read_bar(sweep, s, env), swap(s.value, env)
    nothing = zero(bar.type)
    if before is not None:
        stays = b.let("gt" if s.op == "max" else "lt", before, value, hint="stays")
        won, left = b.let("select", stays, nothing, bar), b.let("select", stays, bar, nothing)
    else:
        final = b.fresh(s.memory.name, s.memory.type)
        b.add(Load(final, sweep.memory(s.memory), _at(s, env), b.origin, s.site))
        wins = b.let("eq", value, final, hint="wins")
        won, left = b.let("select", wins, bar, nothing), b.let("select", wins, nothing, bar)
    bars.add(s.value, won)
    _write_bar(sweep, s, env, left)
