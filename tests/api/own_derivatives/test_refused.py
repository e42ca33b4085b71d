"""Funcs with custom derivatives: the fields they read, and the errors."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.api.own_derivatives.given import BOTH, refused, root_func


@pytest.fixture(autouse=True)
def _double():
    ti.init(default_fp=ti.f64)


# ------------------------------------------------------------------ fields


def lookup():
    """A func that reads a table, with a rule that reads one element further."""
    table = ti.field(ti.f64, shape=4, needs_grad=True)

    @ti.func
    def at(x):
        i = int(x)
        return table[i] + (x - i) * (table[i + 1] - table[i])

    @ti.func
    def at_jvp(x, x_dot):
        i = int(x)
        return (table[i + 1] - table[i]) * x_dot

    table.from_numpy(np.array([0.0, 1.0, 4.0, 9.0]))
    return table, at.derivative(jvp=at_jvp)


def test_fields_that_a_derivative_reads_are_constants() -> None:
    at = lookup()[1]
    x, y = (ti.field(ti.f64, shape=2, needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        for i in x:
            y[i] = at(x[i])

    x.from_numpy(np.array([0.5, 1.5]))
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 2.0]):
        k()
    assert y.dual.to_numpy().tolist() == [1.0, 6.0]


def test_a_gradient_by_a_field_that_the_func_reads_is_refused() -> None:
    table, at = lookup()
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
    x[None] = 1.5

    @ti.kernel
    def k():
        loss[None] += at(x[None])

    with (
        pytest.raises(GradientError, match="the derivative of `at` does not go through") as caught,
        ti.ad.Tape(loss),
    ):
        k()
    assert "return table[i] +" in str(caught.value)
    assert "pass the value as an argument" in str(caught.value)
    assert [found.code for found in k.check()] == ["not-differentiable"]
    with pytest.raises(GradientError, match="the derivative of `at`"), ti.ad.FwdMode(loss, table, np.ones(4)):
        k()


def test_an_adjoint_that_reads_further_than_its_primal_is_checked() -> None:
    table = ti.field(ti.f64, shape=4)

    @ti.func
    def f(x, i):
        return table[i] * x

    @ti.func
    def f_vjp(x, i, bar):
        return table[i + 1] * bar

    f.derivative(vjp=f_vjp)
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k(i: int):
        loss[None] += f(x[None], i)

    with ti.ad.Tape(loss):
        k(2)
    with pytest.raises(IndexError, match=r"table\[i \+ 1\]"), ti.ad.Tape(loss):
        k(3)


def test_a_table_that_is_overwritten_before_the_rule_reads_it() -> None:
    table = ti.field(ti.f64, shape=())

    @ti.func
    def f(x):
        return table[None] * x

    @ti.func
    def f_vjp(x, bar):
        return table[None] * bar

    f.derivative(vjp=f_vjp)
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
    table[None] = 3.0

    @ti.kernel
    def k():
        loss[None] += f(x[None])

    with ti.ad.Tape(loss):
        k()
        table[None] = 5.0
        k()
    assert x.grad[None] == 8.0
    with ti.ad.Tape(loss, on_overwrite="error"):
        k()
        with pytest.raises(ti.AccessRuleError, match="overwritten"):
            table[None] = 6.0


@BOTH
def test_what_is_not_chosen_has_no_gradient(given) -> None:
    @ti.func
    def root(x):
        return ti.stop_grad(ti.sqrt(x))

    rules = root_func()[1]
    root.derivative(**{mode: rules[mode] for mode in given})
    x, loss = ti.field(ti.f64, shape=2, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            loss[None] += ti.select(x[i] > 0, root(x[i]), 0.0)

    x.from_numpy(np.array([0.0, 4.0]))
    with ti.ad.FwdMode(loss=x.grad, param=x, seed=np.ones(2)), ti.ad.Tape(loss):
        k()
    assert x.grad.to_numpy().tolist() == [0.0, 0.25]
    assert x.grad.dual.to_numpy().tolist() == [0.0, -1 / 32]


@pytest.mark.slow
@BOTH
def test_a_table_that_changes_from_trip_to_trip(given) -> None:
    table = ti.field(ti.f64, shape=())
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.func
    def scaled_square(v):
        return table[None] * v * v

    @ti.func
    def plain(v):
        return table[None] * v * v

    @ti.func
    def jvp(v, v_dot):
        return 2.0 * table[None] * v * v_dot

    @ti.func
    def vjp(v, bar):
        return 2.0 * table[None] * v * bar

    rules = {"jvp": jvp, "vjp": vjp}
    scaled_square.derivative(**{mode: rules[mode] for mode in given})

    @ti.kernel
    def k(f: ti.template()):
        s = x[None]
        ti.loop_config(serialize=True)
        for _ in range(4):
            s = ti.sin(f(s))
            table[None] = 1.1 * table[None] + 0.1
        loss[None] += s

    found = []
    x[None] = 0.9
    for f in (scaled_square, plain):
        table[None] = 0.7
        with ti.ad.FwdMode(loss=x.grad, param=x), ti.ad.Tape(loss):
            k(f)
        found.append((x.grad[None], x.grad.dual[None], table[None]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)


# ------------------------------------------------------------------ refusals


@ti.func
def plain(x, y):
    return x * y


@ti.func
def one(x):
    return x


@ti.func
def too_many(x, y, x_dot, y_dot, more):
    return x


@ti.func
def with_factor(x, y, bar, *, factor):
    return x


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"plain.derivative\(\) takes `jvp=`, `vjp=` or both, and got none"),
        (
            {"jvp": lambda x: x},
            r"plain.derivative\(jvp=…\) takes a func \(a function under @func\), not function",
        ),
        (
            {"vjp": one},
            "`one` takes 1 arguments by position: as the vjp of `plain` it takes the 2 of `plain` and",
        ),
        ({"jvp": too_many}, "then the tangents of its float arguments"),
        ({"vjp": with_factor}, "the vjp of `plain` has no parameter like the `factor` of `with_factor`"),
    ],
)
def test_what_cannot_be_a_derivative(given, message) -> None:
    with pytest.raises(TypeError, match=message):
        plain.derivative(**given)


def test_effects_are_refused() -> None:
    x = ti.field(ti.f64, shape=())

    @ti.func
    def writes(a):
        x[None] = a
        return a

    @ti.func
    def draws(a):
        return a + ti.random(ti.f64)

    @ti.func
    def prints(a, a_dot):
        print(a)
        return a_dot

    @ti.func
    def fine(a):
        return a

    @ti.func
    def fine_jvp(a, a_dot):
        return a_dot

    assert "`writes` has a custom derivative, and cannot write to fields" in refused(
        writes.derivative(jvp=fine_jvp)
    )
    assert "`draws` has a custom derivative, and cannot draw" in refused(draws.derivative(jvp=fine_jvp))
    assert "the derivative of `fine` cannot print" in refused(fine.derivative(jvp=prints))


def test_shapes_are_checked() -> None:
    @ti.func
    def sum_(v):
        return v.sum()

    @ti.func
    def sum_vjp(v, bar):
        return bar

    @ti.func
    def f(a):
        return sum_(ti.Vector([a, a]))

    sum_.derivative(vjp=sum_vjp)
    text = refused(f)
    assert (
        "this returns an f64; expected: the adjoint of each float argument of `sum_`: a vector of 2" in text
    )
    assert "def sum_vjp" in text


def test_integers_where_the_rule_has_tangents() -> None:
    @ti.func
    def g(x, y):
        return x * y

    @ti.func
    def g_jvp(x, y, x_dot, y_dot):
        return x_dot * y + x * y_dot

    g.derivative(jvp=g_jvp)

    @ti.func
    def f(a):
        return g(a, int(a))

    text = refused(f)
    assert "`g_jvp` takes 2 tangents, but `g` has 1 float arguments here" in text
    assert "annotate the parameters of `g`" in text


def test_as_many_adjoints_as_float_results() -> None:
    @ti.func
    def same(a):
        return a

    @ti.func
    def same_vjp(a, u, v):
        return u

    text = refused(same.derivative(vjp=same_vjp))
    assert "`same_vjp` takes 2 adjoints, but `same` has 1 float results here" in text
    assert "the arguments and then an adjoint for each float result" in text


def test_a_rule_that_returns_too_little() -> None:
    @ti.func
    def two(a):
        return a, a * a

    @ti.func
    def two_jvp(a, a_dot):
        return a_dot

    two.derivative(jvp=two_jvp)

    @ti.func
    def total(a):
        x, y = two(a)
        return x + y

    text = refused(total)
    assert "this returns an f64; expected: the tangent of each float result of `two`: an f64, an f64" in text
    assert "help: return them in the order of the results" in text
