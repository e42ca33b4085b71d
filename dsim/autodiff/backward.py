"""The backward sweep: statements in reverse order, each adding to the adjoints of what it read.

Accesses to memory are the business of `accesses`.
A branch is run again, then backwards, in a branch on the same condition; a loop trip by trip, each
from its saved start. `replay` is the forward sweep that all this stands on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Literal

from dsim.analysis.activity import Activity
from dsim.analysis.guards import unchosen
from dsim.autodiff import accesses, calls
from dsim.autodiff.bars import Bars, Env, Sweep
from dsim.autodiff.journals import own, rewind
from dsim.autodiff.names import ADJOINT, zero
from dsim.autodiff.replay import (
    Kept,
    Records,
    Replayed,
    Trips,
    alone,
    replay,
    restore,
    start_of_trip,
)
from dsim.ir.build import FALSE, TRUE, Builder, const
from dsim.ir.nodes import (
    Accumulate,
    Atom,
    Block,
    Call,
    For,
    If,
    Let,
    Load,
    Statement,
    Store,
    Var,
    Watch,
    While,
)
from dsim.ir.primitives import TABLE
from dsim.ir.trips import trip_count
from dsim.ir.walk import Copier, free, statements, swap


def backward(sweep: Sweep, body: Sequence[Statement], records: Records, env: Env, bars: Bars) -> None:
    """Appends the backward sweep of `body`, which `replay` has run in `env` with these `records`."""
    for number in range(len(body) - 1, -1, -1):
        with sweep.backward_of(body[number]):
            _statement(sweep, body[number], records.get(number), env, bars)


def pullback(
    builder: Builder, body: Block, env: Env, by: Sequence[Var], seeds: Sequence[Atom]
) -> tuple[Atom, ...]:
    """Appends `body` in `env`, then its backward sweep; gives the adjoints of the floats `by`.

    `seeds` are the adjoints of the float yields. Memories, and all variables but `by`, count as constants.
    """
    activity = Activity((), by)
    activity.scan(body)
    sweep = Sweep(builder, activity, Copier(builder.names), ADJOINT, unchosen(body))
    env = dict(env)
    records = replay(sweep, body.statements, env)
    bars = Bars(builder, activity)
    floats = (y for y in body.yields if y.type.is_float)
    for y, seed in zip(floats, seeds, strict=True):
        bars.add(y, seed)
    backward(sweep, body.statements, records, env, bars)
    return tuple(bars.or_zero(v) for v in by)


def derivatives(
    builder: Builder,
    activity: Activity,
    s: Call,
    mode: Literal["jvp", "vjp"],
    seeds: Sequence[Atom],
    env: Env,
) -> tuple[Atom, ...]:
    """Appends what the rules of `s` say; gives the tangents of its float results, or its arguments' adjoints.

    `env` has the values of the variables that `s` reads and binds. The rule that is missing is the
    transpose of the one that is given: that one backwards, by its seeds.
    """
    rule, other = (s.jvp, s.vjp) if mode == "jvp" else (s.vjp, s.jvp)
    calls.refuse_lost(s, activity)
    args, results = (tuple(swap(a, env) for a in atoms) for atoms in (s.args, s.results))
    if rule is not None:
        inner = {**env, **dict(zip(rule.params, (*args, *seeds, *results), strict=True))}
        copied = Copier(builder.names).block(rule.body, inner)
        for made in copied.statements:
            builder.add(made)
        return copied.yields
    if other is None:
        raise calls.too_deep(s)
    linear = other.params[len(args) : len(other.params) - len(results)]
    anywhere = tuple(zero(v.type) for v in linear)
    inner = {**env, **dict(zip(other.params, (*args, *anywhere, *results), strict=True))}
    return pullback(builder, other.body, inner, linear, seeds)


def _call(sweep: Sweep, s: Call, env: Env, bars: Bars) -> None:
    floats = [r for r in s.results if r.type.is_float]
    if all(bars.of(r) is None for r in floats):
        return
    seeds = [bars.or_zero(r) for r in floats]
    adjoints = derivatives(sweep.builder, sweep.activity, s, "vjp", seeds, env)
    if not sweep.unchosen.isdisjoint(floats):
        adjoints = tuple(calls.screened(sweep.builder, a, seeds) for a in adjoints)
    for arg, bar in zip(s.args, adjoints, strict=True):
        bars.add(arg, bar)


def _statement(  # noqa: C901, PLR0912 (one case a node)
    sweep: Sweep, s: Statement, record: Replayed | None, env: Env, bars: Bars
) -> None:
    match s:
        case Let():
            _let(sweep, s, env, bars)
        case Load():
            bar = bars.of(s.var)
            if bar is not None and sweep.activity.carries(s.memory):
                accesses.accumulate_bar(sweep, s, env, bar)
        case Store():
            if sweep.activity.carries(s.memory):
                accesses.store(sweep, s, env, bars)
            accesses.undo(sweep, s, record, env)
        case Accumulate():
            if sweep.activity.carries(s.memory):
                accesses.accumulate(sweep, s, record, env, bars)
            accesses.undo(sweep, s, record, env)
        case If():
            if isinstance(record, Kept):
                restore(sweep, record)
            if _reacts(sweep, s, bars):
                _if(sweep, s, env, bars)
        case For() | While():
            kept = record.kept if isinstance(record, Trips) else record
            kept = kept if isinstance(kept, Kept) else Kept()
            if not (isinstance(record, Trips) and record.marks):  # else it is undone trip by trip
                rewind(sweep, kept.marks)
                kept = Kept(kept.buffers)
            if _reacts(sweep, s, bars):
                _loop(sweep, s, record, env, bars)
                kept = Kept(kept.buffers)
            restore(sweep, kept)
        case Call():
            _call(sweep, s, env, bars)
        case Watch(what="value", source=source) if source:
            sweep.births.setdefault(s.value, []).append(s)
        case Watch(what="value"):
            bar = bars.of(s.value)
            if bar is not None and (s.tie is None or any(map(sweep.reached.varies, s.across))):
                _watch(sweep, s, env, bar)
        case _:
            pass


def _watch(sweep: Sweep, s: Watch, env: Env, bar: Atom) -> None:
    at, origin = tuple(swap(i, env) for i in s.at), sweep.builder.origin
    made = replace(s, value=bar, at=at, what="adjoint", across=(), origin=origin)
    if s.over is not None:
        made = replace(made, tie=TRUE, over=FALSE)  # its ties were counted by the primal
    elif s.tie is not None:
        made = replace(made, tie=swap(s.tie, env))
    sweep.builder.add(made)


def _let(sweep: Sweep, s: Let, env: Env, bars: Bars) -> None:
    bar = bars.of(s.var)
    if bar is None:
        return
    b = sweep.builder
    terms = [b.term(swap(a, env)) for a in s.args]
    row = TABLE[s.op]
    strong = s.var in sweep.unchosen and not row.unit
    result, factor = b.term(env[s.var]), b.term(const(1, s.var.type) if strong else bar)
    products: list[Atom] = []
    for times, arg in zip(row.times, s.args, strict=True):
        if times is not None and sweep.activity.varies(arg):
            product = times(*terms, result, factor).atom
            products.append(b.let("mul_strong", product, bar) if strong else product)
            bars.add(arg, products[-1])
    watches = sweep.births.get(s.var, ()) if products else ()
    for watch in watches:  # of a sum, since it is not finite where one of its terms is not
        total = reduce(partial(b.let, "add"), products)
        b.add(replace(watch, value=total, what="adjoint", source=(bar,), origin=b.origin))


def _reacts(sweep: Sweep, s: If | For | While, bars: Bars) -> bool:
    """Whether the backward sweep of `s` does anything: a result's adjoint is known or memory is touched."""
    if any(bars.of(r) is not None for r in s.results):
        return True
    return any(
        isinstance(inner, Load | Store | Accumulate) and sweep.activity.carries(inner.memory)
        for inner in statements(Block((s,)))
    )


