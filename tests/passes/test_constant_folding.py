"""Expressions known before the kernel runs are evaluated at compile time."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.reference.source import run
from dsim.ir.check import check
from dsim.ir.nodes import Const, For, If, KernelIR, Let, While
from dsim.ir.term import Term, select
from dsim.ir.types import f32, i32, u1, u8
from dsim.ir.walk import statements
from dsim.passes.constant_folding import fold_constants
from dsim.passes.dead_code_elimination import eliminate_dead_code
from tests.building import Building


def folded(kernel: KernelIR) -> KernelIR:
    after = eliminate_dead_code(fold_constants(kernel))
    check(after)
    return after


def made(kernel: KernelIR) -> list[str]:
    """The operations left."""
    return [s.op for s in statements(kernel.body) if isinstance(s, Let)]


def has(kernel: KernelIR, kind: type) -> bool:
    return any(isinstance(s, kind) for s in statements(kernel.body))


def raw(k: Building, op: str, *args: Term | float, type=None) -> Term:
    """An operation as it is written: `Builder.let` would simplify it."""
    atoms = tuple(map(k.value, args))
    result = type or (u1 if op in ("lt", "eq") else atoms[-1].type)
    var = k.fresh("t", result)
    k.add(Let(var, op, atoms))
    return k.term(var)


def test_constants_are_computed_through_chains() -> None:
    k = Building()
    a = raw(k, "add", raw(k, "mul", 3, 4), -2)
    after = folded(k.kernel(a, raw(k, "cast", a, type=f32), raw(k, "lt", a, 11)))
    assert after.body.statements == ()
    assert after.body.yields == (Const(10, i32), Const(10.0, f32), Const(True, u1))


@pytest.mark.parametrize(
    ("type", "formula", "left"),
    [
        (f32, lambda k, x: x.op("neg").op("neg"), []),
        (i32, lambda k, x: (x + 1) + 2, ["add"]),
        (i32, lambda k, x: (x + 1) - 1, []),
        (i32, lambda k, x: (x - 3) + 1, ["sub"]),
        (i32, lambda k, x: (x + 5) - (x + 2), []),
        (i32, lambda k, x: x - x, []),
        (u8, lambda k, x: (x + 255) + 1, []),
        (f32, lambda k, x: x - x, ["sub"]),  # of infinities it is NaN
        (f32, lambda k, x: (x + 1.0) + 2.0, ["add", "add"]),  # rounds twice
        (f32, lambda k, x: x + -(x * 3.0), ["mul", "sub"]),
        (f32, lambda k, x: -(x * 3.0) + x, ["mul", "sub"]),
        (f32, lambda k, x: x - -(x * 3.0), ["mul", "add"]),
        (i32, lambda k, x: x.op("max", x), []),
        (i32, lambda k, x: x.op("eq", x), []),
        (f32, lambda k, x: x.op("eq", x), ["eq"]),  # a NaN is not
        (f32, lambda k, x: select((x > 0.0).op("bnot"), x, 1.0), ["gt", "select"]),
        (f32, lambda k, x: select(x > 0.0, k.term(k.value(True)), k.term(k.value(False))), ["gt"]),
    ],
)
def test_identities(type, formula, left: list[str]) -> None:
    k = Building(float_type=type)
    kernel = k.kernel(formula(k, k.param("x")))
    after = folded(kernel)
    assert made(after) == left
    for value in (0, 1, 7):
        assert run(after, {}, (value,)) == run(kernel, {}, (value,))


def test_a_branch_on_a_constant_is_its_arm() -> None:
    k = Building()
    x, p = k.field("x", 4), k.param("p")
    (r,) = k.branch(raw(k, "lt", 3, 2), lambda: (p * 2.0,), lambda: (k.load(x, 0) * 3.0,))
    k.branch(raw(k, "eq", 2, 2), lambda: k.store(x, 1, r))
    after = folded(k.kernel())
    assert not has(after, If)
    assert made(after) == ["mul"]


def test_inside_an_arm_its_condition_is_known() -> None:
    k = Building()
    x, p = k.field("x", 4), k.param("p")
    c = p > 0.0

    def arm() -> tuple[Term, ...]:
        return k.branch(c, lambda: (p * 2.0,), lambda: (p * 3.0,))

    (r,) = k.branch(c, arm, arm)
    k.store(x, 0, r)
    after = folded(k.kernel())
    assert sum(isinstance(s, If) for s in statements(after.body)) == 1
    assert made(after) == ["gt", "mul", "mul"]


def test_results_that_both_arms_agree_on() -> None:
    k = Building()
    p = k.param("p")
    c = p > 0.0
    yes, no = k.value(True), k.value(False)
    same, truth, other = k.branch(c, lambda: (p, yes, p), lambda: (p, no, 1.0))
    after = folded(k.kernel(same, truth, other))
    (branch,) = (s for s in after.body.statements if isinstance(s, If))
    assert len(branch.results) == 1
    assert after.body.yields == (p.atom, c.atom, other.atom)


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 0, 1), (3, 3, 1), (4, 1, 2), (0, 1, -1)])
def test_a_loop_of_no_trip_gives_what_it_started_with(start: int, stop: int, step: int) -> None:
    k = Building()
    x, p = k.field("x", 4), k.param("p")
    with k.loop("i", start, stop, step=step, a=p) as loop:
        k.store(x, loop.i, loop.a)
        loop.then(a=loop.a * 2.0)
    after = folded(k.kernel(loop.out("a")))
    assert after.body.statements == ()
    assert after.body.yields == (p.atom,)


def test_a_loop_of_one_trip_is_its_body() -> None:
    k = Building()
    x, p = k.field("x", 4), k.param("p")
    with k.loop("i", 3, 0, step=-3, a=p) as loop:
        k.store(x, loop.i, loop.a)
        loop.then(a=loop.a * 2.0)
    after = folded(k.kernel(loop.out("a")))
    assert not has(after, For)
    assert made(after) == ["mul"]


def test_carried_values_that_never_change_are_not_carried() -> None:
    k = Building()
    x, p = k.field("x", 4, 4), k.param("p")
    with k.loop("i", 0, 4, a=p, b=0.0) as outer:
        with k.loop("j", 0, 4, c=outer.a) as inner:
            k.store(x, outer.i, inner.i, inner.c + outer.b)
            inner.then(c=inner.c)
        outer.then(a=inner.out("c"), b=0.0)
    after = folded(k.kernel(outer.out("a")))
    assert all(not s.carried for s in statements(after.body) if isinstance(s, For))
    assert made(after) == []  # p + 0 is p
    assert after.body.yields == (p.atom,)


def test_a_carried_counter_is_the_index() -> None:
    k = Building()
    x, n = k.field("x", 4), k.param("n", i32)
    with k.loop("i", 0, n, count=0, going=True, goes_on="going") as loop:
        k.store(x, loop.count, 1.0)
        loop.then(count=loop.count + 1, going=loop.i < 2)
    with k.loop("j", 1, n, count=1) as plain:
        k.store(x, plain.count, 1.0)
        plain.then(count=plain.count + 1)
    kernel = k.kernel(loop.out("count"), plain.out("count"))
    after = folded(kernel)
    first, second = (s for s in after.body.statements if isinstance(s, For))
    assert [v.name for v in first.carried] == ["count", "going"]  # how far it came is asked for
    assert second.carried == ()
    assert made(after) == ["add", "lt", "max"]
    for trips in (-1, 0, 2, 4):
        results = [run(each, {("x", ()): np.zeros(4)}, (trips,)) for each in (kernel, after)]
        assert results[0] == results[1]


def test_a_loop_that_always_goes_on_is_plain() -> None:
    k = Building()
    x = k.field("x", 4)
    with k.loop("i", 0, 4, going=True, goes_on="going") as loop:
        k.store(x, loop.i, 1.0)
        loop.then(going=True)
    (after,) = folded(k.kernel()).body.statements
    assert isinstance(after, For)
    assert (after.goes_on, after.carried) == (None, ())


def test_a_loop_that_never_starts_is_gone() -> None:
    k = Building()
    x, p = k.field("x", 4), k.param("p")
    with k.loop("i", 0, 4, going=False, a=p, goes_on="going") as loop:
        loop.then(going=True, a=loop.a + 1.0)
    with k.repeat(lambda w: raw(k, "lt", 2, 1), a=p) as w:
        k.store(x, 0, w.a)
        w.then(a=w.a + 1.0)
    after = folded(k.kernel(loop.out("a"), w.out("a")))
    assert after.body.statements == ()
    assert after.body.yields == (p.atom, p.atom)


def test_a_while_loop_forgets_what_never_changes() -> None:
    k = Building()
    p = k.param("p")
    with k.repeat(lambda w: w.a < w.limit, a=1.0, limit=p) as w:
        w.then(a=w.a * 2.0, limit=w.limit)
    (after,) = (s for s in folded(k.kernel(w.out("a"))).body.statements if isinstance(s, While))
    assert [v.name for v in after.carried] == ["a"]


def test_what_is_cut_from_derivatives_stays_cut() -> None:
    k = Building()
    assert made(folded(k.kernel(raw(k, "stop", k.param("p"))))) == ["stop"]
