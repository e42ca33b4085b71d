"""Indices that leave 32 bits are out of bounds, also where they would wrap into bounds."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

HALF = 1 << 16  # its square is 2**32
LEAST = -(1 << 31)


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def fields():
    x, y = (ti.field(ti.f64, shape=4, needs_grad=True, name=name) for name in "xy")
    x.from_numpy(np.array([0.5, 0.25, 0.75, 1.0]))
    y.fill(1.0)
    return x, y, single("loss")


def square(x, y, loss):
    @ti.kernel
    def run(s: ti.i32):
        y[s * s] = x[1]
        loss[None] += y[0]

    return run, HALF


def shift(x, y, loss):
    @ti.kernel
    def run(s: ti.i32):
        y[s << 16] = x[1]
        loss[None] += y[0]

    return run, HALF


def product(x, y, loss):
    @ti.kernel
    def run(s: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(4):
            y[i * s * 65536] = ti.sin(x[i])
        loss[None] += y[0]

    return run, HALF


def read(x, y, loss):
    @ti.kernel
    def run(s: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(4):
            y[i] = x[i * s * 65536] * x[i]
            x[i] = 0.5
        loss[None] += y[0]

    return run, HALF


def differences(x, y, loss):
    @ti.kernel
    def run(s: ti.i32):
        for i in range(4):
            y[(i - s) - s] = x[i]
        loss[None] += y[1]

    return run, LEAST


def steps(x, y, loss):
    @ti.kernel
    def run(s: ti.i32):
        for i in range(4):
            j = i + s
            y[j + s] = x[i] ** 2
        loss[None] += y[1]

    return run, LEAST


def gathered(x, y, loss):
    """A loop whose checks are looked at afterwards."""
    at = ti.field(ti.i32, shape=4)
    at.fill(1 << 29)

    @ti.kernel
    def run(s: ti.i32):
        for i in range(4):
            y[i] = x[at[i] * 8 + s]
        loss[None] += y[1]

    return run, 1


@pytest.mark.parametrize("program", [square, shift, product, read, differences, steps, gathered])
def test_they_are_out_of_bounds(program):
    x, y, loss = fields()
    run, s = program(x, y, loss)
    with pytest.raises(ti.BoundsError, match=r"index -?\d+ is outside"):
        run(s)
    with pytest.raises(ti.BoundsError, match=r"index -?\d+ is outside"), ti.Tape(loss):
        run(s)


def test_what_fits_is_what_it_was():
    x, y, loss = fields()
    run, _ = square(x, y, loss)
    with ti.Tape(loss):
        run(0)
    assert x.grad.to_numpy().tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("overwritten", [False, True])
def test_products_beyond_64_bits_wrap_in_every_pass(overwritten):
    x, y, loss = fields()

    @ti.kernel
    def run(s: ti.i32):
        for _ in range(1):
            y[s * 65536 * 65536 * 65536 + 1] *= x[1]
        loss[None] += y[1] ** 2
        if overwritten:
            y[s * 65536 * 65536 * 65536 + 1] = 0.0

    with ti.Tape(loss):
        run(3)
    assert x.grad.to_numpy().tolist() == [0, 0.5, 0, 0]


def test_remainders_wrap_before():
    x, y, loss = fields()

    @ti.kernel
    def run(s: ti.i32):
        for i in range(4):
            y[(i * s * 40503) % 4] += x[i] ** 2
        for i in y:
            loss[None] += y[i]

    with ti.Tape(loss):
        run(HALF)
    assert np.array_equal(x.grad.to_numpy(), 2 * x.to_numpy())
