"""Loops of 200,000 trips: both modes agree with each other, and with closed forms where there are any."""

import math

import numpy as np
import pytest

import dsim as ti
from dsim.ir.nodes import For, While
from dsim.ir.walk import statements

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")

TRIPS = 200_000
STEP = 1e-5


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Fields:
    """A start x, the number of trips, and the loss."""

    def __init__(self):
        self.x = ti.field(ti.f64, shape=(), needs_grad=True)
        self.n = ti.field(ti.i32, shape=())
        self.loss = ti.field(ti.f64, shape=(), needs_grad=True)
        self.x[None], self.n[None] = 0.3, TRIPS


def slopes(run, x, loss, seed=None):
    """The gradient, and in the direction `seed` the tangent."""
    with ti.ad.Tape(loss):
        run()
    gradient = x.grad.to_numpy()
    loss[None] = 0.0
    with ti.ad.FwdMode(loss=loss, param=x, seed=seed):
        run()
    return gradient, loss.dual[None]


def scalar(f):
    x, n, loss = f.x, f.n, f.loss

    @ti.kernel
    def run():
        for _ in range(1):
            s = x[None]
            for _ in range(n[None]):
                s += STEP * ti.sin(s)
            loss[None] += s

    return run


def at_the_top(f):
    x, n, loss = f.x, f.n, f.loss

    @ti.kernel
    def run():
        s = x[None]
        for _ in range(n[None]):
            s += STEP * ti.sin(s)
        loss[None] += s

    return run


def in_a_while(f):
    x, n, loss = f.x, f.n, f.loss

    @ti.kernel
    def run():
        for _ in range(1):
            s, k = x[None], 0
            while k < n[None]:
                s += STEP * ti.sin(s)
                k += 1
            loss[None] += s

    return run


def with_break_and_continue(f):
    x, n, loss = f.x, f.n, f.loss

    @ti.kernel
    def run():
        for _ in range(1):
            s = x[None]
            for k in range(3 * n[None]):
                if k == 2 * n[None]:
                    break
                if k % 2 == 1:
                    continue
                s += STEP * ti.sin(s)
            loss[None] += s

    return run


def nested(f):
    x, loss = f.x, f.loss

    @ti.kernel
    def run():
        for _ in range(1):
            s = x[None]
            for _ in range(400):
                for _ in range(TRIPS // 400):
                    s += STEP * ti.sin(s)
            loss[None] += s

    return run


def in_a_field(f):
    x, loss = f.x, f.loss
    y = ti.field(ti.f64, shape=TRIPS + 1, needs_grad=True)

    @ti.kernel
    def run():
        y[0] = x[None]
        for k in range(TRIPS):
            y[k + 1] = y[k] + STEP * ti.sin(y[k])
        loss[None] += y[TRIPS]

    return run


@pytest.mark.parametrize(
    "build",
    [scalar, at_the_top, in_a_while, with_break_and_continue, nested, in_a_field],
    ids=lambda f: f.__name__,
)
def test_a_carried_number(build):
    f = Fields()
    gradient, tangent = slopes(build(f), f.x, f.loss)
    assert gradient == pytest.approx(tangent, rel=1e-10)
    # s' = sin(s): tan(s/2) grows like e^t, and the slope is sin(s)/sin(x)
    end = 2 * math.atan(math.tan(0.15) * math.exp(STEP * TRIPS))
    assert f.loss[None] == pytest.approx(end, rel=1e-5)
    assert gradient == pytest.approx(math.sin(end) / math.sin(0.3), rel=1e-4)


def test_a_carried_matrix():
    f = Fields()
    n, loss = f.n, f.loss
    angle = 1e-5
    turn = ti.Matrix.field(2, 2, ti.f64, shape=(), needs_grad=True)
    turn.from_numpy(np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]))

    @ti.kernel
    def run():
        for _ in range(1):
            m = ti.Matrix.identity(ti.f64, 2)
            for _ in range(n[None]):
                m = m @ turn[None]
            loss[None] += m[0, 1]

    direction = np.array([[0.0, -1.0], [1.0, 0.0]])  # of a larger angle
    gradient, tangent = slopes(run, turn, loss, direction)
    assert (gradient * direction).sum() == pytest.approx(tangent, rel=1e-9)
    whole = angle * TRIPS
    assert loss[None] == pytest.approx(-math.sin(whole), rel=1e-9)
    assert tangent == pytest.approx(-TRIPS * math.cos(whole - angle), rel=1e-9)


@pytest.mark.slow
def test_a_local_vector_by_run_time_indices():
    f = Fields()
    x, n, loss = f.x, f.n, f.loss

    @ti.kernel
    def run():
        for _ in range(1):
            v = ti.Vector([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
            for k in range(n[None]):
                v[k % 8] = v[(k + 3) % 8] + STEP * ti.sin(v[k % 8]) * x[None]
            loss[None] += v.sum()

    gradient, tangent = slopes(run, x, loss)
    assert gradient == pytest.approx(tangent, rel=1e-10)


@pytest.mark.slow
def test_many_at_once():
    f = Fields()
    loss, rows = f.loss, 8
    x = ti.field(ti.f64, shape=rows, needs_grad=True)
    x.from_numpy(np.linspace(0.1, 0.8, rows))

    @ti.kernel
    def run():
        for i in x:
            s = x[i]
            for _ in range(TRIPS):
                s += STEP * ti.sin(s)
            loss[None] += s

    gradient, tangent = slopes(run, x, loss, np.ones(rows))
    ends = 2 * np.arctan(np.tan(x.to_numpy() / 2) * math.exp(STEP * TRIPS))
    np.testing.assert_allclose(gradient, np.sin(ends) / np.sin(x.to_numpy()), rtol=1e-4)
    assert gradient.sum() == pytest.approx(tangent, rel=1e-10)


def test_the_trips_of_a_while_are_counted_in_64_bits():
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k(n: ti.i64):
        j = ti.i64(0)
        while j < n:
            y[None] += x[None]
            j += 1

    adjoint = k.adjoint.kernel.body
    counters = [v for s in statements(adjoint) if isinstance(s, While) for v in s.carried if "trip" in v.name]
    counters += [s.index for s in statements(adjoint) if isinstance(s, For)]
    assert len(counters) == 2
    assert {v.type for v in counters} == {ti.i64}
