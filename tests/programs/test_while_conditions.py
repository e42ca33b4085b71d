"""Conditions of `while` that write to fields: both modes, and second derivatives, know what they write."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

AT = np.array([0.2, 0.5])


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def adds(x):
    @ti.kernel
    def run():
        while ti.atomic_add(x[0], 0.5 * x[1] * x[1]) < 1.5:
            pass

    return run


def adds_and_more(x):
    @ti.kernel
    def run():
        w = 0
        while w < 3 and ti.atomic_add(x[0], 0.1 * x[1] * x[1]) < 1.5:
            w += 1

    return run


def takes_the_smaller(x):
    @ti.kernel
    def run():
        w = 0
        while ti.atomic_min(x[0], 0.3 * x[1]) > 0.17 and w < 2:
            w += 1

    return run


def calls(x):
    @ti.func
    def bump(by):
        x[0] += by * x[1] ** 3
        return x[0]

    @ti.kernel
    def run():
        while bump(0.4) < 1.0:
            x[1] *= 1.25

    return run


def inside_of_loops(x):
    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for _ in range(2):
            k = 0
            while k < 2:
                while ti.atomic_add(x[0], 0.05 * x[1] * (k + 1)) < 0.4:
                    x[1] += 0.1 * x[0]
                k += 1

    return run


@pytest.mark.parametrize("program", [adds, adds_and_more, takes_the_smaller, calls, inside_of_loops])
def test_both_modes_and_second_derivatives(program):
    x, loss = ti.field(ti.f64, shape=2, needs_grad=True), single("loss")
    body = program(x)

    @ti.kernel
    def total():
        loss[None] = x[0] ** 2 + x[0] * x[1]

    def run():
        body()
        total()

    def value(at):
        x.from_numpy(at)
        run()
        return loss[None]

    def gradient(at):
        x.from_numpy(at)
        return ti.grad(run, wrt=x, out=loss)()

    step = 1e-6 * np.eye(2)
    slopes = np.array([(value(AT + e) - value(AT - e)) / 2e-6 for e in step])
    curves = np.array([(gradient(AT + e) - gradient(AT - e)) / 2e-6 for e in step])
    x.from_numpy(AT)
    assert np.allclose(gradient(AT), slopes, rtol=1e-7, atol=1e-9)
    for direction, slope, curve in zip(np.eye(2), slopes, curves, strict=True):
        assert np.allclose(ti.jvp(run, wrt=x, out=loss, tangents=direction)[1], slope, rtol=1e-7, atol=1e-9)
        assert np.allclose(ti.hvp(run, wrt=x, out=loss, tangents=direction), curve, rtol=1e-6, atol=1e-7)
    hessian = ti.hessian(run, wrt=x, out=loss)
    assert np.allclose(hessian, curves, rtol=1e-6, atol=1e-7)
    assert np.allclose(hessian, hessian.T, rtol=0, atol=1e-12)
