"""The treatment of an index outside an array argument."""

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


def test_components_of_elements():
    @ti.kernel
    def run(v: ti.types.ndarray(boundary="clamp"), m: ti.types.ndarray(boundary="clamp"), k: int) -> float:
        v[0][k] = 3.0
        v[1][9] = 4.0
        v[2][-3] += 5.0
        m[0][k, -k] = 6.0
        m[1][-4, 9] -= 7.0
        return v[0][k] + 10.0 * m[0][k, -k] + 100.0 * m[0][1][-k] + 1000.0 * m[1][0][k]

    v, m = ti.Vector.ndarray(3, ti.f64, 3), ti.Matrix.ndarray(2, 3, ti.f64, 2)
    assert run(v, m, 50) == 3.0 + 60.0 + 600.0 - 7000.0
    assert v.to_numpy().tolist() == [[0, 0, 3], [0, 0, 4], [5, 0, 0]]
    assert m.to_numpy().tolist() == [[[0, 0, 0], [6, 0, 0]], [[0, 0, -7], [0, 0, 0]]]


@pytest.mark.parametrize("options", [{}, {"debug": True}, {"check_out_of_bound": True}], ids=str)
def test_components_have_derivatives(options):
    ti.init(default_fp=ti.f64, **options)

    @ti.kernel
    def run(v: ti.types.ndarray(boundary="clamp"), loss: ti.types.ndarray()):
        for i in v:
            for k in range(-1, 5):
                loss[None] += (k + 2.0) * v[i - 1][k] ** 2

    v, loss = ti.Vector.ndarray(3, ti.f64, 2, needs_grad=True), ti.ndarray(ti.f64, (), needs_grad=True)
    v.from_numpy(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    with ti.Tape(loss):
        run(v, loss)
    factors = np.array([3.0, 3.0, 15.0])  # of k = -1 and 0, of 1, and of 2 to 4
    assert loss[None] == 2.0 * (factors * [1.0, 4.0, 9.0]).sum()
    np.testing.assert_array_equal(v.grad.to_numpy(), [4.0 * factors * [1.0, 2.0, 3.0], [0.0] * 3])
    assert ti.check_grad(lambda: run(v, loss), wrt=v, loss=loss)


def test_a_func_clamps_by_its_own_annotation():
    @ti.func
    def checked(a: ti.types.ndarray(), k: int):
        return a[0][k]

    @ti.kernel
    def run(a: ti.types.ndarray(boundary="clamp"), k: int) -> float:
        return a[0][k] + checked(a, k)

    v = ti.Vector.ndarray(3, ti.f64, 2)
    v[0] = [1.0, 2.0, 3.0]
    assert run(v, 2) == 6.0
    with pytest.raises(IndexError, match="3"):
        run(v, 3)


def test_a_local_copy_is_not_clamped():
    @ti.kernel
    def run(a: ti.types.ndarray(boundary="clamp"), k: int) -> float:
        v = a[0]
        return v[k]

    with pytest.raises(IndexError, match="index 3 is out of bounds for a vector of 3"):
        run(ti.Vector.ndarray(3, ti.f64, 2), 3)


@pytest.mark.parametrize("dtype", [ti.i8, ti.u8, ti.i16, ti.u32, ti.i64])
def test_indices_of_other_types(dtype):
    @ti.kernel
    def run(a: ti.types.ndarray(boundary="clamp"), k: dtype) -> float:
        return a[k]

    long, short = ti.ndarray(ti.f64, 300), ti.ndarray(ti.f64, 3)
    long.from_numpy(np.arange(300.0))
    short.from_numpy(np.arange(3.0))
    assert (run(long, 100), run(short, 100)) == (100.0, 2.0)
    if dtype in (ti.i8, ti.i16, ti.i64):
        assert run(long, -100) == 0.0


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
