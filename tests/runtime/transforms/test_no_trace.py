"""Transforms leave fields, gradients and tangents as they were, and do not look at those of other fields."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.checking import kept_derivatives


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def state(*fields):
    return [
        (f.to_numpy().tobytes(), f.needs_grad, f.needs_dual, f.grad.touched, f.dual.touched) for f in fields
    ]


@pytest.mark.slow
def test_of_a_solving_function():
    x, y, r = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(3))

    @ti.kernel
    def equation():
        r[None] = y[None] ** 3 - x[None]

    @ti.implicit(residual=(equation, r), unknown=y, wrt=x)
    def solve():
        y[None] = x[None] ** (1 / 3)

    x[None] = 8.0
    before = state(x, y, r)
    assert ti.grad(solve, wrt=x, out=y)() == pytest.approx(1 / 12)
    assert ti.jvp(solve, wrt=x, out=y, tangents=1.0)[1] == pytest.approx(1 / 12)
    assert ti.hessian(solve, wrt=x, out=y) == pytest.approx(-1 / 144)
    assert state(x, y, r) == before


def test_of_a_check_of_a_function_that_a_rule_differentiates():
    x = ti.field(ti.f64, shape=(2, 2), needs_grad=True)
    b = ti.field(ti.f64, shape=2, needs_grad=True)
    y = ti.field(ti.f64, shape=2, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def measure():
        for i in y:
            loss[None] += y[i] ** 2

    def run():
        ti.operations.solve(x, b, out=y)
        measure()

    x.from_numpy(np.array([[2.0, 0.5], [0.5, 1.0]]))
    b.from_numpy(np.array([1.0, 2.0]))
    before = state(x, b, y, loss)
    assert ti.check_grad(run, wrt=[x, b], loss=loss)
    assert state(x, b, y, loss) == before


def test_gradients_of_fields_that_a_run_does_not_use_are_not_copied(monkeypatch):
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
    other = ti.field(ti.f64, shape=3, needs_grad=True)

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    noted = kept_derivatives._noted
    kept = []

    def spy(f):
        kept.append(f)
        return noted(f)

    monkeypatch.setattr(kept_derivatives, "_noted", spy)
    other.grad.fill(7.0)
    x[None] = 3.0
    assert ti.objective(square, wrt=x, loss=y)([2.0])[1].tolist() == [4.0]
    J = ti.linearize(square, wrt=x, out=y)
    assert J.matvec([1.0]) == J.rmatvec([1.0]) == 6.0
    assert x.grad in kept
    assert other.grad not in kept
    assert other.grad.to_numpy().tolist() == [7.0, 7.0, 7.0]
