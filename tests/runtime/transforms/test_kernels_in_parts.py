"""Kernels that are launched in parts: what a part brings to the next stays, whoever runs them in between."""

from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from tests.runtime.transforms.solutions import numbers


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def scaled():
    """x becomes ``s y²`` with ``y = s x`` and s the sum of squares: the sum goes to the later loops."""
    x, y = numbers(["x", "y"], 3)
    (loss,) = numbers(["loss"])

    @ti.kernel
    def scale():
        s = 0.0
        for i in x:
            s += x[i] ** 2
        for i in x:
            y[i] = x[i] * s
        for i in x:
            x[i] = y[i] ** 2 * s
        for i in x:
            loss[None] += x[i] * s

    x.from_numpy(np.array([0.1, 0.2, 0.3]))
    return SimpleNamespace(x=x, y=y, loss=loss, run=scale)


def jacobian(x):
    """The loss is the seventh power of x, by the sum of squares: ``s⁵``."""
    return 10 * np.sum(x**2) ** 4 * x


def test_a_linearized_run_keeps_them():
    p = scaled()
    at, other = p.x.to_numpy(), np.array([0.5, 0.4, 0.3])
    J = ti.linearize(p.run, wrt=p.x, out=p.loss)
    assert J.rmatvec([1.0]) == pytest.approx(jacobian(at))
    p.x.from_numpy(other)
    with ti.Tape(p.loss):
        p.run()
    assert p.x.grad.to_numpy() == pytest.approx(jacobian(other))
    assert J.rmatvec([1.0]) == pytest.approx(jacobian(at))
    p.x.from_numpy(other)
    assert ti.linearize(p.run, wrt=p.x, out=p.loss).rmatvec([1.0]) == pytest.approx(jacobian(other))
    assert J.rmatvec([1.0]) == pytest.approx(jacobian(at))


def test_a_transform_inside_a_tape_puts_them_back():
    p = scaled()
    at, other = p.x.to_numpy(), np.array([0.5, 0.4, 0.3])
    elsewhere = ti.objective(p.run, wrt=p.x, loss=p.loss)
    with ti.Tape(p.loss):
        p.run()
        with pytest.warns(ti.GradientWarning, match="of a transform inside the tape has no gradient"):
            assert elsewhere(other)[1] == pytest.approx(jacobian(other))
    assert p.x.grad.to_numpy() == pytest.approx(jacobian(at))


def balance(k, u, r):
    """The kernels of ``(1 + s²) u + 0.1 s = k``, with s the sum of squares of u: residual and iteration."""

    @ti.kernel
    def residual():
        s = 0.0
        for i in u:
            s += u[i] ** 2
        for i in u:
            r[i] = u[i] * s
        for i in u:
            r[i] = r[i] * s + u[i] - k[i] + 0.1 * s

    @ti.kernel
    def relax():
        for i in u:
            u[i] -= 0.5 * r[i]

    return residual, relax


@pytest.mark.slow
def test_a_residual_puts_them_back():
    """It is launched for the loss, too, before the equation is solved at another place."""
    k, u, r = numbers(["k", "u", "r"], 2)
    (loss,) = numbers(["loss"])
    residual, relax = balance(k, u, r)

    @ti.kernel
    def start():
        for i in u:
            u[i] = 1.2 * k[i]

    @ti.kernel
    def measure():
        for i in u:
            loss[None] += r[i] * k[i] * (i + 1)

    @ti.implicit(residual=(residual, r), unknown=u, wrt=k)
    def solve():
        for _ in range(80):
            residual()
            relax()

    @ti.kernel
    def end():
        for i in u:
            loss[None] += u[i] ** 2

    def run():
        start()
        residual()
        measure()
        solve()
        end()

    k.from_numpy(np.array([0.3, 0.4]))
    assert ti.check_grad(run, wrt=k, loss=loss)
    with ti.Tape(loss, grad_check=[k]):
        run()
