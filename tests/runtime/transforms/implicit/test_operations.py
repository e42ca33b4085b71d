"""Operations of NumPy in the residual of a function under `implicit`."""

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.runtime.transforms.solutions import numbers
from tests.second_orders import assert_second_orders

pytestmark = pytest.mark.slow

N = 3


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def stiff(in_steps, named=True):
    """``u + 0.2 A(k, u)⁻¹ k = k``, whose loss is summed once, or over steps that run again."""
    k, u, y, r, other = numbers(["k", "u", "y", "r", "other"], N)
    residual = equations(k, u, y, r)
    (loss,) = numbers(["loss"])

    @ti.kernel
    def relax():
        for i in u:
            u[i] -= 0.8 * r[i]

    @ti.implicit(residual=(residual, r), unknown=u, wrt=k if named else other)
    def solution():
        u.fill(0.0)
        for _ in range(60):
            residual()
            relax()

    @ti.kernel
    def measure():
        for i in u:
            loss[None] += u[i] ** 2 * (i + 1) + k[i] * u[i]

    def run():
        loss[None] = 0.0
        if in_steps:
            ti.ad.checkpoint(lambda _: [solution(), measure()], 2, slots=1)
        else:
            solution()
            measure()

    k.from_numpy(np.array([1.0, 1.2, 0.7]))
    return k, loss, run


def equations(k, u, y, r):
    A = ti.field(ti.f64, shape=(N, N), needs_grad=True, name="A")

    @ti.kernel
    def build():
        for i, j in A:
            A[i, j] = 3.0 + k[i] * u[i] ** 2 if i == j else 0.3 * ti.sin(k[i] + u[j])

    @ti.kernel
    def rest():
        for i in u:
            r[i] = u[i] + 0.2 * y[i] - k[i]

    def residual():
        build()
        ti.operations.solve(A, k, out=y)
        rest()

    return residual


@pytest.mark.parametrize("in_steps", [False, True])
def test_second_derivatives(in_steps):
    k, loss, run = stiff(in_steps)
    gradient, at, h = ti.grad(run, wrt=k, out=loss), k.to_numpy(), 1e-5
    differences = [(gradient(at + h * e) - gradient(at - h * e)) / (2 * h) for e in np.eye(N)]
    np.testing.assert_allclose(ti.hessian(run, wrt=k, out=loss), differences, rtol=1e-8, atol=1e-8)
    assert_second_orders(run, k, loss, np.random.default_rng(2))


def test_what_varies_must_be_named():
    k, loss, run = stiff(in_steps=False, named=False)
    with pytest.raises(GradientError, match="the residual of `solution` reads `k`, which varies"):
        ti.hessian(run, wrt=k, out=loss)
