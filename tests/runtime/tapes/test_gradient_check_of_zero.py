"""Checks of second derivatives that are 0 but for rounding, and of wrong ones that are nearly 0."""

import numpy as np
import pytest

import dsim as ti

SECOND = "forward over reverse"


def fields(dtype, values):
    ti.init(default_fp=dtype)
    x = ti.field(dtype, shape=len(values), needs_grad=True, name="x")
    loss = ti.field(dtype, shape=(), needs_grad=True, name="loss")
    x.from_numpy(np.asarray(values, dtype.numpy))
    return x, loss


def second(run, x, loss):
    (found,) = ti.check_grad(run, wrt=x, loss=loss, modes=(), order=2)
    assert found.mode == SECOND
    return found


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
@pytest.mark.parametrize("values", [[0.7], [0.0, 0.0, 0.0], [1.3, -0.4, 25.0], np.linspace(0.1, 3, 40)])
def test_terms_that_cancel(dtype, values):
    """Their gradient is what rounding leaves, and says nothing of its size."""
    x, loss = fields(dtype, values)

    @ti.kernel
    def circles():
        for i in x:
            loss[None] += ti.sin(x[i]) ** 2 + ti.cos(x[i]) ** 2

    @ti.kernel
    def tangents():
        for i in x:
            loss[None] += ti.sin(x[i]) ** 2 + 1.0 / (1.0 + ti.tan(x[i]) ** 2)

    @ti.kernel
    def there_and_back():
        for i in x:
            loss[None] += ti.log(ti.exp(x[i])) - x[i]

    for run in (circles, tangents, there_and_back):
        found = second(run, x, loss)
        assert found.passed, (run, found)


def without_second_derivative(x, loss, scale, power, constant):
    """A program whose first derivative is right and counts as constant."""

    @ti.func
    def raised(a):
        return scale * a**power

    @ti.func
    def raised_jvp(a, a_dot):
        return scale * power * ti.stop_grad(a) ** (power - 1) * a_dot

    raised.derivative(jvp=raised_jvp)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += raised(x[i]) + constant

    return run


@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64])
@pytest.mark.parametrize("values", [[1.5], [0.5, 1.0, 2.0]])
@pytest.mark.parametrize(("scale", "power", "constant"), [(1.0, 2, 0.0), (1e-3, 2, 1e3), (0.1, 3, 10.0)])
def test_a_wrong_one_beside_larger_values(dtype, values, scale, power, constant):
    """Differences of the values would not show it, those of gradients do."""
    x, loss = fields(dtype, values)
    assert not second(without_second_derivative(x, loss, scale, power, constant), x, loss).passed


@pytest.mark.parametrize(("dtype", "fault"), [(ti.f32, 0.1), (ti.f64, 1e-6)])
def test_a_wrong_one_where_the_right_one_is_zero(dtype, fault):
    """The second derivative of x³ at 0, said to be small: it is large beside."""
    x, loss = fields(dtype, [0.0])

    @ti.func
    def cube(a):
        return a**3

    @ti.func
    def cube_jvp(a, a_dot):
        return (3.0 * a**2 + fault * (a - ti.stop_grad(a))) * a_dot

    cube.derivative(jvp=cube_jvp)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += cube(x[i])

    assert not second(run, x, loss).passed


def test_a_kink():
    """Its gradient jumps: differences of it have no limit."""
    x, loss = fields(ti.f64, [0.0])

    @ti.kernel
    def run():
        for i in x:
            loss[None] += 1e-12 * abs(x[i]) + 1.0

    assert not second(run, x, loss).passed


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_wrong_one_beside_infinite_ones(side):
    """What is infinite a step away says nothing of rounding."""
    x, loss = fields(ti.f64, [1.0])

    @ti.func
    def square(a):
        return a**2

    @ti.func
    def square_jvp(a, a_dot):
        return 2.0 * ti.stop_grad(a) * a_dot

    square.derivative(jvp=square_jvp)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += square(x[i])
            if side * (x[i] - 1.0) > 0.05:
                loss[None] += 1e300 * (1e300 * x[i])

    assert not second(run, x, loss).passed
