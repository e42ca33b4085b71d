"""The forward sweep of an adjoint kernel: the primal once more, without effects, saving what loops carry.

A loop that carries values is run here so that (a) what follows sees its results and (b) each trip's
carried values are saved; the backward sweep then starts any trip from its saved values. A `While`
is run once to count its trips and once more as a counted loop.

Private memories go back in time with the backward sweep: a write keeps the value before, a branch or
loop keeps the buffers that it changes, and each trip of a loop that reads them saves a snapshot. So
whatever the backward sweep runs again finds its buffers as they were.

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
    Call,
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
from dsim.ir.walk import silent, statements, swap

Kept = dict[Memory, Memory]  # buffers and where their values from before are


@dataclass(frozen=True, slots=True)
class Trips:
    """What a replayed loop left for the backward sweep.

    `loop` is the loop as a counted one; its trips are numbered 0 to `count` - 1, trip k has the
    index ``first + k * step``. `saved` holds carried values by trip, `snapshots` the buffers that its
    body reads and changes, `kept` all that it changes as they were before it.
    """

    loop: For
    count: Atom
    first: Atom
    saved: dict[Var, Memory]
    snapshots: dict[Memory, Memory]
    kept: Kept


Record = Trips | Kept | Var  # of a loop, of a branch, of a write to private memory (the value before)
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
        case Store() | Accumulate(memory=Memory(private=True)):
            return _private_write(sweep, s, env)
        case Accumulate():
            _global_accumulate(sweep, s, env)
        case Alloc():
            _alloc(sweep, s, env)
        case If():
            return _if(sweep, s, env)
        case For():
            return _for(sweep, s, env)
        case While():
            return _while(sweep, s, env)
        case Call():
            # What it says, the primal has said.
            sweep.builder.add(sweep.copier.statement(replace(s, body=silent(s.body)), env))
        case _:
            sweep.builder.add(sweep.copier.statement(s, env))
    return None


def _private_write(sweep: Sweep, s: Store | Accumulate, env: Env) -> Var:
    before = sweep.builder.fresh(f"{s.memory.name}_before", s.memory.type)
    at = tuple(swap(i, env) for i in s.index)
    sweep.builder.add(Load(before, sweep.memory(s.memory), at, s.origin))
    sweep.builder.add(sweep.copier.statement(s, env))
    return before


def _global_accumulate(sweep: Sweep, s: Accumulate, env: Env) -> None:
    """A field's value before an accumulation is gone once the primal has run."""
    if s.old is not None:
        load = Load(s.old, s.memory, s.index, s.origin, s.site)
        copied = sweep.copier.statement(load, env)
        assert isinstance(copied, Load)
        sweep.lost[copied.var] = s
        sweep.builder.add(copied)


def _alloc(sweep: Sweep, s: Alloc, env: Env) -> None:
    copied = sweep.copier.statement(s, env)
    assert isinstance(copied, Alloc)
    sweep.builder.add(copied)
    sweep.shapes[s.memory] = copied.shape
    if s.memory in sweep.activity.private:
        bar = companion(copied.memory, sweep.label, sweep.builder.names)
        sweep.adjoints[copied.memory] = bar
        sweep.builder.add(replace(copied, memory=bar))


def _inside(sweep: Sweep, block: Block, env: Env) -> Block:
    inner_env = dict(env)
    with sweep.builder.block() as inner:
        replay(sweep, block.statements, inner_env)
    return Block(tuple(inner), tuple(swap(y, inner_env) for y in block.yields))


def _if(sweep: Sweep, s: If, env: Env) -> Kept:
    cond = swap(s.cond, env)
    kept = _keep(sweep, _changed_buffers(s.then, s.orelse))
    then, orelse = _inside(sweep, s.then, env), _inside(sweep, s.orelse, env)
    results = tuple(sweep.copier.variable(r, env) for r in s.results)
    sweep.builder.add(If(cond, then, orelse, results, s.origin))
    return kept


