"""Taichi's guide to differentiable programming: a tape, a kernel's gradient, forces from an energy."""

import math

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def test_a_derivative_written_by_hand_and_one_by_a_tape():
    x = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
    y = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
    by_hand = ti.field(dtype=ti.f32, shape=())

    @ti.kernel
    def sine():
        y[None] = ti.sin(x[None])

    @ti.kernel
    def cosine():
        by_hand[None] = ti.cos(x[None])

    for at in (0.0, 0.5, -2.25):
        x[None] = at
        with ti.Tape(y):
            sine()
        cosine()
        assert y[None] == pytest.approx(math.sin(at), abs=1e-6)
        assert x.grad[None] == pytest.approx(math.cos(at), abs=1e-6)
        assert x.grad[None] == pytest.approx(by_hand[None], abs=1e-6)


def test_fields_of_pythons_float():
    x, y = ti.field(float, ()), ti.field(float, ())

    @ti.kernel
    def sine():
        y[None] = ti.sin(x[None])

    x[None] = 0.5
    sine()
    assert y[None] == pytest.approx(math.sin(0.5), abs=1e-6)


@pytest.mark.parametrize("tape", [lambda loss: ti.Tape(loss=loss), lambda loss: ti.ad.Tape(loss=loss)])
def test_both_names_of_the_tape(tape):
    x = ti.field(ti.f64, shape=3, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    loss[None] = 17.0  # a tape sets its loss to 0 first

    @ti.kernel
    def squares():
        for i in x:
            loss[None] += x[i] ** 2

    with tape(loss):
        squares()
    assert loss[None] == 14.0
    assert x.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]


def test_two_losses_through_a_kernels_gradient():
    n = 16
    x = ti.field(dtype=ti.f32, shape=n, needs_grad=True)
    squares = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
    plain = ti.field(dtype=ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def sums():
        for i in x:
            squares[None] += x[i] ** 2
            plain[None] += x[i]

    for i in range(n):
        x[i] = i
    squares.grad[None] = 1
    plain.grad[None] = 1
    sums()
    sums.grad()
    for i in range(n):
        assert x.grad[i] == i * 2 + 1


def _bodies(n):
    x = ti.Vector.field(2, dtype=ti.f32, shape=n, needs_grad=True)
    v = ti.Vector.field(2, dtype=ti.f32, shape=n)
    energy = ti.field(dtype=ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def attract():
        for i, j in ti.ndrange(n, n):
            apart = x[i] - x[j]
            energy[None] += -1 / apart.norm(1e-3)

    return x, v, energy, attract


def test_gravity_with_a_picture(monkeypatch):
    monkeypatch.setenv("DSIM_GUI_FRAMES", "3")
    n, dt = 8, 1e-5
    x, v, energy, attract = _bodies(n)

    @ti.kernel
    def scatter_bodies():
        for i in x:
            x[i] = [ti.random(), ti.random()]

    @ti.kernel
    def move():
        for i in x:
            v[i] += dt * -x.grad[i]
        for i in x:
            x[i] += dt * v[i]

    def substep():
        with ti.Tape(loss=energy):
            attract()
        move()

    scatter_bodies()
    before = x.to_numpy()
    assert before.min() >= 0
    assert before.max() < 1
    gui = ti.GUI("bodies", res=64)
    while gui.running:
        for _ in range(50):
            substep()
        gui.circles(x.to_numpy(), radius=3)
        gui.show()
    assert gui.frame == 3
    assert max(frame.max() for frame in gui.frames) == 255
    assert np.abs(v.to_numpy().sum(0)).max() < 1e-4 * np.abs(v.to_numpy()).sum()
    assert 0 < np.abs(x.to_numpy() - before).max() < 1e-3


def test_gravity_attracts_along_the_line():
    x, _, energy, attract = _bodies(2)
    x.from_numpy(np.array([[0.25, 0.5], [0.75, 0.5]], np.float32))
    with ti.Tape(loss=energy):
        attract()
    right = 2 * 0.5 / (0.25 + 1e-3) ** 1.5
    np.testing.assert_allclose(x.grad.to_numpy(), [[-right, 0.0], [right, 0.0]], rtol=1e-5, atol=1e-5)
    assert energy[None] == pytest.approx(-2 / math.sqrt(0.25 + 1e-3) - 2 / math.sqrt(1e-3), rel=1e-6)
