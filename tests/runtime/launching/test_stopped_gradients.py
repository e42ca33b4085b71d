"""Ctrl-C in launches of derivatives: fields and gradients are restored; missing values are not used."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import taped
from tests.stopping import ctrl_c

MANY = 10**12


@pytest.fixture(autouse=True)
def _doubles():
    ti.init(default_fp=ti.f64, default_ip=ti.i32)


def vector(n=1000, **options):
    return ti.field(ti.f64, shape=n, **options)


def swinging(n=8):
    """A kernel that changes its state in place, trip by trip, and a loss."""
    x = vector(n, needs_grad=True)
    x.from_numpy(np.linspace(0.5, 2.5, n))
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def swing(trips: ti.i64):
        for _ in range(1):
            for t in range(trips):
                i = ti.cast(t % 8, ti.i32)
                x[i] = x[i] + 1e-3 * ti.sin(x[(i + 1) % 8])

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    return x, loss, swing, total


def bits(*fields):
    return [f.to_numpy().tobytes() for f in fields]


def backward_stopped(loss, run, *fields, **options):
    """Runs under a tape that is stopped while it goes backwards; what the fields were when that began."""
    before = []

    def block(pressed):
        with ti.Tape(loss, **options):
            run()
            before.extend(bits(*fields))
            pressed.enter_context(ctrl_c())

    with ExitStack() as pressed, pytest.raises(KeyboardInterrupt, match="`swing` was stopped"):
        block(pressed)
    return before


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_stopped_backward_pass_puts_the_fields_back():
    x, loss, swing, total = swinging()
    before = backward_stopped(loss, lambda: (swing(3), swing(3_000_000), total()), x, loss)
    assert bits(x, loss) == before
    assert not x.grad.to_numpy().any()
    with ti.Tape(loss):
        swing(3)
        total()
    assert np.isfinite(x.grad.to_numpy()).all()
    assert x.grad.to_numpy().any()


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_stopped_backward_pass_leaves_the_gradients_of_before():
    x, loss, swing, total = swinging()
    x.grad.fill(3.0)
    backward_stopped(loss, lambda: (swing(3_000_000), total()), clear_gradients=False)
    assert (x.grad.to_numpy() == 3).all()


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_tape_in_which_a_launch_was_stopped_gives_no_gradient():
    x, loss, swing, total = swinging()
    x.grad.fill(3.0)
    with pytest.raises(KeyboardInterrupt), ctrl_c(), ti.Tape(loss):
        swing(MANY)
    assert not x.grad.to_numpy().any()

    def caught():
        with pytest.raises(KeyboardInterrupt), ctrl_c():
            swing(MANY)
        total()

    with pytest.raises(ti.GradientError, match="half of it has no gradient"):
        taped(loss, caught)


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_an_adjoint_by_itself_stops():
    x, y = vector(8, needs_grad=True), vector(8, needs_grad=True)

    @ti.kernel
    def waves(trips: ti.i64):
        for i in x:
            a = x[i]
            for _ in range(trips):
                a = ti.sin(a)
            y[i] = a

    y.grad.fill(1.0)
    before = bits(x, y)
    with pytest.raises(KeyboardInterrupt), ctrl_c():
        waves.grad(MANY)
    assert bits(x, y) == before
    waves(2)
    y.grad.fill(1.0)
    x.grad.fill(0.0)
    waves.grad(2)
    assert x.grad.to_numpy().tolist() == [1.0] * 8


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_forward_mode_stops():
    x, loss, swing, total = swinging()
    with pytest.raises(KeyboardInterrupt), ctrl_c(), ti.FwdMode(loss, x, seed=[1.0] * 8):
        swing(MANY)
    swing(2)
    with ti.FwdMode(loss, x, seed=[1.0] * 8):
        total()
    assert loss.dual[None] == pytest.approx(2 * x.to_numpy().sum())


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_check_grad_stops_with_everything_as_it_was():
    x, loss, swing, total = swinging()
    trips = [10]

    def run():
        swing(trips[0])
        trips[0] = MANY
        total()

    before = bits(x)
    with pytest.raises(KeyboardInterrupt), ExitStack() as later:
        ti.check_grad(lambda: (trips[0] == MANY and later.enter_context(ctrl_c()), run()), [x], loss)
    assert bits(x) == before


def test_what_needs_a_value_that_is_missing_does_not_run():
    x, n = vector(4), ti.field(ti.i32, shape=())
    n[None] = 2**31 - 1

    @ti.kernel
    def lacking():
        for _ in range(1):
            big = 0.0
            m = n[None]
            while m > 0:
                m = 1 + m % 5
            x[0] = big + m
        for i in range(4):
            x[i] = 7.0

    with pytest.raises(KeyboardInterrupt), ctrl_c():
        lacking()
    assert not x.to_numpy().any()
