"""Loops that Taichi's kernel simplicity rule allows, and those that it forbids: all work here."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _field(*shape):
    return ti.field(ti.f64, shape=shape, needs_grad=True)


def test_a_plain_loop():
    x, y, loss = _field(4), _field(4), _field()
    y.from_numpy(np.array([1.0, 2.0, 3.0, 4.0]))

    @ti.kernel
    def copy():
        for i in x:
            x[i] = y[i]

    @ti.kernel
    def squares():
        for i in x:
            loss[None] += x[i] ** 2

    with ti.Tape(loss):
        copy()
        squares()
    assert y.grad.to_numpy().tolist() == [2.0, 4.0, 6.0, 8.0]


def test_loops_one_in_the_other():
    a, loss = _field(3), _field()
    a.from_numpy(np.array([0.5, -1.0, 2.0]))

    @ti.kernel
    def nested():
        for i in range(3):
            for j in range(20):
                for k in range(30):
                    loss[None] += a[i] ** 2 * (j - k)

    with ti.Tape(loss):
        nested()
    total = sum(j - k for j in range(20) for k in range(30))
    assert a.grad.to_numpy() == pytest.approx(2 * total * np.array([0.5, -1.0, 2.0]))


def test_two_loops_in_a_loop():
    a, b, loss = _field(10, 20), _field(10), _field()
    rng = np.random.default_rng(0)
    a.from_numpy(rng.random((10, 20)))
    b.from_numpy(rng.random(10))

    @ti.kernel
    def two_inside():
        for i in range(10):
            for j in range(20):
                loss[None] += a[i, j] ** 2
            for j in range(20):
                loss[None] += a[i, j] * b[i]

    with ti.Tape(loss):
        two_inside()
    values, factors = a.to_numpy(), b.to_numpy()
    assert loss[None] == pytest.approx((values**2).sum() + (values.sum(1) * factors).sum())
    np.testing.assert_allclose(a.grad.to_numpy(), 2 * values + factors[:, None], rtol=1e-14)
    np.testing.assert_allclose(b.grad.to_numpy(), values.sum(1), rtol=1e-14)


def test_two_unrolled_loops_in_a_loop():
    a, b, loss = _field(10, 3), _field(10), _field()
    a.fill(0.5)
    b.fill(2.0)

    @ti.kernel
    def unrolled():
        for i in range(10):
            for j in ti.static(range(3)):
                loss[None] += a[i, j] ** 2
            for j in ti.static(range(3)):
                loss[None] += a[i, j] * b[i]

    with ti.Tape(loss):
        unrolled()
    assert (a.grad.to_numpy() == 3.0).all()
    assert (b.grad.to_numpy() == 1.5).all()


def test_a_statement_beside_a_loop():
    x, loss = _field(10), _field()
    x.from_numpy(np.arange(10.0))

    @ti.kernel
    def mixed():
        loss[None] += x[0]
        for i in range(10):
            loss[None] += x[i] ** 2
        loss[None] += 3.0 * x[9]

    with ti.Tape(loss):
        mixed()
    expected = 2 * np.arange(10.0)
    expected[0] += 1
    expected[9] += 3
    assert loss[None] == 285.0 + 27.0
    assert x.grad.to_numpy().tolist() == expected.tolist()


def test_statements_between_inner_loops():
    x, loss = _field(4, 5), _field()
    values = np.linspace(-1, 1, 20).reshape(4, 5)
    x.from_numpy(values)

    @ti.kernel
    def rows():
        for i in range(4):
            s = 0.0
            for j in range(5):
                s += x[i, j]
            scaled = s * x[i, 0]
            for j in range(5):
                loss[None] += scaled * x[i, j]

    with ti.Tape(loss):
        rows()
    sums, first = values.sum(1, keepdims=True), values[:, :1]
    expected = 2 * sums * first * np.ones((1, 5))
    expected[:, :1] += sums**2
    assert loss[None] == pytest.approx((sums**2 * first).sum())
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-12, atol=1e-12)
