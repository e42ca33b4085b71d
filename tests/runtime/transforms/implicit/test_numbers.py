"""Residuals with numbers from Python, which a later step changes."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def numbers(names, shape=()):
    return [ti.field(ti.f64, shape=shape, name=name, needs_grad=True) for name in names]


class DampedSteps:
    """Implicit steps of ``x' = -k x³`` with a step that Python holds, or a NumPy array, and that grows."""

    def __init__(self, of_array):  # noqa: C901 (kernels are functions)
        x, old, r = self.x, self.old, self.r = numbers(["x", "old", "r"], 2)
        k, loss = self.k, self.loss = numbers(["k", "loss"])
        self.array, self.step = np.zeros(1), 0.0

        @ti.kernel
        def residual(h: float):
            for i in x:
                r[i] = x[i] - old[i] + h * k[None] * x[i] ** 3

        @ti.kernel
        def residual_of_array(h: ti.types.ndarray()):
            for i in x:
                r[i] = x[i] - old[i] + h[0] * k[None] * x[i] ** 3

        @ti.kernel
        def newton(h: float):
            for i in x:
                x[i] -= r[i] / (1 + 3 * h * k[None] * x[i] ** 2)

        @ti.kernel
        def remember():
            for i in x:
                old[i] = x[i]

        @ti.kernel
        def measure():
            for i in x:
                loss[None] += x[i] ** 2

        def equation():
            residual_of_array(self.array) if of_array else residual(self.step)

        def iterate():
            for _ in range(20):
                equation()
                newton(self.step)

        solve = ti.implicit(residual=(equation, r), unknown=x, wrt=[old, k])(iterate)

        def run(solve):
            loss[None] = 0.0
            for n in range(3):
                self.step = self.array[0] = 0.1 * (n + 1)
                remember()
                solve()
            measure()

        x.from_numpy([1.0, 2.0])
        k[None] = 1.5
        self.run, self.unrolled = lambda: run(solve), lambda: run(iterate)


@pytest.mark.slow
@pytest.mark.parametrize("of_array", [False, True])
@pytest.mark.filterwarnings("ignore:.*is read into Python")
def test_a_residual_keeps_the_numbers_that_python_had_at_its_solution(of_array):
    s = DampedSteps(of_array)
    wrt = [s.x, s.k]
    found, expected = (ti.linearize(run, wrt=wrt, out=s.loss) for run in (s.run, s.unrolled))
    s.step = s.array[0] = 7.0
    row = expected.rmatvec([1.0])
    np.testing.assert_allclose(found.rmatvec([1.0]), row, rtol=1e-9)
    np.testing.assert_allclose(found.matmat(np.eye(3))[0], row, rtol=1e-9)
    for f in wrt:
        gradient = ti.grad(s.run, wrt=wrt, out=s.loss)()
        np.testing.assert_allclose(gradient[f], expected.wrt.split(row)[wrt.index(f)], rtol=1e-9)
    second, unrolled = (ti.hessian(run, wrt=s.x, out=s.loss) for run in (s.run, s.unrolled))
    np.testing.assert_allclose(second, unrolled, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_a_tape_keeps_the_numbers_that_python_had_at_the_solution():
    s = DampedSteps(of_array=True)
    with ti.Tape(s.loss):
        s.run()
        s.step = s.array[0] = 7.0
    s.x.from_numpy([1.0, 2.0])
    np.testing.assert_allclose(s.k.grad[None], ti.grad(s.unrolled, wrt=s.k, out=s.loss)(), rtol=1e-9)
