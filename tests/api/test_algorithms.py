"""Sorting and prefix sums of fields and ndarrays."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


@pytest.mark.parametrize("dtype", [ti.i32, ti.f32, ti.u64])
@pytest.mark.parametrize("make", [ti.field, ti.ndarray])
def test_sorting(make, dtype):
    numbers = np.random.default_rng(1).integers(0, 20, 100)
    keys, values = make(dtype, shape=100), make(ti.i32, shape=100)
    keys.from_numpy(numbers)
    values.from_numpy(np.arange(100))
    ti.algorithms.parallel_sort(keys, values)
    order = sorted(range(100), key=lambda k: numbers[k])  # keeps the order of equal ones
    assert values.to_numpy().tolist() == order
    assert keys.to_numpy().tolist() == numbers[order].tolist()
    keys.from_numpy(numbers)
    ti.algorithms.parallel_sort(keys)
    assert keys.to_numpy().tolist() == sorted(numbers)


def test_prefix_sums():
    x = ti.ndarray(ti.i32, shape=5)
    x.from_numpy(np.array([3, -1, 4, 1, 5]))
    ti.algorithms.PrefixSumExecutor(5).run(x)
    assert x.to_numpy().tolist() == [3, 2, 6, 7, 12]


def test_wrong_use():
    x, y = ti.field(ti.i32, shape=3, name="x"), ti.field(ti.i32, shape=4)
    with pytest.raises(TypeError, match="keys must be a field, not a NumPy array"):
        ti.algorithms.parallel_sort(np.zeros(3))
    with pytest.raises(TypeError, match="got keys of shape \\(3,\\) and values of shape \\(4,\\)"):
        ti.algorithms.parallel_sort(x, y)
    with pytest.raises(TypeError, match="keys must be numbers along one axis: <vector field"):
        ti.algorithms.parallel_sort(ti.Vector.field(2, ti.f32, shape=3))
    with pytest.raises(TypeError) as error:
        ti.algorithms.PrefixSumExecutor(4).run(x)
    assert "this PrefixSumExecutor is for 4 numbers, got 3" in str(error.value)
    assert "help: make one of that length" in str(error.value)
