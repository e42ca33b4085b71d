"""Funcs with custom derivatives: all kinds of arguments and results."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _double():
    ti.init(default_fp=ti.f64)


def test_vectors_matrices_several_results_and_integers() -> None:
    @ti.func
    def power(m, v, n: int):
        r = v
        for _ in range(n):
            r = m @ r
        return r, n + 1, r.sum()

    @ti.func
    def power_jvp(m, v, n, m_dot, v_dot):
        r, r_dot = v, v_dot
        for _ in range(n):
            r_dot = m_dot @ r + m @ r_dot
            r = m @ r
        return r_dot, r_dot.sum()

    power.derivative(jvp=power_jvp)
    plain = ti.func(power.function)
    m = ti.Matrix.field(2, 2, ti.f64, shape=(), needs_grad=True)
    v = ti.Vector.field(2, ti.f64, shape=(), needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    m.from_numpy(np.array([[0.5, -1.0], [2.0, 0.25]]))
    v.from_numpy(np.array([1.0, -2.0]))

    @ti.kernel
    def k(f: ti.template()):
        for _ in range(2):
            r, n, s = f(m[None], v=v[None], n=3)
            loss[None] += r[0] * n + s * s

    found = []
    for f in (power, plain):
        with ti.ad.Tape(loss):
            k(f)
        found.append([loss[None], m.grad.to_numpy(), v.grad.to_numpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_a_literal_is_a_float_where_the_rule_has_a_tangent_for_it() -> None:
    @ti.func
    def scaled(x, s=2):
        return x * s

    @ti.func
    def scaled_jvp(x, s, x_dot, s_dot):
        return x_dot * s + x * s_dot

    scaled.derivative(jvp=scaled_jvp)
    slope, by_both = ti.forward(scaled), ti.grad(scaled)

    @ti.kernel
    def k(a: float) -> ti.types.vector(4, float):
        u, v = by_both(a, 4.0)
        return ti.Vector([scaled(a), slope(a), u, v])

    assert k(3.0).to_numpy().tolist() == [6.0, 2.0, 4.0, 3.0]


def test_methods() -> None:
    class Spring:
        def __init__(self, stiffness):
            self.stiffness = stiffness

        @ti.func
        def force(self, x):
            return ti.stop_grad(-self.stiffness * x)

        @ti.func
        def force_vjp(self, x, bar):
            return -self.stiffness * bar

        force.derivative(vjp=force_vjp)

        @ti.kernel
        def slope(self, x: float) -> float:
            return ti.static(ti.grad(self.force))(x)

    assert Spring(3.0).slope(1.0) == -3.0
    assert Spring(5.0).slope(1.0) == -5.0


def test_a_captured_number_that_changes() -> None:
    @ti.func
    def scaled(v, s):
        return v * s

    @ti.func
    def scaled_jvp(v, s, v_dot, s_dot):
        return v_dot * s + v * s_dot

    scaled.derivative(jvp=scaled_jvp)
    x, loss = ti.field(ti.f64, shape=2, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)
    factor = 2

    @ti.kernel
    def k():
        for i in x:
            loss[None] += scaled(ti.Vector([1, 2]) * x[i], factor).sum()

    found = []
    for factor in (2, 3, 4):  # noqa: B007
        with ti.ad.Tape(loss):
            k()
        found.append(x.grad[1])
    assert found == [6.0, 9.0, 12.0]


def test_other_results_decide_and_count() -> None:
    @ti.func
    def classified(a):
        return a * a, a > 1.0, int(a) + 1

    @ti.func
    def classified_vjp(a, bar):
        return 2.0 * a * bar

    classified.derivative(vjp=classified_vjp)
    x, loss = ti.field(ti.f64, shape=4, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            square, large, n = classified(x[i])
            if large:
                for _ in range(n):
                    loss[None] += square
            loss[None] += square

    x.from_numpy(np.array([0.25, 0.5, 1.25, 2.5]))
    with ti.ad.Tape(loss):
        k()
    assert x.grad.to_numpy().tolist() == [0.5, 1.0, 7.5, 20.0]


@pytest.mark.slow
def test_local_arrays_in_a_func_and_its_rule() -> None:
    @ti.func
    def picked(v, i: int):
        w = v
        w[i] *= v[0]
        return w[i]

    @ti.func
    def picked_jvp(v, i, v_dot):
        w = v * 0.0
        w[i] += v_dot[0] * v[i]
        w[0] += v[0] * v_dot[i]
        return w.sum()

    @ti.func
    def same(v, i: int):
        return v[i] * v[0]

    picked.derivative(jvp=picked_jvp)
    v = ti.Vector.field(3, ti.f64, shape=4, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    v.from_numpy(np.random.default_rng(0).normal(size=(4, 3)))

    @ti.kernel
    def k(f: ti.template()):
        for i in v:
            loss[None] += f(v[i], i % 3) ** 2

    found = []
    for f in (picked, same):
        with ti.ad.FwdMode(loss=v.grad, param=v, seed=np.ones((4, 3))), ti.ad.Tape(loss):
            k(f)
        found.append((v.grad.to_numpy(), v.grad.dual.to_numpy()))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)
