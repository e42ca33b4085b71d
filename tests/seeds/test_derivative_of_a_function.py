"""The derivative of a func as a func, and the same built manually from a kernel's gradient."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def test_forward_gives_the_derivative_inside_a_kernel():
    @ti.func
    def cubic(x):
        return x**3 + 2 * x**2 - 3 * x + 1

    slope = ti.forward(cubic)

    @ti.kernel
    def at_one() -> float:
        return slope(1.0)

    assert at_one() == 4.0


def test_grad_gives_the_same_derivative():
    @ti.func
    def cubic(x):
        return x**3 + 2 * x**2 - 3 * x + 1

    slope = ti.grad(cubic)

    @ti.kernel
    def at(x: float) -> float:
        return slope(x)

    assert [at(1.0), at(0.0), at(-2.0)] == [4.0, -3.0, 1.0]


def test_a_slope_made_by_hand():
    x = ti.field(float, shape=(), needs_grad=True)
    y = ti.field(float, shape=(), needs_grad=True)

    @ti.kernel
    def cubic():
        y[None] += x[None] ** 3 + 2 * x[None] ** 2 - 3 * x[None] + 1

    def slope(value):
        x[None] = value
        y.grad[None] = 1.0
        cubic.grad()
        return x.grad[None]

    assert slope(1.0) == 4.0


def test_a_gradient_by_several_fields_made_by_hand():
    inputs = [ti.field(float, shape=(), needs_grad=True) for _ in range(3)]
    a, b, c = inputs
    y = ti.field(float, shape=(), needs_grad=True)

    @ti.kernel
    def total():
        y[None] += a[None] ** 3 + 2 * b[None] ** 2 - 3 * c[None] + 1

    def gradient(values):
        y.grad[None] = 1.0
        for field, value in zip(inputs, values, strict=True):
            field.from_numpy(np.array(value))
        total.grad()
        return [float(field.grad.to_numpy()) for field in inputs]

    assert gradient([1.0, 2.0, 3.0]) == [3.0, 8.0, -3.0]
