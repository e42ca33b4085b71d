"""The forward sweep of an adjoint kernel: replays the primal and saves residuals for the backward sweep.

A loop that carries values is run here so that (a) later statements have its results and (b) the carried
values of each trip are saved; the backward sweep starts any trip from its saved values. A `While`
is run once to count its trips and once more as a counted loop.

The backward sweep restores memories step by step: when that of a statement begins they are as the statement
left them, when it ends as it found them. For private ones a write saves the value before, a branch or loop
copies the buffers that it writes, and each trip of a loop that reads them saves a snapshot. Fields whose
writes the adjoint repeats have `undo_logs`.

Unused residuals are removed by `passes.dead_code_elimination`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import NamedTuple, assert_never

from dsim.autodiff import undo_logs
from dsim.autodiff.adjoint_environment import Env, Reversal
from dsim.autodiff.recomputation import alloc, changed_buffers, inside, rerun, silent_call
from dsim.autodiff.undo_logs import Marks, UndoneWrite
from dsim.ir.build import TRUE, const
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Atom,
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
    Residual,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.trip_counts import index_of, trip_count
from dsim.ir.types import ScalarType, i64
from dsim.ir.walk import binds, parameters, statements, swap
from dsim.records import record

_NONE = const(0, i64)  # a trip count: a `while` may exceed 32 bits

Areas = dict[Memory, Memory]  # memories and the copies of their values before


@record
class Kept:
    """What restores the state before a branch or loop: copies of buffers, and marks in undo logs."""

    buffers: Areas = field(default_factory=Areas)
    marks: Marks = field(default_factory=Marks)


@record
class Trips:
    """The residuals of a replayed loop.

    `loop` is the loop as a counted one; its trips are numbered 0 to `count` - 1, trip k has the
    index ``first + k * step``. `saved` holds carried values by trip, `snapshots` those of buffers that its
    body reads and writes, `marks` the lengths of undo logs, if trips read what earlier ones wrote to
    fields; `kept` restores the state before the loop.
    """

    loop: For
    count: Atom
    first: Atom
    saved: dict[Var, Memory] = field(default_factory=dict[Var, Memory])
    snapshots: Areas = field(default_factory=Areas)
    marks: Areas = field(default_factory=Areas)
    kept: Kept = field(default_factory=Kept)


Replayed = Trips | Kept | UndoneWrite  # of a loop, of a branch or a loop that carries nothing, of a write
Records = dict[int, Replayed]  # by the statement's number in its block


def replay(ctx: Reversal, body: Sequence[Statement], env: Env) -> Records:
    """Appends a replay of `body` for its backward sweep; extends `env` by the variables that it binds."""
    records: Records = {}
    for number, s in enumerate(body):
        with ctx.builder.at(s.origin):
            record = _statement(ctx, s, env)
        if record is not None:
            records[number] = record
    return records


def _statement(ctx: Reversal, s: Statement, env: Env) -> Replayed | None:
    match s:
        case Print() | Assert() | Probe():
            pass
        case Store(memory=Memory(private=False)) | Accumulate(memory=Memory(private=False)):
            return undo_logs.keep(ctx, s, env)
        case Store() | Accumulate():
            return _private_write(ctx, s, env)
        case Alloc():
            alloc(ctx, s, env)
        case If():
            return _if(ctx, s, env)
        case For():
            return _for(ctx, s, env)
        case While():
            return _while(ctx, s, env)
        case Call():
            silent_call(ctx, s, env)
        case Let() | Load() | UndoLog() | Append() | LogMark() | RollBack() | Compact() | Derive():
            ctx.builder.add(ctx.copier.statement(s, env))
        case _:
            assert_never(s)
    return None


def _private_write(ctx: Reversal, s: Store | Accumulate, env: Env) -> UndoneWrite:
    before = ctx.builder.fresh(f"{s.memory.name}_before", s.memory.type)
    at = tuple(swap(i, env) for i in s.index)
    ctx.builder.add(Load(before, ctx.memory(s.memory), at, s.origin))
    ctx.builder.add(ctx.copier.statement(s, env))
    return UndoneWrite(before, before)


# branches ---------------------------------------------------------------------------------------


@contextmanager
def _forward(ctx: Reversal, s: If | For | While) -> Generator[bool, None, None]:
    """Reruns `s` inside; yields whether its writes to fields stay, since a later read depends on them.

    If not they are undone at once, and made at all only if the adjoint uses other results of `s`.
    """
    stays = ctx.recomputed.seen(s, ctx.region)
    stays = stays or (isinstance(s, For | While) and ctx.recomputed.goes_on(s))
    ctx.repeats_writes = stays or ctx.recomputed.number(s) in ctx.recomputed.used
    ctx.running = ctx.recomputed.number(s)
    with ctx.builder.block() as made:
        yield stays
    ctx.repeats_writes, ctx.running = True, -1
    for inner in made:
        ctx.builder.add(inner)
    if not stays and ctx.recomputed.inside(s):
        for inner in statements(Block(tuple(made))):
            bound = (*binds(inner), *parameters(inner))
            ctx.forward.update((v.name, ctx.recomputed.number(s)) for v in bound)


def _if(ctx: Reversal, s: If, env: Env) -> Kept:
    cond = swap(s.cond, env)
    kept = _keep(ctx, changed_buffers(s.then, s.orelse))
    with _forward(ctx, s) as stays:
        marks = _marks(ctx, s)
        then, orelse = inside(ctx, s.then, env), inside(ctx, s.orelse, env)
        results = tuple(ctx.copier.variable(r, env) for r in s.results)
        ctx.builder.add(If(cond, then, orelse, results, s.origin))
        if not stays:
            undo_logs.roll_back(ctx, marks)
    return Kept(kept, marks if stays else {})


def _marks(ctx: Reversal, s: Statement) -> Marks:
    """Appends undo-log marks before a rerun of `s`."""
    return undo_logs.marks(ctx, ctx.recomputed.inside(s)) if ctx.repeats_writes else {}


def _read_buffers(block: Block, buffers: tuple[Memory, ...]) -> tuple[Memory, ...]:
    """Those of `buffers` whose values `block` depends on."""
    found: set[Memory] = set()
    for s in statements(block):
        if isinstance(s, Load) or (isinstance(s, Accumulate) and (s.old is not None or s.op != "add")):
            found.add(s.memory)
    return tuple(m for m in buffers if m in found)


# loops ------------------------------------------------------------------------------------------


def _for(ctx: Reversal, s: For, env: Env) -> Trips | Kept | None:
    buffers, goes_on = changed_buffers(s.body), ctx.recomputed.goes_on(s)
    with _forward(ctx, s) as stays:
        if not s.carried and not buffers and not stays:
            return None  # no later statement depends on it; the backward sweep replays each trip
        if not s.carried and not buffers and not goes_on:
            marks = _marks(ctx, s)
            rerun(ctx, (s,), env)
            return Kept({}, marks)
        count = trip_count(ctx.builder, s, swap(s.start, env), swap(s.stop, env))
        kept = Kept(_keep(ctx, buffers), _marks(ctx, s) if stays else {})
        memories = ctx.recomputed.inside(s) if ctx.repeats_writes else ()
        fields = _Fields(memories, stays, goes_on, alone(ctx, s))
        span = swap(s.start, env), swap(s.stop, env)
        return _counted(ctx, s, env, count, span, kept, fields)


def alone(ctx: Reversal, s: For | While) -> bool:
    """Whether the trips of `s` may run concurrently: then each has undo logs of its own."""
    return isinstance(s, For) and s.parallel and ctx.recomputed.outermost(s)


class _Fields(NamedTuple):
    """The memories to which a loop repeats writes.

    And whether these stay for later reads, also in later trips of the loop, and whether trips are `alone`.
    """

    memories: tuple[Memory, ...]
    stays: bool
    goes_on: bool
    alone: bool


def _counted(
    ctx: Reversal, s: For, env: Env, count: Atom, span: tuple[Atom, Atom], kept: Kept, fields: _Fields
) -> Trips:
    """Appends the loop over `span`, which saves residuals; a carried value counts the trips made."""
    b, (first, stop) = ctx.builder, span
    values = Residual("values", by="trip")
    saved = {c: _save_area(ctx, c.name, c.type, count, values) for c in s.carried if c != s.goes_on}
    buffers = _read_buffers(s.body, tuple(kept.buffers))
    snapshots = {m: _snapshot_area(ctx, m, count) for m in buffers}
    logged = fields.memories if fields.goes_on else ()
    marks = {
        m: _save_area(ctx, f"{m.name}_mark", i64, count, Residual("marks", by="trip", of=m)) for m in logged
    }
    inner_env = dict(env)
    carried = tuple(ctx.copier.variable(c, inner_env) for c in s.carried)
    trip = b.fresh("trip", count.type)
    number = ctx.copier.variable(s.index, inner_env)
    with b.block() as inner:
        for c, area in saved.items():
            b.add(Store(area, (trip,), inner_env[c], s.origin))
        for m, area in snapshots.items():
            ctx.builder.copy_elements(ctx.memory(m), (), area, (trip,), ctx.shapes[m])
        for m, area in marks.items():
            b.add(Store(area, (trip,), undo_logs.marks(ctx, (m,))[m], s.origin))
        if fields.stays or not fields.memories:
            rerun(ctx, s.body.statements, inner_env)
        else:
            _undone(ctx, s, inner_env, fields)
        after = b.let("add", trip, const(1, trip.type), hint="trip")
        yields = (*(swap(y, inner_env) for y in s.body.yields), after)
    goes_on = None if s.goes_on is None else inner_env[s.goes_on]
    assert goes_on is None or isinstance(goes_on, Var)
    init = (*(swap(i, env) for i in s.init), const(0, trip.type))
    results = tuple(ctx.copier.variable(r, env) for r in s.results)
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


def _undone(ctx: Reversal, s: For, env: Env, fields: _Fields) -> None:
    """Appends one trip of `s` and undoes its writes to fields."""
    with undo_logs.own(ctx, fields.memories if fields.alone else ()):
        marks = undo_logs.marks(ctx, fields.memories)
        rerun(ctx, s.body.statements, env)
        undo_logs.roll_back(ctx, marks)


def _save_area(ctx: Reversal, name: str, type: ScalarType, count: Atom, saves: Residual) -> Memory:
    area = Memory(ctx.builder.names.fresh(f"saved_{name}"), type, (None,), private=True)
    ctx.builder.add(Alloc(area, (count,), ctx.builder.origin, saves))
    return area


def _snapshot_area(ctx: Reversal, memory: Memory, count: Atom) -> Memory:
    name = ctx.builder.names.fresh(f"saved_{memory.name}")
    area = Memory(name, memory.type, (None, *memory.shape), private=True)
    shape = (count, *ctx.shapes[memory])
    saves = Residual("snapshot", by="trip", of=ctx.memory(memory))
    ctx.builder.add(Alloc(area, shape, ctx.builder.origin, saves))
    return area


def _while(ctx: Reversal, s: While, env: Env) -> Trips:
    """Counts the trips, then replays the loop as ``for trip in range(count)``."""
    with _forward(ctx, s) as stays:
        kept = Kept(_keep(ctx, changed_buffers(s.body)), _marks(ctx, s))
        count = _count(ctx, s, env)
        restore(ctx, kept)
        number = Var(ctx.builder.names.fresh("trip"), i64)
        counted = For(number, _NONE, count, 1, s.body, s.carried, s.init, s.results, origin=s.origin)
        fields = _Fields(tuple(kept.marks), stays, ctx.recomputed.goes_on(s), alone=False)
        kept = replace(kept, marks=kept.marks if stays else {})
        return _counted(ctx, counted, env, count, (_NONE, count), kept, fields)


def _keep(ctx: Reversal, buffers: Iterable[Memory]) -> Areas:
    """Appends copies of `buffers`."""
    kept: Areas = {}
    for m in buffers:
        kept[m] = area = replace(m, name=ctx.builder.names.fresh(f"kept_{m.name}"))
        saves = Residual("snapshot", of=ctx.memory(m))
        ctx.builder.add(Alloc(area, ctx.shapes[m], ctx.builder.origin, saves))
        ctx.builder.copy_elements(ctx.memory(m), (), area, (), ctx.shapes[m])
    return kept


def restore(ctx: Reversal, kept: Kept) -> None:
    """Appends statements that restore the state saved in `kept`."""
    for m, area in kept.buffers.items():
        ctx.builder.copy_elements(area, (), ctx.memory(m), (), ctx.shapes[m])
    undo_logs.roll_back(ctx, kept.marks)


def _count(ctx: Reversal, s: While, env: Env) -> Atom:
    b = ctx.builder
    inner_env = dict(env)
    carried = tuple(ctx.copier.variable(c, inner_env) for c in s.carried)
    trip, count = b.fresh("trip", i64), b.fresh("trips", i64)
    condition = inside(ctx, s.condition, inner_env)
    body = inside(ctx, s.body, inner_env)
    with b.block() as tail:
        after = b.let("add", trip, const(1, i64), hint="trip")
    body = Block((*body.statements, *tail), (*body.yields, after))
    results = tuple(b.fresh(r.name, r.type) for r in s.results)
    init = (*(swap(i, env) for i in s.init), _NONE)
    b.add(While(condition, body, (*carried, trip), init, (*results, count), s.origin, s.ends))
    return count


def start_of_trip(ctx: Reversal, trips: Trips, k: Atom, env: Env) -> Env:
    """Appends statements that restore the start of trip `k`; returns the environment of its body."""
    b, s = ctx.builder, trips.loop
    inner = dict(env)
    inner[s.index] = index_of(b, trips.first, k, s.step, hint=s.index.name)
    for c in s.carried:
        if c == s.goes_on:
            inner[c] = TRUE
            continue
        value = ctx.copier.variable(c, inner)
        b.add(Load(value, trips.saved[c], (k,), s.origin))
    for m, area in trips.snapshots.items():
        ctx.builder.copy_elements(area, (k,), ctx.memory(m), (), ctx.shapes[m])
    for m, area in trips.marks.items():
        mark = b.fresh(f"{m.name}_mark", i64)
        b.add(Load(mark, area, (k,), s.origin))
        undo_logs.roll_back(ctx, {m: mark})
    return inner