def _outer(sweep: Sweep, *inner: Block, but: Sequence[Var] = ()) -> list[Var]:
    """The varying variables from outside that the blocks `inner` read."""
    found: dict[Var, None] = {}
    for block in inner:
        found.update(free(block))
    return [v for v in found if sweep.activity.varies(v) and v not in but]


def _if(sweep: Sweep, s: If, env: Env, bars: Bars) -> None:
    outer = _outer(sweep, s.then, s.orelse)
    then, orelse = (_branch(sweep, b, s, env, bars, outer) for b in (s.then, s.orelse))
    changed = [i for i, v in enumerate(outer) if not then.yields[i] == orelse.yields[i] == bars.or_zero(v)]
    results = tuple(sweep.builder.fresh(f"{outer[i].name}_{ADJOINT}", outer[i].type) for i in changed)
    then, orelse = (replace(b, yields=tuple(b.yields[i] for i in changed)) for b in (then, orelse))
    sweep.builder.add(If(swap(s.cond, env), then, orelse, results, sweep.builder.origin))
    for i, r in zip(changed, results, strict=True):
        bars.put(outer[i], r)


def _branch(sweep: Sweep, block: Block, s: If, env: Env, bars: Bars, outer: Sequence[Var]) -> Block:
    inner_bars = bars.inner({v: bar for v in outer if (bar := bars.of(v)) is not None})
    with sweep.builder.block() as made:
        _run_back(sweep, s, block, dict(env), inner_bars, tuple(bars.of(r) for r in s.results))
        yields = tuple(inner_bars.or_zero(v) for v in outer)
    return Block(tuple(made), yields)


