"""Derivatives of quotients whose squares leave the range of their type, although the derivatives do not."""

import numpy as np
import pytest

import dsim as ds


@pytest.fixture(params=[True, False], ids=["fast", "exact"], autouse=True)
def _fast(request):
    ds.init(default_fp=ds.f64, fast_math=request.param)


def both(run, x, loss):
    """The gradient by a tape, and the derivatives along each number by forward mode."""
    with ds.Tape(loss):
        run()
    tangents = []
    for n in range(x.shape[0]):
        with ds.ad.FwdMode(loss, x, seed=np.eye(x.shape[0])[n].tolist()):
            run()
        tangents.append(loss.dual[None])
    return x.grad.to_numpy(), np.array(tangents)


@pytest.mark.parametrize(
    ("dtype", "a", "b"),
    [
        (ds.f32, 1e25, 1e25),
        (ds.f32, 1e-25, 1e-25),
        (ds.f32, 1e-20, 1e-24),
        (ds.f64, 1e160, 1e160),
        (ds.f64, 1e-160, 1e-160),
    ],
)
def test_a_quotient(dtype, a, b):
    x, loss = ds.field(dtype, 2, needs_grad=True), ds.field(dtype, (), needs_grad=True)
    x.from_numpy(np.array([a, b], dtype.numpy))

    @ds.kernel
    def divide():
        loss[None] += x[0] / x[1]

    expected = np.array([1 / b, -a / b / b])
    for found in both(divide, x, loss):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "at"), [(ds.f64, -400.0), (ds.f64, -360.0), (ds.f32, -50.0)])
def test_the_logarithm_of_a_sigmoid(dtype, at):
    x, loss = ds.field(dtype, 1, needs_grad=True), ds.field(dtype, (), needs_grad=True)
    x[0] = at

    @ds.kernel
    def run():
        loss[None] += ds.log(1.0 / (1.0 + ds.exp(-x[0])))

    for found in both(run, x, loss):
        np.testing.assert_allclose(found, [1.0], rtol=1e-5)


def test_a_quotient_that_a_selection_guards():
    x, loss = ds.field(ds.f64, 3, needs_grad=True), ds.field(ds.f64, (), needs_grad=True)
    x.from_numpy(np.array([1e160, 1e160, 0.0]))

    @ds.kernel
    def run():
        for i in range(1, 3):
            loss[None] += ds.select(x[i] > 0.0, x[0] / x[i], 0.0)

    for found in both(run, x, loss):
        np.testing.assert_allclose(found, [1e-160, -1e-160, 0.0], rtol=1e-9)


def test_softmax_of_large_numbers():
    x, loss = ds.field(ds.f32, 3, needs_grad=True), ds.field(ds.f32, (), needs_grad=True)
    s = ds.field(ds.f32, (), needs_grad=True)
    x.from_numpy(np.array([46.0, 45.0, 44.0], np.float32))

    @ds.kernel
    def run():
        s[None] = 0.0
        for i in x:
            s[None] += ds.exp(x[i])
        loss[None] += ds.exp(x[0]) / s[None]

    p = np.exp([0.0, -1.0, -2.0])
    p /= p.sum()
    for found in both(run, x, loss):
        np.testing.assert_allclose(found, p[0] * (np.eye(3)[0] - p), rtol=1e-5)


def test_quotients_of_quotients_keep_their_order():
    x, y = ds.field(ds.f32, 3), ds.field(ds.f32, 2)

    @ds.kernel
    def run():
        y[0] = x[0] / (x[1] / x[2])
        y[1] = x[0] / x[1] * x[2]

    for scale in (1e25, 1e-25):
        x.from_numpy(np.array([1.0, 2.0, 3.0], np.float32) * np.float32(scale))
        run()
        np.testing.assert_allclose(y.to_numpy(), 1.5 * scale, rtol=1e-5)


@pytest.mark.parametrize("size", [1e11, 1e-11])
def test_the_inverse_of_a_matrix_that_is_scaled(size):
    A, loss = ds.Matrix.field(3, 3, ds.f32, (), needs_grad=True), ds.field(ds.f32, (), needs_grad=True)
    given = np.array([[2.7, 0.8, 0.1], [0.8, 2.7, 0.2], [0.1, 0.2, 1.0]]) * size
    A.from_numpy(given.astype(np.float32))
    near_one = 1 / size

    @ds.kernel
    def invert():
        scaled = (A[None] * near_one).inverse() * near_one
        loss[None] += scaled[0, 1]

    with ds.Tape(loss):
        invert()
    inverse = np.linalg.inv(given)
    assert loss[None] == pytest.approx(inverse[0, 1], rel=1e-5)
    np.testing.assert_allclose(A.grad.to_numpy(), -np.outer(inverse[0], inverse[:, 1]), rtol=1e-4)
