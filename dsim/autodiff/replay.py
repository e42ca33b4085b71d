"""The forward sweep of an adjoint kernel: the primal once more, without effects, saving what loops carry.

A loop that carries values is run here so that (a) what follows sees its results and (b) each trip's
carried values are saved; the backward sweep then starts any trip from its saved values. A `While`
is run once to count its trips and once more as a counted loop. Private memories that a loop changes
are loop state too: each trip saves a snapshot of them.
What is saved in vain is removed by `passes.drop_dead`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dsim.autodiff.bars import Env, Sweep
from dsim.autodiff.names import companion
from dsim.ir.build import TRUE, const, index
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Assert,
    Atom,
    Block,
    Const,
    For,
    If,
    Load,
    Memory,
    Print,
    Statement,
    Store,
    Var,
    While,
)
from dsim.ir.types import i32
from dsim.ir.walk import statements, swap


@dataclass(frozen=True, slots=True)
class Trips:
    """What a replayed loop left for the backward sweep.

    `loop` is the loop as a counted one; its trips are numbered 0 to `count` - 1, trip k has the
    index ``first + k * step``. `saved` holds carried values by trip, `snapshots` private memories.
    """

    loop: For
    count: Atom
    first: Atom
    saved: dict[Var, Memory]
    snapshots: dict[Memory, tuple[Memory, tuple[Atom, ...]]]


Record = Trips | Var  # of a private `mul` accumulation: the value before
Records = dict[int, Record]  # by the statement's number in its block


def replay(sweep: Sweep, body: Sequence[Statement], env: Env) -> Records:
    """Appends `body` without its effects; `env` gains what it binds."""
    records: Records = {}
    for number, s in enumerate(body):
        with sweep.builder.at(s.origin):
            record = _statement(sweep, s, env)
        if record is not None:
            records[number] = record
    return records


def _statement(sweep: Sweep, s: Statement, env: Env) -> Record | None:
    match s:
        case Print() | Assert():
            pass
        case Store(memory=Memory(private=False)):
            pass
        case Accumulate():
            return _accumulate(sweep, s, env)
        case Alloc():
            _alloc(sweep, s, env)
        case If():
            _if(sweep, s, env)
        case For():
            return _for(sweep, s, env)
        case While():
            return _while(sweep, s, env)
        case _:
            sweep.builder.add(sweep.copier.statement(s, env))
    return None


def _accumulate(sweep: Sweep, s: Accumulate, env: Env) -> Var | None:
    """The value before an accumulation is gone once the primal has run, except in private memory."""
    before: Var | None = None
    if s.memory.private:
        if s.op == "mul":  # its backward sweep needs the value before
            before = sweep.builder.fresh(f"{s.memory.name}_before", s.memory.type)
            at = tuple(swap(i, env) for i in s.index)
            sweep.builder.add(Load(before, sweep.memory(s.memory), at, s.origin))
        sweep.builder.add(sweep.copier.statement(s, env))
    elif s.old is not None:
        load = Load(s.old, s.memory, s.index, s.origin, s.site)
        copied = sweep.copier.statement(load, env)
        assert isinstance(copied, Load)
        sweep.lost[copied.var] = s
        sweep.builder.add(copied)
    return before


def _alloc(sweep: Sweep, s: Alloc, env: Env) -> None:
    copied = sweep.copier.statement(s, env)
    assert isinstance(copied, Alloc)
    sweep.builder.add(copied)
    if s.memory in sweep.activity.private:
        bar = companion(copied.memory, sweep.label, sweep.builder.names)
        sweep.adjoints[copied.memory] = bar
        sweep.builder.add(replace(copied, memory=bar))


def _inside(sweep: Sweep, block: Block, env: Env) -> Block:
    inner_env = dict(env)
    with sweep.builder.block() as inner:
        replay(sweep, block.statements, inner_env)
    return Block(tuple(inner), tuple(swap(y, inner_env) for y in block.yields))


def _if(sweep: Sweep, s: If, env: Env) -> None:
    cond = swap(s.cond, env)
    then, orelse = _inside(sweep, s.then, env), _inside(sweep, s.orelse, env)
    results = tuple(sweep.copier.variable(r, env) for r in s.results)
    sweep.builder.add(If(cond, then, orelse, results, s.origin))


def changed_buffers(block: Block) -> tuple[Memory, ...]:
    """Private memories from outside of `block` that it changes."""
    own = {s.memory for s in statements(block) if isinstance(s, Alloc)}
    found: dict[Memory, None] = {}
    for s in statements(block):
        if isinstance(s, Store | Accumulate) and s.memory.private and s.memory not in own:
            found.setdefault(s.memory)
    return tuple(found)


def _for(sweep: Sweep, s: For, env: Env) -> Trips | None:
    buffers = changed_buffers(s.body)
    if not s.carried and not buffers:
        return None  # nothing of it is seen afterwards; the backward sweep replays each trip
    count = trip_count(sweep, s, env)
    return _counted(sweep, s, env, count, (swap(s.start, env), swap(s.stop, env)), buffers)


def trip_count(sweep: Sweep, s: For, env: Env) -> Atom:
    """How many trips the range of `s` has."""
    b = sweep.builder
    start, stop = swap(s.start, env), swap(s.stop, env)
    low, high, step = (start, stop, s.step) if s.step > 0 else (stop, start, -s.step)
    distance = b.let("sub", high, low, hint="trips")
    if step != 1:
        distance = b.let("add", distance, const(step - 1, distance.type))
        distance = b.let("floordiv", distance, const(step, distance.type))
    return b.let("max", distance, const(0, distance.type), hint="trips")


def _counted(
    sweep: Sweep, s: For, env: Env, count: Atom, span: tuple[Atom, Atom], buffers: tuple[Memory, ...]
) -> Trips:
    """Appends the loop over `span`, with saves; a carried number counts the trips that are made."""
    b, (first, stop) = sweep.builder, span
    saved = {c: _save_area(sweep, c.name, c, count) for c in s.carried if c != s.goes_on}
    snapshots = {m: _snapshot_area(sweep, m, count) for m in buffers}
    inner_env = dict(env)
    carried = tuple(sweep.copier.variable(c, inner_env) for c in s.carried)
    trip = b.fresh("trip", count.type)
    number = sweep.copier.variable(s.index, inner_env)
    with b.block() as inner:
        for c, area in saved.items():
            b.add(Store(area, (trip,), inner_env[c], s.origin))
        for m, (area, shape) in snapshots.items():
            copy_buffer(sweep, sweep.memory(m), (), area, (trip,), shape)
        replay(sweep, s.body.statements, inner_env)
        after = b.let("add", trip, const(1, trip.type), hint="trip")
        yields = (*(swap(y, inner_env) for y in s.body.yields), after)
    goes_on = None if s.goes_on is None else inner_env[s.goes_on]
    assert goes_on is None or isinstance(goes_on, Var)
    init = (*(swap(i, env) for i in s.init), const(0, trip.type))
    results = tuple(sweep.copier.variable(r, env) for r in s.results)
    made = b.fresh("trips", count.type)
    b.add(
        For(
            number,
            first,
            stop,
            s.step,
            Block(tuple(inner), yields),
            (*carried, trip),
            init,
            (*results, made),
            goes_on,
            origin=s.origin,
        )
    )
    return Trips(s, count if s.goes_on is None else made, first, saved, snapshots)


def _save_area(sweep: Sweep, name: str, like: Var, count: Atom) -> Memory:
    area = Memory(sweep.builder.names.fresh(f"saved_{name}"), like.type, (None,), private=True)
    sweep.builder.add(Alloc(area, (count,), sweep.builder.origin))
    return area


def _snapshot_area(sweep: Sweep, memory: Memory, count: Atom) -> tuple[Memory, tuple[Atom, ...]]:
    shape = buffer_shape(memory)
    name = sweep.builder.names.fresh(f"saved_{memory.name}")
    area = Memory(name, memory.type, (None, *memory.shape), private=True)
    sweep.builder.add(Alloc(area, (count, *shape), sweep.builder.origin))
    return area, shape


def buffer_shape(memory: Memory) -> tuple[Const, ...]:
    """The lengths of a private memory's axes: the frontend's buffers have constant ones."""
    lengths = [n for n in memory.shape if n is not None]
    assert len(lengths) == len(memory.shape), f"{memory.name} has no constant shape"
    return tuple(index(n) for n in lengths)


def copy_buffer(
    sweep: Sweep,
    source: Memory,
    source_at: tuple[Atom, ...],
    target: Memory,
    target_at: tuple[Atom, ...],
    shape: Iterable[Atom],
) -> None:
    """Appends ``target[target_at] = source[source_at]`` for all of the axes in `shape`."""
    b, axes = sweep.builder, tuple(shape)
    if not axes:
        value = b.fresh(source.name, source.type)
        b.add(Load(value, source, source_at, b.origin))
        b.add(Store(target, target_at, value, b.origin))
        return
    i = b.fresh("entry", i32)
    with b.block() as inner:
        copy_buffer(sweep, source, (*source_at, i), target, (*target_at, i), axes[1:])
    b.add(For(i, index(0), axes[0], 1, Block(tuple(inner)), origin=b.origin))


def _while(sweep: Sweep, s: While, env: Env) -> Trips:
    """Counts the trips, then replays the loop as ``for trip in range(count)``."""
    buffers = changed_buffers(s.body)
    kept = {m: _copy_of(sweep, m) for m in buffers}
    count = _count(sweep, s, env)
    for m, area in kept.items():
        copy_buffer(sweep, area, (), sweep.memory(m), (), buffer_shape(m))
    number = Var(sweep.builder.names.fresh("trip"), i32)
    counted = For(number, index(0), count, 1, s.body, s.carried, s.init, s.results, origin=s.origin)
    return _counted(sweep, counted, env, count, (index(0), count), buffers)


def _copy_of(sweep: Sweep, memory: Memory) -> Memory:
    shape = buffer_shape(memory)
    area = replace(memory, name=sweep.builder.names.fresh(f"kept_{memory.name}"))
    sweep.builder.add(Alloc(area, shape, sweep.builder.origin))
    copy_buffer(sweep, sweep.memory(memory), (), area, (), shape)
    return area


def _count(sweep: Sweep, s: While, env: Env) -> Atom:
    b = sweep.builder
    inner_env = dict(env)
    carried = tuple(sweep.copier.variable(c, inner_env) for c in s.carried)
    trip, count = b.fresh("trip", i32), b.fresh("trips", i32)
    condition = _inside(sweep, s.condition, inner_env)
    body = _inside(sweep, s.body, inner_env)
    with b.block() as tail:
        after = b.let("add", trip, const(1, i32), hint="trip")
    body = Block((*body.statements, *tail), (*body.yields, after))
    results = tuple(b.fresh(r.name, r.type) for r in s.results)
    init = (*(swap(i, env) for i in s.init), const(0, i32))
    b.add(While(condition, body, (*carried, trip), init, (*results, count), s.origin))
    return count


def start_of_trip(sweep: Sweep, trips: Trips, k: Atom, env: Env) -> Env:
    """Appends what brings back trip `k`'s start; gives the environment of its body."""
    b, s = sweep.builder, trips.loop
    inner = dict(env)
    offset = b.let("mul", k, const(s.step, k.type))
    inner[s.index] = b.let("add", trips.first, offset, hint=s.index.name)
    for c in s.carried:
        if c == s.goes_on:
            inner[c] = TRUE
            continue
        value = sweep.copier.variable(c, inner)
        b.add(Load(value, trips.saved[c], (k,), s.origin))
    for m, (area, shape) in trips.snapshots.items():
        copy_buffer(sweep, area, (k,), sweep.memory(m), (), shape)
    return inner
