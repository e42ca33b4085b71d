"""Soundness on random loop nests: an execution of every iteration never shows what the analyses rule out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from dsim.analysis.access_rules import overwritten
from dsim.analysis.affine import Affine
from dsim.analysis.bounds import bounds
from dsim.analysis.dependence.independence import loop_independence
from dsim.analysis.effects import effects
from dsim.analysis.regions import regions
from dsim.analysis.write_plans import Plan, write_plan
from dsim.ir.nodes import Accumulate, For, KernelIR, Load, Memory, Store
from dsim.ir.show import show
from dsim.ir.term import Term
from dsim.ir.types import f32, i32
from dsim.ir.walk import statements
from tests.analysis.kernels import Number, Program
from tests.analysis.trace import Event, trace

pytestmark = pytest.mark.slow

SMALL = st.integers(-2, 3)


@st.composite
def kernels(draw: st.DrawFn) -> KernelIR:
    """Up to three nested loops with two to five accesses to two fields, indexed in many ways."""
    p = Program()
    t = p.param("t")
    fields = [p.field("x", 12), p.field("y", 6, 6)]
    ends = p.field("ends", 8, type=i32)
    _block(draw, p, [t], fields, ends, depth=0)
    return p.kernel()


def _block(
    draw: st.DrawFn, p: Program, known: list[Term], fields: list[Memory], ends: Memory, depth: int
) -> None:
    for _ in range(draw(st.integers(1, 3))):
        what = draw(st.sampled_from(["access", "access", "loop", "if", "data"] if depth < 3 else ["access"]))
        if what == "loop":
            start: Number = draw(SMALL)
            if len(known) > 1 and draw(st.booleans()):
                start = known[-1]
            step = draw(st.sampled_from([1, 1, 1, -1, 2, -2]))
            length = draw(st.integers(0, 5))
            stop = start + length if step > 0 else start - length
            with p.loop("i", start, stop, step) as i:
                _block(draw, p, [*known, i], fields, ends, depth + 1)
        elif what == "if":
            a, b = _index(draw, known), _index(draw, known)
            test = draw(st.sampled_from(["lt", "le", "eq", "ne", "ge"]))
            with p.either(p.b.term(p.b.let(test, p.atom(a), p.atom(b)))):
                _block(draw, p, known, fields, ends, depth + 1)
                p.otherwise()
                if draw(st.booleans()):
                    _access(draw, p, known, fields)
        elif what == "data":
            _block(draw, p, [*known, p.load(ends, _index(draw, known))], fields, ends, depth + 1)
        else:
            _access(draw, p, known, fields)


def _access(draw: st.DrawFn, p: Program, known: list[Term], fields: list[Memory]) -> None:
    memory = draw(st.sampled_from(fields))
    at = tuple(_index(draw, known) for _ in memory.shape)
    kind = draw(st.sampled_from(["load", "store", "add", "add", "max"]))
    if kind == "load":
        p.load(memory, *at)
    elif kind == "store":
        value = draw(st.sampled_from([0, *known]))
        p.store(memory, *at, value=value.cast(f32) if isinstance(value, Term) else 1.0)
    else:
        p.add(memory, *at, op=kind)


def _index(draw: st.DrawFn, known: list[Term]) -> Number:
    result: Number = draw(SMALL)
    for v in draw(st.lists(st.sampled_from(known), max_size=2)):
        result = v * draw(st.sampled_from([1, 1, 1, 2, -1, 3])) + result
    if isinstance(result, Term):
        op = draw(st.sampled_from(["", "", "", "mod", "floordiv", "min", "max"]))
        if op:
            result = result.op(op, draw(st.sampled_from([2, 3, 4])))
    return result


def events(kernel: KernelIR, t: int) -> list[Event]:
    note(show(kernel))
    return trace(kernel, {"t": t}, lambda memory, element: (sum(element) * 5 + len(memory.name)) % 6)


CHECKED = settings(max_examples=40, deadline=None)
RUNS = (kernels(), st.integers(-2, 8))


def _meetings(found: list[Event]) -> Iterator[tuple[Event, Event]]:
    places: dict[object, list[Event]] = {}
    for e in found:
        places.setdefault(e.place(), []).append(e)
    for together in places.values():
        yield from combinations(together, 2)


def _separated(a: Event, b: Event) -> str:
    """The loop in different trips of which the two happen; empty when there is none."""
    for x, y in zip(a.trips, b.trips, strict=False):
        if x[0] != y[0]:
            return ""
        if x != y:
            return x[0]
    return ""


def _conflict(a: Event, b: Event) -> bool:
    s, r = a.statement, b.statement
    if isinstance(s, Load) and isinstance(r, Load):
        return False
    if isinstance(s, Accumulate) and isinstance(r, Accumulate):
        return s.op != r.op
    return not (isinstance(s, Store) and isinstance(r, Store) and a.value == b.value)


@CHECKED
@given(*RUNS)
def test_iterations_of_independent_loops_never_conflict(kernel: KernelIR, t: int) -> None:
    independent = {v.name for v, verdict in loop_independence(kernel).items() if verdict.independent}
    for a, b in _meetings(events(kernel, t)):
        assert not (_conflict(a, b) and _separated(a, b) in independent), (a, b)


@CHECKED
@given(*RUNS)
def test_every_overwritten_value_is_reported(kernel: KernelIR, t: int) -> None:
    loads = {s.site for s in statements(kernel.body) if isinstance(s, Load)}
    reported = {(o.read.site, o.write.site): o.certain for o in overwritten(kernel, loads)}
    happened: set[tuple[int, int]] = set()
    ran = events(kernel, t)
    for a, b in _meetings(ran):
        if isinstance(a.statement, Load) and not isinstance(b.statement, Load):
            happened.add((a.site, b.site))
    assert happened <= set(reported)
    sites = {e.site for e in ran}
    certain = {pair for pair, sure in reported.items() if sure and pair[0] in sites}
    assert certain <= happened


@CHECKED
@given(*RUNS)
def test_regions_hold_every_element(kernel: KernelIR, t: int) -> None:
    shapes = {m.key: m.shape for m in kernel.memories}
    for site in {s.site for s in statements(kernel.body) if isinstance(s, Load | Store | Accumulate)}:
        found = regions(kernel, {site})
        boxes = found.at((t,))
        for e in events(kernel, t):
            inside = all(0 <= i < (n or 0) for i, n in zip(e.element, shapes[e.key], strict=True))
            if e.site == site and inside:
                assert any(
                    all(lo <= i < hi for i, (lo, hi) in zip(e.element, box, strict=True)) for box in boxes
                )


@CHECKED
@given(*RUNS)
def test_proved_indices_are_inside(kernel: KernelIR, t: int) -> None:
    found = bounds(kernel)
    fine = {"proved", "launch"} if found.holds((t,)) else {"proved"}
    shapes = {m.key: m.shape for m in kernel.memories}
    for e in events(kernel, t):
        if found.sites[e.site] in fine:
            assert all(0 <= i < (n or 0) for i, n in zip(e.element, shapes[e.key], strict=True))


@CHECKED
@given(*RUNS)
def test_plans_hold_where_iterations_accumulate(kernel: KernelIR, t: int) -> None:
    facts = effects(kernel)
    verdicts = loop_independence(kernel, facts)
    ran = events(kernel, t)
    for s in kernel.body.statements:
        if isinstance(s, For) and verdicts[s.index].independent:
            for key, plan in write_plan(kernel, s, facts).items():
                here = [e for e in ran if e.key == key and e.trips[:1] and e.trips[0][0] == s.index.name]
                _hold(plan, here, t)


def _hold(plan: Plan, found: list[Event], t: int) -> None:
    for a, b in _meetings(found):
        both = isinstance(a.statement, Accumulate) and isinstance(b.statement, Accumulate)
        if both and a.trips[0] != b.trips[0]:
            assert plan.kind != "plain"
            if plan.kind == "window":
                assert abs(a.trips[0][1] - b.trips[0][1]) <= plan.hi - plan.lo
                o = a.element[plan.axis] - a.trips[0][1] - _value(plan.base, t)
                assert plan.lo <= o <= plan.hi
            if plan.kind == "reduce":
                assert a.element in [tuple(_value(form, t) for form in e) for e in plan.elements]
    if plan.kind == "private":
        for e in found:
            if isinstance(e.statement, Accumulate) and all(0 <= i < 12 for i in e.element):
                ends = [(_value(lo, t), _value(hi, t)) for lo, hi in plan.box]
                shape = e.statement.memory.shape
                inside = all(i < (n or 0) for i, n in zip(e.element, shape, strict=True))
                assert not inside or all(lo <= i < hi for i, (lo, hi) in zip(e.element, ends, strict=True))


def _value(form: Affine, t: int) -> int:
    return form.value(lambda _: t)


@pytest.mark.parametrize("step", [1, 2, -1])
@settings(max_examples=40, deadline=None)
@given(a=SMALL, b=SMALL, c=SMALL, d=SMALL, n=st.integers(0, 7))
def test_one_loop_with_constant_bounds_is_decided_exactly(
    step: int, a: int, b: int, c: int, d: int, n: int
) -> None:
    p = Program()
    p.param("t")
    x = p.field("x", 64)
    with p.loop("i", 20, 20 + n * step, step) as i:
        p.load(x, i * a + b)
        p.store(x, i * c + d, value=i.cast(f32))
    kernel = p.kernel()
    ran = events(kernel, 0)
    meet = any(_conflict(e, f) and _separated(e, f) for e, f in _meetings(ran))
    (verdict,) = loop_independence(kernel).values()
    assert verdict.independent == (not meet)
    pairs = {(o.read.site, o.write.site) for o in overwritten(kernel, {0})}
    late = {(e.site, f.site) for e, f in _meetings(ran) if e.site == 0 and f.site == 1}
    assert pairs == late
