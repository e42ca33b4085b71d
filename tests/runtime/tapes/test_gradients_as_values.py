"""Programs whose calls work with gradients: the tape's result takes the place of these numbers."""

from __future__ import annotations

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def single(name):
    return ti.field(ti.f64, shape=(), needs_grad=True, name=name)


def test_forces_by_the_gradient_of_an_energy():
    """A spring whose force is ``x.grad``: the tape's gradients are those of differences."""
    x, v, k, energy, loss = map(single, ("x", "v", "k", "energy", "loss"))

    @ti.kernel
    def stretched():
        energy[None] += 0.5 * k[None] * x[None] ** 2

    @ti.kernel
    def move():
        v[None] -= 0.1 * x.grad[None]
        x[None] += 0.1 * v[None]

    @ti.kernel
    def end():
        loss[None] += x[None] ** 2

    def swing():
        v[None] = 0.0
        for _ in range(5):
            x.grad[None] = 0.0
            energy.grad[None] = 1.0
            stretched()
            stretched.grad()
            move()
        end()

    def lost(start, stiffness):
        x[None], k[None], loss[None] = start, stiffness, 0.0
        swing()
        return loss[None]

    x[None], k[None] = 1.0, 2.0
    with ti.Tape(loss):
        swing()
    found = x.grad[None], k.grad[None]
    h = 1e-6
    by_x = (lost(1.0 + h, 2.0) - lost(1.0 - h, 2.0)) / (2 * h)
    by_k = (lost(1.0, 2.0 + h) - lost(1.0, 2.0 - h)) / (2 * h)
    assert found == pytest.approx((by_x, by_k), rel=1e-7)


def test_a_kernel_that_writes_a_gradient():
    x, y = single("x"), single("y")

    @ti.kernel
    def square():
        x.grad[None] = 7.0
        y[None] += x[None] ** 2

    x[None] = 2.0
    with ti.Tape(y):
        square()
    assert x.grad[None] == 4.0
