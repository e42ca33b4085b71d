"""The backward sweep: statements in reverse order; each adds to the adjoints of its operands.

`accesses` has the adjoints of memory accesses.
A branch is replayed and then reversed, in a branch on the same condition; a loop is reversed trip by trip,
each replayed from its saved start. `forward_sweep` has run them before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Literal, assert_never

from dsim.analysis.activity import Activity
from dsim.analysis.poles import unchosen
from dsim.autodiff import accesses, custom_rules
from dsim.autodiff.adjoint_environment import Adjoints, Env, Reversal
from dsim.autodiff.forward_sweep import (
    Kept,
    Records,
    Replayed,
    Trips,
    alone,
    replay,
    restore,
    start_of_trip,
)
from dsim.autodiff.names import ADJOINT, zero
from dsim.autodiff.undo_logs import own, roll_back
from dsim.ir.build import FALSE, TRUE, Builder, const
from dsim.ir.copying import Copier
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
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.primitives import TABLE
from dsim.ir.trip_counts import trip_count
from dsim.ir.walk import free, statements, swap


def backward(ctx: Reversal, body: Sequence[Statement], records: Records, env: Env, bars: Adjoints) -> None:
    """Appends the backward sweep of `body`, which `replay` ran in `env` and for which it saved `records`."""
    for number in range(len(body) - 1, -1, -1):
        with ctx.backward_of(body[number]):
            _statement(ctx, body[number], records.get(number), env, bars)


def pullback(
    builder: Builder, body: Block, env: Env, by: Sequence[Var], seeds: Sequence[Atom]
) -> tuple[Atom, ...]:
    """Appends `body` in `env`, then its backward sweep; returns the adjoints of the floats `by`.

    `seeds` are the adjoints of the float yields. Memories, and all variables but `by`, count as constants.
    """
    activity = Activity((), by)
    activity.scan(body)
    ctx = Reversal(builder, activity, Copier(builder.names), ADJOINT, unchosen(body))
    env = dict(env)
    records = replay(ctx, body.statements, env)
    bars = Adjoints(builder, activity)
    floats = (y for y in body.yields if y.type.is_float)
    for y, seed in zip(floats, seeds, strict=True):
        bars.add(y, seed)
    backward(ctx, body.statements, records, env, bars)
    return tuple(bars.or_zero(v) for v in by)


def derivatives(
    builder: Builder,
    activity: Activity,
    s: Call,
    mode: Literal["jvp", "vjp"],
    seeds: Sequence[Atom],
    env: Env,
) -> tuple[Atom, ...]:
    """Appends the derivative of `s` by its rules; returns its results' tangents or arguments' adjoints.

    `env` has the values of the variables that `s` reads and binds. A missing rule is the transpose of the
    given one: its backward sweep with respect to its seeds.
    """
    rule, other = (s.jvp, s.vjp) if mode == "jvp" else (s.vjp, s.jvp)
    custom_rules.refuse_lost(s, activity)
    args, results = (tuple(swap(a, env) for a in atoms) for atoms in (s.args, s.results))
    if rule is not None:
        inner = {**env, **dict(zip(rule.params, (*args, *seeds, *results), strict=True))}
        copied = Copier(builder.names).block(rule.body, inner)
        for made in copied.statements:
            builder.add(made)
        return copied.yields
    if other is None:
        raise custom_rules.too_deep(s)
    linear = other.params[len(args) : len(other.params) - len(results)]
    anywhere = tuple(zero(v.type) for v in linear)
    inner = {**env, **dict(zip(other.params, (*args, *anywhere, *results), strict=True))}
    return pullback(builder, other.body, inner, linear, seeds)


def _call(ctx: Reversal, s: Call, env: Env, bars: Adjoints) -> None:
    floats = [r for r in s.results if r.type.is_float]
    if all(bars.of(r) is None for r in floats):
        return
    seeds = [bars.or_zero(r) for r in floats]
    adjoints = derivatives(ctx.builder, ctx.activity, s, "vjp", seeds, env)
    if not ctx.unchosen.isdisjoint(floats):
        adjoints = tuple(custom_rules.screened(ctx.builder, a, seeds) for a in adjoints)
    for arg, bar in zip(s.args, adjoints, strict=True):
        bars.add(arg, bar)


def _statement(  # noqa: C901, PLR0912 (one case a node)
    ctx: Reversal, s: Statement, record: Replayed | None, env: Env, bars: Adjoints
) -> None:
    match s:
        case Let():
            _let(ctx, s, env, bars)
        case Load():
            bar = bars.of(s.var)
            if bar is not None and ctx.activity.carries(s.memory):
                accesses.accumulate_bar(ctx, s, env, bar)
        case Store():
            if ctx.activity.carries(s.memory):
                accesses.store(ctx, s, env, bars)
            accesses.undo(ctx, s, record, env)
        case Accumulate():
            if ctx.activity.carries(s.memory):
                accesses.accumulate(ctx, s, record, env, bars)
            accesses.undo(ctx, s, record, env)
        case If():
            if isinstance(record, Kept):
                restore(ctx, record)
            if _reacts(ctx, s, bars):
                _if(ctx, s, env, bars)
        case For() | While():
            _trips(ctx, s, record, env, bars)
        case Call():
            _call(ctx, s, env, bars)
        case Probe(what="value", source=source) if source:
            ctx.births.setdefault(s.value, []).append(s)
        case Probe(what="value"):
            bar = bars.of(s.value)
            if bar is not None and (s.tie is None or any(map(ctx.reached.varies, s.across))):
                _watch(ctx, s, env, bar)
        case Alloc() | Probe() | Print() | Assert() | UndoLog() | Append() | LogMark() | RollBack():
            pass
        case Compact() | Derive():
            pass
        case _:
            assert_never(s)


def _trips(ctx: Reversal, s: For | While, record: Replayed | None, env: Env, bars: Adjoints) -> None:
    kept = record.kept if isinstance(record, Trips) else record
    kept = kept if isinstance(kept, Kept) else Kept()
    if not (isinstance(record, Trips) and record.marks):  # else each trip is undone by itself
        roll_back(ctx, kept.marks)
        kept = Kept(kept.buffers)
    if _reacts(ctx, s, bars):
        _loop(ctx, s, record, env, bars)
        kept = Kept(kept.buffers)
    restore(ctx, kept)


def _watch(ctx: Reversal, s: Probe, env: Env, bar: Atom) -> None:
    at, origin = tuple(swap(i, env) for i in s.at), ctx.builder.origin
    made = replace(s, value=bar, at=at, what="adjoint", across=(), origin=origin)
    if s.over is not None:
        made = replace(made, tie=TRUE, over=FALSE)  # its ties were counted by the primal
    elif s.tie is not None:
        made = replace(made, tie=swap(s.tie, env))
    ctx.builder.add(made)


def _let(ctx: Reversal, s: Let, env: Env, bars: Adjoints) -> None:
    bar = bars.of(s.var)
    if bar is None:
        return
    b = ctx.builder
    terms = [b.term(swap(a, env)) for a in s.args]
    row = TABLE[s.op]
    strong = s.var in ctx.unchosen and not row.guarded
    terms += [b.term(env[s.var]), b.term(const(1, s.var.type) if strong else bar)]
    products: list[Atom] = []
    for times, arg in zip(row.times, s.args, strict=True):
        if times is not None and ctx.activity.varies(arg):
            product = times(*terms).atom
            products.append(b.let("mul_strong", product, bar) if strong else product)
            bars.add(arg, products[-1])
    probes = ctx.births.get(s.var, ()) if products else ()
    for probe in probes:  # on a sum of adjoints, which is not finite if one of its terms is not
        total = reduce(partial(b.let, "add"), products)
        b.add(replace(probe, value=total, what="adjoint", source=(bar,), origin=b.origin))


def _reacts(ctx: Reversal, s: If | For | While, bars: Adjoints) -> bool:
    """Whether `s` has a backward sweep: a result has an adjoint, or it accesses memory with adjoints."""
    if any(bars.of(r) is not None for r in s.results):
        return True
    return any(
        isinstance(inner, Load | Store | Accumulate) and ctx.activity.carries(inner.memory)
        for inner in statements(Block((s,)))
    )


def _outer(ctx: Reversal, *inner: Block, but: Sequence[Var] = ()) -> list[Var]:
    """The varying free variables of the blocks `inner`."""
    found: dict[Var, None] = {}
    for block in inner:
        found.update(free(block))
    return [v for v in found if ctx.activity.varies(v) and v not in but]


def _if(ctx: Reversal, s: If, env: Env, bars: Adjoints) -> None:
    outer = _outer(ctx, s.then, s.orelse)
    then, orelse = (_branch(ctx, b, s, env, bars, outer) for b in (s.then, s.orelse))
    changed = [i for i, v in enumerate(outer) if not then.yields[i] == orelse.yields[i] == bars.or_zero(v)]
    results = tuple(ctx.builder.fresh(f"{outer[i].name}_{ADJOINT}", outer[i].type) for i in changed)
    then, orelse = (replace(b, yields=tuple(b.yields[i] for i in changed)) for b in (then, orelse))
    ctx.builder.add(If(swap(s.cond, env), then, orelse, results, ctx.builder.origin))
    for i, r in zip(changed, results, strict=True):
        bars.put(outer[i], r)


def _branch(ctx: Reversal, block: Block, s: If, env: Env, bars: Adjoints, outer: Sequence[Var]) -> Block:
    inner_bars = bars.inner({v: bar for v in outer if (bar := bars.of(v)) is not None})
    with ctx.builder.block() as made:
        _run_back(ctx, s, block, dict(env), inner_bars, tuple(bars.of(r) for r in s.results))
        yields = tuple(inner_bars.or_zero(v) for v in outer)
    return Block(tuple(made), yields)


def _run_back(
    ctx: Reversal, s: If | For, block: Block, env: Env, bars: Adjoints, yielded: Sequence[Atom | None]
) -> None:
    """Appends a replay of `block`, then its backward sweep from the adjoints of its yields."""
    around, ctx.region = ctx.region, ctx.recomputed.span(block.statements)
    with ctx.builder.at(s.origin):
        records = replay(ctx, block.statements, env)
    for y, bar in zip(block.yields, yielded, strict=True):
        bars.add(y, bar)
    backward(ctx, block.statements, records, env, bars)
    ctx.region = around


def _loop(ctx: Reversal, s: For | While, record: Replayed | None, env: Env, bars: Adjoints) -> None:
    """Appends the backward loop, which carries the adjoints of outer variables and of carried values."""
    b = ctx.builder
    trips = record if isinstance(record, Trips) else None
    loop = s if trips is None else trips.loop
    assert isinstance(loop, For)
    varying = [i for i, c in enumerate(loop.carried) if c in ctx.activity.variables]
    outer = _outer(ctx, loop.body, but=(loop.index, *loop.carried))
    init = (*(bars.or_zero(loop.results[i]) for i in varying), *(bars.or_zero(v) for v in outer))
    number, first, last, step = _backward_range(ctx, loop, trips, env)
    lonely = alone(ctx, s) and not (trips is not None and trips.marks)
    with b.block() as made, own(ctx, ctx.recomputed.inside(s) if lonely else ()):
        inner_env = _start_of_trip(ctx, loop, trips, number, env)
        followed = [*(loop.carried[i] for i in varying), *outer]
        carried = tuple(b.fresh(f"{v.name}_{ADJOINT}", v.type) for v in followed)
        yielded: list[Atom | None] = [None] * len(loop.carried)
        for i, bar in zip(varying, carried, strict=False):
            yielded[i] = bar
        inner_bars = bars.inner(dict(zip(outer, carried[len(varying) :], strict=True)))
        _run_back(ctx, loop, loop.body, inner_env, inner_bars, yielded)
        yields = tuple(inner_bars.or_zero(v) for v in followed)
    results = tuple(b.fresh(c.name, c.type) for c in carried)
    body = Block(tuple(made), yields)
    b.add(For(number, first, last, step, body, carried, init, results, origin=b.origin))
    for v, r in zip(outer, results[len(varying) :], strict=True):
        bars.put(v, r)
    for i, r in zip(varying, results, strict=False):
        bars.add(loop.init[i], r)


def _backward_range(ctx: Reversal, loop: For, trips: Trips | None, env: Env) -> tuple[Var, Atom, Atom, int]:
    """The counter of the backward loop and its range: the loop's own if the order does not matter."""
    b, ends = ctx.builder, (swap(loop.start, env), swap(loop.stop, env))
    if trips is None and _in_any_order(ctx, loop):
        return b.fresh(loop.index.name, loop.index.type), *ends, loop.step
    count = trip_count(b, loop, *ends) if trips is None else trips.count
    last = b.let("sub", count, const(1, count.type), hint="last")
    return b.fresh("back", count.type), last, const(-1, count.type), -1


def _in_any_order(ctx: Reversal, loop: For) -> bool:
    """Whether the trips of `loop` may be reversed in any order.

    Of trips that tie for a minimum or maximum the last one gets the adjoint, as in forward mode, so it must
    be reversed first.
    """
    return loop.parallel and not any(
        isinstance(s, Accumulate) and s.op in ("min", "max") and ctx.activity.carries(s.memory)
        for s in statements(loop.body)
    )


def _start_of_trip(ctx: Reversal, loop: For, trips: Trips | None, number: Var, env: Env) -> Env:
    if trips is not None:
        return start_of_trip(ctx, trips, number, env)
    if _in_any_order(ctx, loop):
        return {**env, loop.index: number}
    return start_of_trip(ctx, Trips(loop, number, swap(loop.start, env)), number, env)
