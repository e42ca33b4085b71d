"""What an index outside of an array argument does."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@ti.kernel
def smooth(x: ti.types.ndarray(boundary="clamp"), y: ti.types.ndarray()):
    for i in y:
        y[i] = x[i - 1] + 2.0 * x[i] + x[i + 1]


def test_clamped_reads_and_their_gradients():
    x, y = ti.ndarray(ti.f64, shape=4, needs_grad=True), ti.ndarray(ti.f64, shape=4, needs_grad=True)
    numbers = np.array([1.0, 10.0, 100.0, 1000.0])
    x.from_numpy(numbers)
    smooth(x, y)
    padded = np.pad(numbers, 1, mode="edge")
    np.testing.assert_array_equal(y.to_numpy(), padded[:-2] + 2 * padded[1:-1] + padded[2:])
    y.grad.from_numpy(np.array([1.0, 2.0, 3.0, 4.0]))
    smooth.grad(x, y)
    assert x.grad.to_numpy().tolist() == [1 * 3 + 2, 1 + 4 + 3, 2 + 6 + 4, 3 + 4 * 3]
    out = np.zeros(4)
    smooth(numbers, out)
    np.testing.assert_array_equal(out, y.to_numpy())


def test_clamped_stores_and_elements():
    @ti.kernel
    def run(v: ti.types.ndarray(dtype=ti.math.vec2, ndim=2, boundary="clamp"), k: int):
        v[k, -5][1] = 3.0
        v[-1, 100].x += 1.0

    v = ti.Vector.ndarray(2, ti.f64, shape=(3, 4))
    run(v, 7)
    expected = np.zeros((3, 4, 2))
    expected[2, 0, 1], expected[0, 3, 0] = 3.0, 1.0
    np.testing.assert_array_equal(v.to_numpy(), expected)


def test_each_annotation_is_for_its_own_function():
    x = ti.ndarray(ti.f64, shape=3)
    x.from_numpy(np.arange(3.0))

    @ti.func
    def clamped(a: ti.types.ndarray(boundary="clamp"), i):
        return a[i]

    @ti.func
    def checked(a: ti.types.ndarray(), i):
        return a[i]

    @ti.kernel
    def one(a: ti.types.ndarray(), i: int) -> float:
        return clamped(a, i)

    @ti.kernel
    def other(a: ti.types.ndarray(boundary="clamp"), i: int) -> float:
        return checked(a, i)

    assert (one(x, 9), one(x, -9), other(x, 1)) == (2.0, 0.0, 1.0)
    with pytest.raises(IndexError, match="index 9 is outside `a` of shape"):
        other(x, 9)


def test_a_captured_field_that_is_passed_too():
    x = ti.field(ti.f64, shape=3)
    x.from_numpy(np.arange(3.0))

    @ti.kernel
    def run(a: ti.types.ndarray(boundary="clamp")) -> float:
        return a[5] + 10.0 * x[0] + a.shape[0]

    assert run(x) == 5.0


def test_gradients_by_name_are_clamped():
    x = ti.ndarray(ti.f64, shape=3, needs_grad=True)

    @ti.kernel
    def run(a: ti.types.ndarray(boundary="clamp")):
        a.grad[7] = 2.0

    run(x)
    assert x.grad.to_numpy().tolist() == [0.0, 0.0, 2.0]


def test_neighbours_stay_parallel_where_they_may():
    assert "parallel for" in str(smooth.of(ti.ndarray(ti.f64, 8), ti.ndarray(ti.f64, 8)).primal.ir)


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")  # that it is serial
def test_stores_that_meet_at_the_border_keep_their_order():
    @ti.kernel
    def run(a: ti.types.ndarray(boundary="clamp")):
        for i in range(20000):
            a[i - 10] = i

    a = ti.ndarray(ti.i32, shape=100)
    run(a)
    assert a.to_numpy().tolist() == [10, *range(11, 109), 19999]
