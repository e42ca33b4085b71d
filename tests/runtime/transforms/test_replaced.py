"""Functions under `grad_replaced` in runs: backward by their own functions, forward refused."""

from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError

W = np.arange(1.0, 4.0)


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def program():
    """``loss = Σ w y²`` with ``y = sin(2 x)``, of which NumPy computes the sine and a kernel the gradient."""
    x, y = (ti.field(ti.f64, shape=3, needs_grad=True, name=name) for name in "xy")
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    slope = ti.field(ti.f64, shape=3)

    @ti.kernel
    def double():
        for i in x:
            x[i] = 2 * x[i]

    @ti.ad.grad_replaced
    def sine():
        y.from_numpy(np.sin(x.to_numpy()))

    @ti.kernel
    def pull():
        for i in x:
            slope[i] = ti.cos(x[i])
            x.grad[i] += slope[i] * y.grad[i]
            y.grad[i] = 0.0

    ti.ad.grad_for(sine)(lambda: pull())  # noqa: PLW0108 (a function of Python's)

    @ti.kernel
    def measure():
        for i in y:
            loss[None] += y[i] ** 2 * (i + 1)

    def run():
        loss[None] = 0.0
        double()
        sine()
        measure()

    x.from_numpy(np.array([0.1, 0.2, 0.3]))
    slope.fill(7.0)
    v = 2 * x.to_numpy()
    gradient = 4 * W * np.sin(v) * np.cos(v)
    return SimpleNamespace(x=x, y=y, loss=loss, slope=slope, sine=sine, run=run, v=v, gradient=gradient)


@pytest.mark.slow
def test_gradients(program):
    p = program
    value, gradient = ti.value_and_grad(p.run, wrt=p.x, out=p.loss)()
    np.testing.assert_allclose(gradient, p.gradient, rtol=1e-12)
    assert value == pytest.approx((W * np.sin(p.v) ** 2).sum())
    np.testing.assert_allclose(
        ti.grad(p.run, wrt=p.x, out=p.loss)(0.5 * p.x.to_numpy()), 2 * W * np.sin(p.v), rtol=1e-12
    )
    np.testing.assert_allclose(ti.vjp(p.run, wrt=p.x, out=p.y)[1](W), 2 * W * np.cos(p.v), rtol=1e-12)
    np.testing.assert_allclose(
        ti.objective(p.run, wrt=p.x, loss=p.loss)(p.x.to_numpy())[1], p.gradient, rtol=1e-12
    )


@pytest.mark.slow
def test_products_from_the_right_and_dense_matrices(program):
    p = program
    J = ti.linearize(p.run, wrt=p.x, out=[p.y, p.loss])
    exact = np.concatenate([np.diag(2 * np.cos(p.v)), p.gradient[None]])
    for _ in range(2):
        np.testing.assert_allclose(J.rmatmat(np.eye(4)).T, exact, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(J.dense(), exact, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        ti.jacobian(p.run, wrt=p.x, out=p.y), np.diag(2 * np.cos(p.v)), rtol=1e-12, atol=1e-14
    )


@pytest.mark.slow
def test_second_derivatives_are_reverse_over_reverse(program):
    p = program
    H = ti.hessian(p.run, wrt=p.x, out=p.loss)
    np.testing.assert_allclose(H, np.diag(8 * W * np.cos(2 * p.v)), rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_they_leave_no_trace(program):
    p = program
    p.x.grad.fill(5.0)
    before = [f.to_numpy().tobytes() for f in (p.x, p.y, p.loss, p.slope, p.x.grad, p.y.grad)]
    ti.grad(p.run, wrt=p.x, out=p.loss)()
    ti.linearize(p.run, wrt=p.x, out=p.y).rmatvec(W)
    ti.hessian(p.run, wrt=p.x, out=p.loss)
    assert [f.to_numpy().tobytes() for f in (p.x, p.y, p.loss, p.slope, p.x.grad, p.y.grad)] == before


def test_products_from_the_left_are_refused(program):
    p = program
    J = ti.linearize(p.run, wrt=p.x, out=p.y)
    f = ti.objective(p.run, wrt=p.x, loss=p.loss)
    for product in (
        lambda: J.matvec(W),
        lambda: J @ np.eye(3),
        J.sparse,
        lambda: ti.jvp(p.run, wrt=p.x, out=p.y, tangents=W),
        lambda: ti.hvp(p.run, wrt=p.x, out=p.loss, tangents=W),
        lambda: f.hessp(f.x0, W),
    ):
        with pytest.raises(
            GradientError, match="`sine`, under `grad_replaced`, has a backward function"
        ) as error:
            product()
        assert "test_replaced.py" in str(error.value)
        assert "help: differentiate backwards" in str(error.value)


def test_a_gradient_that_is_not_that_of_the_kernels():
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in "xy")

    @ti.kernel
    def double():
        y[None] = 2 * x[None]

    replaced = ti.ad.grad_replaced(double)

    @ti.ad.grad_for(replaced)
    def ten():
        x.grad[None] += 10 * y.grad[None]

    assert ti.grad(replaced, wrt=x, out=y)() == 10.0
    assert ti.jacobian(replaced, wrt=x, out=y) == 10.0
    assert ti.jacobian(ti.no_grad(replaced), wrt=x, out=y) == 0.0

    def taped():
        with ti.Tape(y):
            replaced()

    assert ti.linearize(taped, wrt=x, out=x.grad).value == 10.0


@pytest.mark.slow
def test_a_residual_needs_the_derivatives_of_its_kernels():
    k, u, r = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in "kur")

    @ti.kernel
    def equation():
        r[None] = u[None] - k[None]

    replaced = ti.ad.grad_replaced(equation)
    ti.ad.grad_for(replaced)(lambda: None)

    @ti.implicit(residual=(replaced, r), unknown=u, wrt=k)
    def solve():
        u[None] = k[None]

    with pytest.raises(GradientError, match="the residual of `solve` calls `equation`, which is under"):
        ti.grad(solve, wrt=k, out=u)()

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def solve_by():
        u[None] = k[None]
        replaced()

    assert ti.grad(solve_by, wrt=k, out=u)() == 1.0
    assert ti.jacobian(solve_by, wrt=k, out=u) == 1.0
