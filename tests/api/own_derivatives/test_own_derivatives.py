"""Funcs with custom derivatives: values in both modes and in all compositions."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.api.own_derivatives.given import BOTH, given_root, root_func


@pytest.fixture(autouse=True)
def _double():
    ti.init(default_fp=ti.f64)


@BOTH
def test_both_modes_by_one_rule_or_two(given) -> None:
    root = given_root(given)
    x, y = ti.field(ti.f64, shape=3, needs_grad=True), ti.field(ti.f64, shape=3, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            y[i] = root(3.0 * x[i])
            loss[None] += y[i]

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    slope = 1.5 / np.sqrt(3 * x.to_numpy())
    with ti.ad.Tape(loss):
        k()
    np.testing.assert_allclose(x.grad.to_numpy(), slope, rtol=1e-14)
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, -1.0, 2.0]):
        k()
    np.testing.assert_allclose(y.dual.to_numpy(), slope * [1, -1, 2], rtol=1e-14)


@BOTH
def test_second_derivatives_of_funcs(given) -> None:
    root = given_root(given)
    ff, fr = ti.forward(ti.forward(root)), ti.forward(ti.grad(root))
    rf, rr = ti.grad(ti.forward(root)), ti.grad(ti.grad(root))
    third = ti.grad(ti.forward(ti.grad(root)))

    @ti.kernel
    def k(a: float) -> ti.types.vector(5, float):
        return ti.Vector([ff(a), fr(a), rf(a), rr(a), third(a)])

    a = 2.0
    np.testing.assert_allclose(k(a).to_numpy(), [-0.25 * a**-1.5] * 4 + [0.375 * a**-2.5], rtol=1e-13)


@BOTH
def test_second_derivatives_of_kernels(given) -> None:
    root = given_root(given)
    x = ti.field(ti.f64, shape=3, needs_grad=True)
    loss, outer = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        for i in x:
            loss[None] += root(x[i])

    @ti.kernel
    def slopes():
        for i in x:
            outer[None] += x.grad[i]

    @ti.kernel
    def tangents():
        outer[None] += loss.dual[None]

    start = np.array([1.0, 2.0, 3.0])
    x.from_numpy(start)
    right = -0.25 * start**-1.5
    with ti.ad.FwdMode(loss=x.grad, param=x, seed=np.ones(3)), ti.ad.Tape(loss):
        k()
    np.testing.assert_allclose(x.grad.dual.to_numpy(), right, rtol=1e-13)
    with ti.ad.Tape(outer):
        with ti.ad.FwdMode(loss=loss, param=x, seed=np.ones(3)):
            k()
        tangents()
    np.testing.assert_allclose(x.grad.to_numpy(), right, rtol=1e-13)


def test_the_adjoint_does_not_run_the_body_when_the_rule_does_not_need_the_result() -> None:
    @ti.func
    def total(x):
        s = 0.0
        while s < 100.0 * x:
            s += x
        return s

    @ti.func
    def total_vjp(x, s_bar):
        return 100.0 * s_bar

    total.derivative(vjp=total_vjp)
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        loss[None] += total(x[None]) * 2.0

    x[None] = 3.0
    with ti.ad.Tape(loss):
        k()
    assert x.grad[None] == 200.0
    assert "while" in k.primal.python
    assert "while" not in k.adjoint.python
    assert "= x[" not in k.adjoint.python


def test_one_that_uses_another() -> None:
    root = given_root(("jvp", "vjp"))

    @ti.func
    def length(v):
        return root(v.dot(v))

    @ti.func
    def length_vjp(v, bar):
        return bar * v / root(v.dot(v))

    length.derivative(vjp=length_vjp)
    gradient, curvature = ti.grad(length), ti.forward(ti.grad(length))

    @ti.kernel
    def g(v: ti.math.vec2) -> ti.math.vec2:
        return gradient(v)

    @ti.kernel
    def h(v: ti.math.vec2, d: ti.math.vec2) -> ti.math.vec2:
        return curvature(v, d)

    v, d = np.array([3.0, 4.0]), np.array([1.0, -2.0])
    np.testing.assert_allclose(g(v).to_numpy(), v / 5, rtol=1e-13)
    np.testing.assert_allclose(h(v, d).to_numpy(), d / 5 - v * (v @ d) / 125, rtol=1e-13)


def test_rules_that_call_each_other() -> None:
    @ti.func
    def my_sin(x):
        return ti.stop_grad(ti.sin(x))

    @ti.func
    def my_cos(x):
        return ti.stop_grad(ti.cos(x))

    @ti.func
    def sin_jvp(x, x_dot):
        return my_cos(x) * x_dot

    @ti.func
    def cos_jvp(x, x_dot):
        return -my_sin(x) * x_dot

    my_sin.derivative(jvp=sin_jvp)
    my_cos.derivative(jvp=cos_jvp)
    d = ti.grad(ti.forward(my_sin))
    d3 = ti.forward(d)

    @ti.kernel
    def k(x: float) -> ti.math.vec2:
        return ti.Vector([d(x), d3(x)])

    np.testing.assert_allclose(k(0.7).to_numpy(), [-np.sin(0.7), -np.cos(0.7)], rtol=1e-14)


def test_a_rule_that_calls_its_own_func_has_derivatives_up_to_the_third() -> None:
    @ti.func
    def e(x):
        return ti.stop_grad(ti.exp(x))

    @ti.func
    def e_jvp(x, x_dot):
        return e(x) * x_dot

    e.derivative(jvp=e_jvp)
    third = ti.forward(ti.grad(ti.forward(e)))
    fourth = ti.grad(third)

    @ti.kernel
    def k(x: float) -> float:
        return third(x)

    @ti.kernel
    def more(x: float) -> float:
        return fourth(x)

    assert k(0.5) == pytest.approx(np.exp(0.5))
    with pytest.raises(GradientError, match="the derivative of `e` calls `e` again") as caught:
        more(0.5)
    assert "help: write it without `e`: a parameter `*, result` gets the value" in str(caught.value)


def test_a_derivative_given_later_counts_from_then_on() -> None:
    @ti.func
    def half(x):
        return 0.5 * x

    @ti.func
    def half_vjp(x, bar):
        return 7.0 * bar

    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        loss[None] += half(x[None])

    found = []
    for _ in range(2):
        with ti.ad.Tape(loss):
            k()
        found.append(x.grad[None])
        half.derivative(vjp=half_vjp)
    assert found == [0.5, 7.0]


def test_a_linear_func_that_is_its_own_tangent_has_forward_mode_only() -> None:
    @ti.func
    def tripled(x):
        return 3.0 * x

    @ti.func
    def tripled_jvp(x, x_dot):
        return tripled(x_dot)

    tripled.derivative(jvp=tripled_jvp)
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        y[None] = tripled(x[None])

    with ti.ad.FwdMode(loss=y, param=x):
        k()
    assert y.dual[None] == 3.0
    with (
        pytest.raises(GradientError, match="the derivative of `tripled` calls `tripled` again"),
        ti.ad.Tape(y),
    ):
        k()
    assert [found.code for found in k.check()] == ["not-differentiable"]


def test_a_pole_that_counts_stays_one_where_it_is_not_chosen_too() -> None:
    @ti.func
    def root(x):
        return ti.stop_grad(ti.sqrt(x))

    root.derivative(vjp=root_func()[1]["vjp"])

    @ti.func
    def f(x):
        r = root(x)
        chosen = ti.select(x > 0.0, r, 0.0)
        return r + 0.0 * chosen

    @ti.func
    def g(x):
        r = root(x)
        _unused = ti.select(x > 0.0, r, 0.0)
        return r

    slope_f, slope_g = ti.grad(f), ti.grad(g)

    @ti.kernel
    def k(x: float) -> ti.math.vec2:
        return ti.Vector([slope_f(x), slope_g(x)])

    assert k(0.0).to_numpy().tolist() == [np.inf, np.inf]
