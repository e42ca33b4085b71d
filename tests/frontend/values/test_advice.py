"""The suggested replacements for Python that kernels do not support."""

from __future__ import annotations

import numpy as np
import pytest

import dsim
from tests.frontend.dialect import f, refused


def with_list(a: float):
    v = list(range(3))


def with_array(a: float):
    v = np.array([1.0, a])


def with_zeros(a: float):
    v = np.zeros(3)


def with_numpy_linspace(a: float):
    v = np.linspace(0.0, a, 4)


def with_missing_sum(a: float):
    v = dsim.sum(a)


def with_dictionary(a: float):
    v = dict(x=a)  # noqa: C408


def with_map(a: float):
    v = sum(map(abs, [a, a]))


def with_filter(a: float):
    v = sum(filter(bool, [a, a]))


@pytest.mark.parametrize(
    ("kernel", "advice"),
    [
        (with_map, "write a comprehension: `[f(v) for v in items]`"),
        (with_filter, "write a loop with an `if` in it"),
        (with_list, "kernels have no growing lists"),
        (with_array, "make a local vector or matrix: `ds.Vector([a, b])`"),
        (with_zeros, "`ds.Vector.zero(ds.f32, n)`"),
        (with_numpy_linspace, "compute each number from the loop's index"),
        (with_missing_sum, "`for i in x: total[None] += x[i]`"),
        (with_dictionary, "kernels have no dictionaries"),
    ],
)
def test_calls(kernel, advice) -> None:
    assert advice in refused(kernel)


def test_an_array_from_outside() -> None:
    x, weights = f(4), np.arange(4, dtype=np.float32)

    def k():
        for i in range(4):
            x[i] = weights[i]

    said = refused(k)
    assert "the NumPy array `weights` from outside can only be indexed at compile time" in said
    assert "pass it to the kernel, `weights: ds.types.ndarray()`" in said
    assert "f = ds.field(ds.f32, shape=(4,)); f.from_numpy(weights)" in said