def _run_back(
    sweep: Sweep, s: If | For, block: Block, env: Env, bars: Bars, yielded: Sequence[Atom | None]
) -> None:
    """Appends `block` forward, then backward from the adjoints of what it yields."""
    around, sweep.region = sweep.region, sweep.again.span(block.statements)
    with sweep.builder.at(s.origin):
        records = replay(sweep, block.statements, env)
    for y, bar in zip(block.yields, yielded, strict=True):
        bars.add(y, bar)
    backward(sweep, block.statements, records, env, bars)
    sweep.region = around


def _loop(sweep: Sweep, s: For | While, record: Replayed | None, env: Env, bars: Bars) -> None:
    """Trip by trip backwards; adjoints of outer variables and of carried values are carried."""
    b = sweep.builder
    trips = record if isinstance(record, Trips) else None
    loop = s if trips is None else trips.loop
    assert isinstance(loop, For)
    varying = [i for i, c in enumerate(loop.carried) if c in sweep.activity.variables]
    outer = _outer(sweep, loop.body, but=(loop.index, *loop.carried))
    init = (*(bars.or_zero(loop.results[i]) for i in varying), *(bars.or_zero(v) for v in outer))
    number, first, last, step = _backward_range(sweep, loop, trips, env)
    lonely = alone(sweep, s) and not (trips is not None and trips.marks)
    with b.block() as made, own(sweep, sweep.again.inside(s) if lonely else ()):
        inner_env = _start_of_trip(sweep, loop, trips, number, env)
        followed = [*(loop.carried[i] for i in varying), *outer]
        carried = tuple(b.fresh(f"{v.name}_{ADJOINT}", v.type) for v in followed)
        yielded: list[Atom | None] = [None] * len(loop.carried)
        for i, bar in zip(varying, carried, strict=False):
            yielded[i] = bar
        inner_bars = bars.inner(dict(zip(outer, carried[len(varying) :], strict=True)))
        _run_back(sweep, loop, loop.body, inner_env, inner_bars, yielded)
        yields = tuple(inner_bars.or_zero(v) for v in followed)
    results = tuple(b.fresh(c.name, c.type) for c in carried)
    body = Block(tuple(made), yields)
    b.add(For(number, first, last, step, body, carried, init, results, origin=b.origin))
    for v, r in zip(outer, results[len(varying) :], strict=True):
        bars.put(v, r)
    for i, r in zip(varying, results, strict=False):
        bars.add(loop.init[i], r)


def _backward_range(sweep: Sweep, loop: For, trips: Trips | None, env: Env) -> tuple[Var, Atom, Atom, int]:
    """The counter of the backward loop and its range: the loop's own where the order does not matter."""
    b, ends = sweep.builder, (swap(loop.start, env), swap(loop.stop, env))
    if trips is None and _in_any_order(sweep, loop):
        return b.fresh(loop.index.name, loop.index.type), *ends, loop.step
    count = trip_count(b, loop, *ends) if trips is None else trips.count
    last = b.let("sub", count, const(1, count.type), hint="last")
    return b.fresh("back", count.type), last, const(-1, count.type), -1


def _in_any_order(sweep: Sweep, loop: For) -> bool:
    """Whether the trips of `loop` may be undone in the order in which they were made.

    Of trips that tie for a minimum or maximum the last one has the adjoint, as in forward mode: it must
    come first.
    """
    return loop.parallel and not any(
        isinstance(s, Accumulate) and s.op in ("min", "max") and sweep.activity.carries(s.memory)
        for s in statements(loop.body)
    )


def _start_of_trip(sweep: Sweep, loop: For, trips: Trips | None, number: Var, env: Env) -> Env:
    if trips is not None:
        return start_of_trip(sweep, trips, number, env)
    if _in_any_order(sweep, loop):
        return {**env, loop.index: number}
    return start_of_trip(sweep, Trips(loop, number, swap(loop.start, env)), number, env)