def _changed_buffers(*blocks: Block) -> tuple[Memory, ...]:
    """Private memories from outside of `blocks` that they change."""
    inside = [s for block in blocks for s in statements(block)]
    own = {s.memory for s in inside if isinstance(s, Alloc)}
    found: dict[Memory, None] = {}
    for s in inside:
        if isinstance(s, Store | Accumulate) and s.memory.private and s.memory not in own:
            found.setdefault(s.memory)
    return tuple(found)


def _read_buffers(block: Block, buffers: tuple[Memory, ...]) -> tuple[Memory, ...]:
    """Those of `buffers` whose values `block` depends on."""
    found: set[Memory] = set()
    for s in statements(block):
        if isinstance(s, Load) or (isinstance(s, Accumulate) and (s.old is not None or s.op != "add")):
            found.add(s.memory)
    return tuple(m for m in buffers if m in found)


def _for(sweep: Sweep, s: For, env: Env) -> Trips | None:
    buffers = _changed_buffers(s.body)
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
    snapshots = {m: _snapshot_area(sweep, m, count) for m in _read_buffers(s.body, buffers)}
    kept = _keep(sweep, buffers)
    inner_env = dict(env)
    carried = tuple(sweep.copier.variable(c, inner_env) for c in s.carried)
    trip = b.fresh("trip", count.type)
    number = sweep.copier.variable(s.index, inner_env)
    with b.block() as inner:
        for c, area in saved.items():
            b.add(Store(area, (trip,), inner_env[c], s.origin))
        for m, area in snapshots.items():
            _copy(sweep, sweep.memory(m), (), area, (trip,), sweep.shapes[m])
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
    return Trips(s, count if s.goes_on is None else made, first, saved, snapshots, kept)


def _save_area(sweep: Sweep, name: str, like: Var, count: Atom) -> Memory:
    area = Memory(sweep.builder.names.fresh(f"saved_{name}"), like.type, (None,), private=True)
    sweep.builder.add(Alloc(area, (count,), sweep.builder.origin))
    return area


def _snapshot_area(sweep: Sweep, memory: Memory, count: Atom) -> Memory:
    name = sweep.builder.names.fresh(f"saved_{memory.name}")
    area = Memory(name, memory.type, (None, *memory.shape), private=True)
    sweep.builder.add(Alloc(area, (count, *sweep.shapes[memory]), sweep.builder.origin))
    return area


def _copy(
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
        _copy(sweep, source, (*source_at, i), target, (*target_at, i), axes[1:])
    b.add(For(i, index(0), axes[0], 1, Block(tuple(inner)), origin=b.origin))


def _while(sweep: Sweep, s: While, env: Env) -> Trips:
    """Counts the trips, then replays the loop as ``for trip in range(count)``."""
    buffers = _changed_buffers(s.body)
    kept = _keep(sweep, buffers)
    count = _count(sweep, s, env)
    restore(sweep, kept)
    number = Var(sweep.builder.names.fresh("trip"), i32)
    counted = For(number, index(0), count, 1, s.body, s.carried, s.init, s.results, origin=s.origin)
    return _counted(sweep, counted, env, count, (index(0), count), buffers)


def _keep(sweep: Sweep, buffers: Iterable[Memory]) -> Kept:
    """Appends copies of `buffers`."""
    kept: Kept = {}
    for m in buffers:
        kept[m] = area = replace(m, name=sweep.builder.names.fresh(f"kept_{m.name}"))
        sweep.builder.add(Alloc(area, sweep.shapes[m], sweep.builder.origin))
        _copy(sweep, sweep.memory(m), (), area, (), sweep.shapes[m])
    return kept


def restore(sweep: Sweep, kept: Kept) -> None:
    """Appends what makes the buffers in `kept` what they were."""
    for m, area in kept.items():
        _copy(sweep, area, (), sweep.memory(m), (), sweep.shapes[m])


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
    for m, area in trips.snapshots.items():
        _copy(sweep, area, (k,), sweep.memory(m), (), sweep.shapes[m])
    return inner
