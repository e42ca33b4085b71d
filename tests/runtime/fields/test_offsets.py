"""Fields whose indices start at an offset."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_from_python():
    x, v = ti.field(ti.f64, shape=4, offset=-2), ti.Vector.field(2, ti.f64, shape=(2, 3), offset=(5, -1))
    x[-2], x[1] = 1.0, 4.0
    v[6, 1] = [2.0, 3.0]
    v[6, 1][0] = 5.0
    assert x.to_numpy().tolist() == [1.0, 0.0, 0.0, 4.0]
    assert v.to_numpy()[1, 2].tolist() == [5.0, 3.0]
    assert (x.offset, v.offset, x.shape) == ((-2,), (5, -1), (4,))


def test_in_kernels():
    x, y = ti.field(ti.i32), ti.field(ti.i32, shape=(2, 2), offset=(1, 3))
    ti.root.dense(ti.i, 4).place(x, offset=-2)

    @ti.kernel
    def run() -> int:
        seen = 0
        for i in x:
            x[i] = i
        for at in ti.grouped(y):
            y[at] = 10 * at[0] + at[1]
        for i, j in y:
            seen += y[i, j] * (i == 2)
        return seen + x[-2]

    assert run() == 23 + 24 - 2
    assert x.to_numpy().tolist() == [-2, -1, 0, 1]
    assert y.to_numpy().tolist() == [[13, 14], [23, 24]]

    @ti.kernel
    def clear():
        x.fill(7)

    clear()
    assert x.to_numpy().tolist() == [7] * 4


def test_neighbours_and_gradients():
    x, y = ti.field(ti.f64, 5, offset=10, needs_grad=True), ti.field(ti.f64, 5, offset=-2, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step():
        for i in range(-1, 2):
            y[i] = x[i + 11] * x[i + 12] + x[i + 13]

    @ti.kernel
    def measure():
        for i in y:
            loss[None] += i * y[i] ** 2

    numbers = np.arange(1.0, 6.0)
    x.from_numpy(numbers)
    with ti.ad.Tape(loss):
        step()
        measure()
    y_bar = 2 * np.arange(-1.0, 2.0) * (numbers[:3] * numbers[1:4] + numbers[2:])
    expected = np.zeros(5)
    expected[:3] += y_bar * numbers[1:4]
    expected[1:4] += y_bar * numbers[:3]
    expected[2:] += y_bar
    np.testing.assert_allclose(x.grad.to_numpy(), expected)
    assert x.grad[10] == expected[0]
    with ti.ad.FwdMode(loss=loss, param=x, seed=np.arange(5.0)):
        step()
        measure()
    np.testing.assert_allclose(loss.dual[None], expected @ np.arange(5.0))


def test_independence_is_seen():
    x = ti.field(ti.f64, shape=100, offset=-50)

    @ti.kernel
    def run():
        for i in x:
            x[i] = i

    assert "parallel for" in str(run.primal.ir)


def test_struct_fields():
    s = ti.Struct.field({"a": ti.f64, "v": ti.math.vec2}, shape=3, offset=1)
    s[3].a = 4.0
    s[1] = {"a": 1.0, "v": [2.0, 3.0]}

    @ti.kernel
    def run():
        for i in s:
            s[i].v.x += i

    run()
    assert s.a.to_numpy().tolist() == [1.0, 0.0, 4.0]
    assert s.v.to_numpy().tolist() == [[3.0, 3.0], [2.0, 0.0], [3.0, 0.0]]
    assert s[1].v.to_list() == [3.0, 3.0]


def test_indices_outside():
    x, s = ti.field(ti.f64, shape=(4, 2), offset=(-2, 0), name="x"), ti.field(ti.f64, 3, offset=5, name="s")
    with pytest.raises(IndexError) as error:
        x[2, 0] = 1.0
    assert "index (2, 0) is outside `x` of shape (4, 2): axis 0 goes from -2 to 1" in str(error.value)
    with pytest.raises(IndexError, match="index 4 is outside `s` of shape \\(3,\\): it goes from 5 to 7"):
        _ = s[4]

    @ti.kernel
    def run(i: int, k: int):
        x[i, 0] = 1.0
        s[k] = 1.0

    run(-2, 5)
    with pytest.raises(IndexError, match=r"index \(-3, 0\) is outside `x` .*: axis 0 goes from -2 to 1"):
        run(-3, 5)
    with pytest.raises(IndexError, match=r"index 8 is outside `s` .*: it goes from 5 to 7"):
        run(0, 8)


def test_wrong_use():
    with pytest.raises(ValueError, match="`offset=` needs `shape=`"):
        ti.field(ti.f64, offset=1)
    with pytest.raises(ValueError, match="`offset=` needs `shape=`"):
        ti.Struct.field({"a": ti.f64}, offset=1)
    with pytest.raises(ValueError, match=r"shape \(3,\) needs 1 offsets, got 2"):
        ti.field(ti.f64, shape=3, offset=(1, 2))
    with pytest.raises(TypeError, match=r"an offset is made of integers, got 0\.5"):
        ti.field(ti.f64, shape=3, offset=0.5)


def test_not_as_an_array():
    @ti.kernel
    def run(a: ti.types.ndarray()):
        for i in a:
            a[i] = 1.0

    with pytest.raises(TypeError) as error:
        run(ti.field(ti.f64, shape=3, offset=2))
    assert "got a field whose indices start with 2" in str(error.value)
    assert "help: pass it as a `template()`" in str(error.value)
    run(ti.field(ti.f64, shape=3, offset=0))


def test_a_narrow_index():
    x = ti.field(ti.f64, shape=300, offset=(-200,))
    x[-100], x[50] = 1.0, 2.0

    @ti.kernel
    def read(k: ti.i8) -> ti.f64:
        return x[k]

    assert (read(-100), read(50)) == (1.0, 2.0)
