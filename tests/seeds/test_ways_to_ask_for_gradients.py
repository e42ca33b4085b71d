"""Three ways to lay fields out times three ways to ask for gradients: all nine give the same gradient."""

import numpy as np
import pytest

import dsim as ti

N = 5
LAYOUTS = ("shape", "placed", "both")
WAYS = ("needs_grad", "lazy_grad", "both")


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _check(x, w, loss):
    values, weights = np.linspace(-1, 1, N), np.linspace(2, 3, N)
    x.from_numpy(values)
    w.from_numpy(weights)

    @ti.kernel
    def weigh():
        for i in x:
            loss[None] += w[i] * x[i] ** 2

    with ti.Tape(loss=loss):
        weigh()
    assert loss[None] == pytest.approx((weights * values**2).sum())
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * weights * values, rtol=1e-14)
    np.testing.assert_allclose(w.grad.to_numpy(), values**2, rtol=1e-14)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nine_ways(layout, way):
    asked = {"needs_grad": True} if way != "lazy_grad" else {}

    def made(placed, *shape):
        if not placed:
            return ti.field(ti.f64, shape=shape, **asked)
        unplaced = ti.field(ti.f64, **asked)
        (ti.root.dense(ti.i, shape[0]) if shape else ti.root).place(unplaced)
        return unplaced

    x = made(layout != "shape", N)
    w = made(layout == "placed", N)
    loss = made(layout == "placed")
    if way != "needs_grad":
        ti.root.lazy_grad()
    _check(x, w, loss)


def test_everything_asked_for_three_times():
    x = ti.field(ti.f64, needs_grad=True)
    ti.root.dense(ti.i, N).place(x)
    ti.root.dense(ti.i, N).place(x.grad)
    w, loss = ti.field(ti.f64), ti.field(ti.f64)
    ti.root.dense(ti.i, N).place(w, w.grad)
    ti.root.place(loss)
    ti.root.lazy_grad()
    _check(x, w, loss)


def test_blocks_inside_blocks():
    x = ti.field(ti.f64, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    ti.root.dense(ti.ijk, (2, 1, 3)).dense(ti.ijk, (2, 4, 1)).place(x)
    ti.root.dense(ti.ijk, (2, 1, 3)).dense(ti.ijk, (2, 4, 1)).place(x.grad)
    ti.root.lazy_grad()
    assert x.shape == x.grad.shape == (4, 4, 3)
    values = np.random.default_rng(0).random((4, 4, 3))
    x.from_numpy(values)

    @ti.kernel
    def cubes():
        for i, j, k in x:
            loss[None] += x[i, j, k] ** 3

    with ti.Tape(loss=loss):
        cubes()
    np.testing.assert_allclose(x.grad.to_numpy(), 3 * values**2, rtol=1e-12)


def test_without_asking_there_is_no_gradient():
    x = ti.field(ti.f64, shape=N)
    with pytest.raises(RuntimeError, match="needs_grad"):
        x.grad[0]
