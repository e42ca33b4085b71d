"""The suggested replacements for Python that kernels do not support."""

from __future__ import annotations

import random

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


items, pairs = [1.0, 2.0], f(3)


def with_sum_of_a_list(a: float):
    v = a + sum(items)


def with_max_of_a_field(a: float):
    v = max(pairs)


def with_random(a: float):
    v = a * random.random()


def with_random_of_numpy(a: float):
    v = a * np.random.standard_normal()  # noqa: NPY002


def with_gauss(a: float):
    v = random.gauss(0.0, a)


def with_shuffle(a: float):
    v = random.choice(items)


def with_append(a: float):
    v = [1.0, a]
    v.append(3.0)
    pairs[0] = v[2]


def with_append_to_none(a: float):
    v = []
    v.append(a)


def with_negative_length(a: float):
    v = a * dsim.Vector.zero(dsim.f64, -1).sum()


def with_negative_rows(a: float):
    v = a * dsim.Matrix.zero(dsim.f64, -1, -2).sum()


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
        (with_dictionary, 'write it out, `{"a": 1.0, "b": 2.0}`, or make a struct'),
        (with_sum_of_a_list, "when the kernel is compiled: `ds.static(sum(items))`"),
        (with_max_of_a_field, "help: compute it in a loop over the field: `for i in x:`"),
        (with_random, "kernels cannot call `random`\nhelp: it is `ds.random()`"),
        (with_random_of_numpy, "help: it is `ds.randn()`"),
        (with_gauss, "help: it is `mean + deviation * ds.randn()`"),
        (with_shuffle, "help: kernels have random numbers of their own: `ds.random()`, `ds.randn()`"),
        (with_append, "a vector of 2 has no method `append`\nhelp: kernels have no growing lists"),
        (with_append_to_none, "help: kernels have no growing lists"),
        (with_negative_length, "shape: a vector of -1 does not exist: a length is 0 or more\nhelp:"),
        (with_negative_rows, "shape: a matrix of -1 by -2 does not exist"),
    ],
)
def test_calls(kernel, advice) -> None:
    said = refused(kernel)
    assert advice in said
    assert said.count("help:") == 1, said


def test_an_array_from_outside() -> None:
    x, weights = f(4), np.arange(4, dtype=np.float32)

    def k():
        for i in range(4):
            x[i] = weights[i]

    said = refused(k)
    assert "the NumPy array `weights` from outside can only be indexed at compile time" in said
    assert "pass it to the kernel, `weights: ds.types.ndarray()`" in said
    assert "f = ds.field(ds.f32, shape=(4,)); f.from_numpy(weights)" in said
