"""The forward sweep of an adjoint kernel: the primal once more, saving what the way back needs.

A loop that carries values is run here so that (a) what follows sees its results and (b) each trip's
carried values are saved; the backward sweep then starts any trip from its saved values. A `While`
is run once to count its trips and once more as a counted loop.

Memories go back in time with the backward sweep: when that of a statement begins they are as the
statement left them, when it ends as it found them. Private ones: a write keeps the value before, a branch
or loop keeps the buffers that it changes, and each trip of a loop that reads them saves a snapshot.
Fields, as far as the adjoint writes them again: `journals`.

What is saved in vain is removed by `passes.drop_dead`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dsim.autodiff import journals
from dsim.autodiff.bars import Env, Sweep
from dsim.autodiff.journals import Marks, Written
from dsim.autodiff.rerun import alloc, changed_buffers, inside, rerun, silent_call
from dsim.ir.build import TRUE, const
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
    Watch,
    While,
)
from dsim.ir.trips import index_of, trip_count
from dsim.ir.types import ScalarType, i64
from dsim.ir.walk import binds, parameters, statements, swap

_NONE = const(0, i64)  # trips: a `while` may make more than 32 bits count

Areas = dict[Memory, Memory]  # memories and where their values from before are


@dataclass(frozen=True, slots=True)
class Kept:
    """What brings back the state from before a branch or loop: of buffers, and of journals."""

    buffers: Areas = field(default_factory=dict)
    marks: Marks = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trips:
    """What a replayed loop left for the backward sweep.

    `loop` is the loop as a counted one; its trips are numbered 0 to `count` - 1, trip k has the
    index ``first + k * step``. `saved` holds carried values by trip, `snapshots` the buffers that its
    body reads and changes, `marks` the lengths of journals, where trips see what earlier ones wrote to
    fields; `kept` brings back what was before it.
    """

    loop: For
    count: Atom
    first: Atom
    saved: dict[Var, Memory] = field(default_factory=dict)
    snapshots: Areas = field(default_factory=dict)
    marks: Areas = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)


Replayed = Trips | Kept | Written  # of a loop, of a branch or a loop that carries nothing, of a write
Records = dict[int, Replayed]  # by the statement's number in its block


def replay(sweep: Sweep, body: Sequence[Statement], env: Env) -> Records:
    """Appends `body`, to go over it backwards then; `env` gains what it binds."""
    records: Records = {}
    for number, s in enumerate(body):
        with sweep.builder.at(s.origin):
            record = _statement(sweep, s, env)
        if record is not None:
            records[number] = record
    return records


def _statement(sweep: Sweep, s: Statement, env: Env) -> Replayed | None:
    match s:
        case Print() | Assert() | Watch():
            pass
        case Store(memory=Memory(private=False)) | Accumulate(memory=Memory(private=False)):
            return journals.keep(sweep, s, env)
        case Store() | Accumulate():
            return _private_write(sweep, s, env)
        case Alloc():
            alloc(sweep, s, env)
        case If():
            return _if(sweep, s, env)
        case For():
            return _for(sweep, s, env)
        case While():
            return _while(sweep, s, env)
        case Call():
            silent_call(sweep, s, env)
        case _:
            sweep.builder.add(sweep.copier.statement(s, env))
    return None


def _private_write(sweep: Sweep, s: Store | Accumulate, env: Env) -> Written:
    before = sweep.builder.fresh(f"{s.memory.name}_before", s.memory.type)
    at = tuple(swap(i, env) for i in s.index)
    sweep.builder.add(Load(before, sweep.memory(s.memory), at, s.origin))
    sweep.builder.add(sweep.copier.statement(s, env))
    return Written(before, before)


# branches ---------------------------------------------------------------------------------------


@contextmanager
def _forward(sweep: Sweep, s: If | For | While) -> Iterator[bool]:
    """Inside, `s` is run forward; gives whether what it writes to fields stays to be seen.

    If not it is undone at once, and done only where the adjoint is known to use what else comes out.
    """
    stays = sweep.again.seen(s, sweep.region)
    stays = stays or (isinstance(s, For | While) and sweep.again.goes_on(s))
    sweep.doing = stays or sweep.again.number(s) in sweep.again.used
    sweep.running = sweep.again.number(s)
    with sweep.builder.block() as made:
        yield stays
    sweep.doing, sweep.running = True, -1
    for inner in made:
        sweep.builder.add(inner)
    if not stays and sweep.again.inside(s):
        for inner in statements(Block(tuple(made))):
            bound = (*binds(inner), *parameters(inner))
            sweep.forward.update((v.name, sweep.again.number(s)) for v in bound)


def _if(sweep: Sweep, s: If, env: Env) -> Kept:
    cond = swap(s.cond, env)
    kept = _keep(sweep, changed_buffers(s.then, s.orelse))
    with _forward(sweep, s) as stays:
        marks = _marks(sweep, s)
        then, orelse = inside(sweep, s.then, env), inside(sweep, s.orelse, env)
        results = tuple(sweep.copier.variable(r, env) for r in s.results)
        sweep.builder.add(If(cond, then, orelse, results, s.origin))
        if not stays:
            journals.rewind(sweep, marks)
    return Kept(kept, marks if stays else {})


def _marks(sweep: Sweep, s: Statement) -> Marks:
    """Marks before `s` is run once more."""
    return journals.marks(sweep, sweep.again.inside(s)) if sweep.doing else {}


def _read_buffers(block: Block, buffers: tuple[Memory, ...]) -> tuple[Memory, ...]:
    """Those of `buffers` whose values `block` depends on."""
    found: set[Memory] = set()
    for s in statements(block):
        if isinstance(s, Load) or (isinstance(s, Accumulate) and (s.old is not None or s.op != "add")):
            found.add(s.memory)
    return tuple(m for m in buffers if m in found)


# loops ------------------------------------------------------------------------------------------


def _for(sweep: Sweep, s: For, env: Env) -> Trips | Kept | None:
    buffers, goes_on = changed_buffers(s.body), sweep.again.goes_on(s)
    with _forward(sweep, s) as stays:
        if not s.carried and not buffers and not stays:
            return None  # nothing of it is seen afterwards; the backward sweep replays each trip
        if not s.carried and not buffers and not goes_on:
            marks = _marks(sweep, s)
            rerun(sweep, (s,), env)
            return Kept({}, marks)
        count = trip_count(sweep.builder, s, swap(s.start, env), swap(s.stop, env))
        kept = Kept(_keep(sweep, buffers), _marks(sweep, s) if stays else {})
        memories = sweep.again.inside(s) if sweep.doing else ()
        fields = _Fields(memories, stays, goes_on, alone(sweep, s))
        span = swap(s.start, env), swap(s.stop, env)
        return _counted(sweep, s, env, count, span, kept, fields)


def alone(sweep: Sweep, s: For | While) -> bool:
    """Whether the trips of `s` may run at once: then each has journals of its own."""
    return isinstance(s, For) and s.parallel and sweep.again.outermost(s)


@dataclass(frozen=True, slots=True)
class _Fields:
    """The memories that a loop writes again.

    Whether that stays to be seen, whether by later trips of the loop, whether trips are alone.
    """

    memories: tuple[Memory, ...]
    stays: bool
    goes_on: bool
    alone: bool


def _counted(
    sweep: Sweep, s: For, env: Env, count: Atom, span: tuple[Atom, Atom], kept: Kept, fields: _Fields
) -> Trips:
    """Appends the loop over `span`, with saves; a carried number counts the trips that are made."""
    b, (first, stop) = sweep.builder, span
    saved = {c: _save_area(sweep, c.name, c.type, count) for c in s.carried if c != s.goes_on}
    buffers = _read_buffers(s.body, tuple(kept.buffers))
    snapshots = {m: _snapshot_area(sweep, m, count) for m in buffers}
    logged = fields.memories if fields.goes_on else ()
    marks = {m: _save_area(sweep, f"{m.name}_mark", i64, count) for m in logged}
    inner_env = dict(env)
    carried = tuple(sweep.copier.variable(c, inner_env) for c in s.carried)
    trip = b.fresh("trip", count.type)
    number = sweep.copier.variable(s.index, inner_env)
    with b.block() as inner:
        for c, area in saved.items():
            b.add(Store(area, (trip,), inner_env[c], s.origin))
        for m, area in snapshots.items():
            sweep.builder.copy_elements(sweep.memory(m), (), area, (trip,), sweep.shapes[m])
        for m, area in marks.items():
            b.add(Store(area, (trip,), journals.marks(sweep, (m,))[m], s.origin))
        if fields.stays or not fields.memories:
            rerun(sweep, s.body.statements, inner_env)
        else:
            _undone(sweep, s, inner_env, fields)
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
    trips = count if s.goes_on is None else made
    return Trips(s, trips, first, saved, snapshots, marks, kept)


def _undone(sweep: Sweep, s: For, env: Env, fields: _Fields) -> None:
    """Appends one trip of `s` of which nothing stays in the fields."""
    with journals.own(sweep, fields.memories if fields.alone else ()):
        marks = journals.marks(sweep, fields.memories)
        rerun(sweep, s.body.statements, env)
        journals.rewind(sweep, marks)


def _save_area(sweep: Sweep, name: str, type: ScalarType, count: Atom) -> Memory:
    area = Memory(sweep.builder.names.fresh(f"saved_{name}"), type, (None,), private=True)
    sweep.builder.add(Alloc(area, (count,), sweep.builder.origin, trips=True))
    return area


def _snapshot_area(sweep: Sweep, memory: Memory, count: Atom) -> Memory:
    name = sweep.builder.names.fresh(f"saved_{memory.name}")
    area = Memory(name, memory.type, (None, *memory.shape), private=True)
    shape = (count, *sweep.shapes[memory])
    sweep.builder.add(Alloc(area, shape, sweep.builder.origin, trips=True, kept=True))
    return area


def _while(sweep: Sweep, s: While, env: Env) -> Trips:
    """Counts the trips, then replays the loop as ``for trip in range(count)``."""
    with _forward(sweep, s) as stays:
        kept = Kept(_keep(sweep, changed_buffers(s.body)), _marks(sweep, s))
        count = _count(sweep, s, env)
        restore(sweep, kept)
        number = Var(sweep.builder.names.fresh("trip"), i64)
        counted = For(number, _NONE, count, 1, s.body, s.carried, s.init, s.results, origin=s.origin)
        fields = _Fields(tuple(kept.marks), stays, sweep.again.goes_on(s), alone=False)
        kept = replace(kept, marks=kept.marks if stays else {})
        return _counted(sweep, counted, env, count, (_NONE, count), kept, fields)


def _keep(sweep: Sweep, buffers: Iterable[Memory]) -> Areas:
    """Appends copies of `buffers`."""
    kept: Areas = {}
    for m in buffers:
        kept[m] = area = replace(m, name=sweep.builder.names.fresh(f"kept_{m.name}"))
        sweep.builder.add(Alloc(area, sweep.shapes[m], sweep.builder.origin, kept=True))
        sweep.builder.copy_elements(sweep.memory(m), (), area, (), sweep.shapes[m])
    return kept


def restore(sweep: Sweep, kept: Kept) -> None:
    """Appends what brings back what `kept` was made from."""
    for m, area in kept.buffers.items():
        sweep.builder.copy_elements(area, (), sweep.memory(m), (), sweep.shapes[m])
    journals.rewind(sweep, kept.marks)


def _count(sweep: Sweep, s: While, env: Env) -> Atom:
    b = sweep.builder
    inner_env = dict(env)
    carried = tuple(sweep.copier.variable(c, inner_env) for c in s.carried)
    trip, count = b.fresh("trip", i64), b.fresh("trips", i64)
    condition = inside(sweep, s.condition, inner_env)
    body = inside(sweep, s.body, inner_env)
    with b.block() as tail:
        after = b.let("add", trip, const(1, i64), hint="trip")
    body = Block((*body.statements, *tail), (*body.yields, after))
    results = tuple(b.fresh(r.name, r.type) for r in s.results)
    init = (*(swap(i, env) for i in s.init), _NONE)
    b.add(While(condition, body, (*carried, trip), init, (*results, count), s.origin, s.ends))
    return count


def start_of_trip(sweep: Sweep, trips: Trips, k: Atom, env: Env) -> Env:
    """Appends what brings back trip `k`'s start; gives the environment of its body."""
    b, s = sweep.builder, trips.loop
    inner = dict(env)
    inner[s.index] = index_of(b, trips.first, k, s.step, hint=s.index.name)
    for c in s.carried:
        if c == s.goes_on:
            inner[c] = TRUE
            continue
        value = sweep.copier.variable(c, inner)
        b.add(Load(value, trips.saved[c], (k,), s.origin))
    for m, area in trips.snapshots.items():
        sweep.builder.copy_elements(area, (k,), sweep.memory(m), (), sweep.shapes[m])
    for m, area in trips.marks.items():
        mark = b.fresh(f"{m.name}_mark", i64)
        b.add(Load(mark, area, (k,), s.origin))
        journals.rewind(sweep, {m: mark})
    return inner
