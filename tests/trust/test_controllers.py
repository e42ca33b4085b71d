"""Controllers: a layer of 32 units in a loop over time, by itself and with masses on springs."""

import numpy as np
import pytest

import dsim as ti
from tests.programs.loading import load
from tests.trust.making import Program, check, numbers

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")]


def _layer(w, state, loss, n):
    """Three times ``hidden = tanh(w hidden)``, from `state`; the loss is the sum of squares."""

    @ti.kernel
    def run():
        for _ in range(1):
            hidden = ti.Vector.zero(ti.f64, n)
            for i in range(n):
                hidden[i] = state[i]
            for _ in range(3):
                following = ti.Vector.zero(ti.f64, n)
                for i in range(n):
                    s = 0.0
                    for j in range(n):
                        s += w[i, j] * hidden[j]
                    following[i] = ti.tanh(s)
                for i in range(n):
                    hidden[i] = following[i]
            for i in range(n):
                loss[None] += hidden[i] ** 2

    return run


def test_a_layer_in_a_loop():
    n = 32
    rng = np.random.default_rng(0)
    weights, start = rng.standard_normal((n, n)) / 8, rng.standard_normal(n)
    w, state, loss = numbers(n, n, start=weights), numbers(n, start=start), numbers()
    with ti.ad.Tape(loss):
        _layer(w, state, loss, n)()
    values = [start]
    for _ in range(3):
        values.append(np.tanh(weights @ values[-1]))
    bar, by_w = 2 * values[3], np.zeros((n, n))
    for step in (2, 1, 0):
        inner = bar * (1 - values[step + 1] ** 2)
        by_w += np.outer(inner, values[step])
        bar = weights.T @ inner
    assert loss[None] == pytest.approx((values[3] ** 2).sum())
    np.testing.assert_allclose(w.grad.to_numpy(), by_w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.grad.to_numpy(), bar, rtol=1e-9, atol=1e-12)


UNITS, MASSES, STEPS = 32, 3, 12


def _brain(w, out, q, hidden, pull):
    @ti.kernel
    def think(t: ti.i32):
        for i in range(UNITS):
            s = 0.0
            for j in range(MASSES):
                s += w[i, j] * (q[t, j] + ti.sin(0.5 * t + j))
            hidden[t, i] = ti.tanh(s)

    @ti.kernel
    def act(t: ti.i32):
        for i in range(MASSES):
            s = 0.0
            for j in range(UNITS):
                s += out[i, j] * hidden[t, j]
            pull[t, i] = ti.tanh(s)

    return think, act


def _body(q, v, pull):
    @ti.kernel
    def move(t: ti.i32):
        for i in range(MASSES):
            f = pull[t, i] - q[t, i]
            for j in range(MASSES):
                f += 0.5 * (q[t, j] - q[t, i])
            v[t + 1, i] = 0.95 * v[t, i] + 0.1 * f
            q[t + 1, i] = q[t, i] + 0.1 * v[t + 1, i]

    return move


def _robot(real):
    rng = np.random.default_rng(1)
    w = numbers(UNITS, MASSES, start=rng.standard_normal((UNITS, MASSES)) * 0.3, real=real)
    out = numbers(
        MASSES, UNITS, start=rng.standard_normal((MASSES, UNITS)) * 0.2, real=real, needs_grad=False
    )
    q, v = numbers(STEPS + 1, MASSES, real=real), numbers(STEPS + 1, MASSES, real=real)
    hidden, pull = numbers(STEPS, UNITS, real=real), numbers(STEPS, MASSES, real=real)
    loss = numbers(real=real)
    think, act = _brain(w, out, q, hidden, pull)
    move = _body(q, v, pull)

    @ti.kernel
    def measure():
        loss[None] = -q[STEPS, 0]

    def run():
        for t in range(STEPS):
            think(t)
            act(t)
            move(t)
        measure()

    return Program(run, w, loss, [q, v, hidden, pull])


def test_a_robot_on_springs_with_a_wide_layer():
    check(_robot, ti.f64)


def test_a_robot_that_walks_for_2048_steps():
    """The norm of the gradient by the weights, in f32: one of the peers finds 5.88."""
    robot = load("mass_spring_robot")
    robot.clear_states()
    with ti.ad.Tape(robot.loss):
        robot.forward(2048)
    assert robot.loss[None] == pytest.approx(-0.19114, abs=1e-4)
    assert robot.norm_of_gradient() == pytest.approx(0.4278, abs=1e-4)
