"""`sym_eig`: values, order, accuracy on matrices of all kinds."""

import numpy as np
import pytest

import dsim as ds
from tests.linalg.cases import CLOSE, apply, lost, many, special

pytestmark = pytest.mark.parametrize("n", [2, 3])


def check(A, values, V, close, lost=0.0):
    n = A.shape[-1]
    A = (A + A.transpose(0, 2, 1)) / 2
    size = np.abs(A).max(axis=(1, 2), keepdims=True)
    size = np.maximum(size, np.finfo(float).tiny)  # subnormal numbers have few digits
    values = values / size[..., 0]
    slack = close + lost / size
    assert (np.abs((V * values[:, None, :]) @ V.transpose(0, 2, 1) - A / size) <= slack).all()
    assert np.abs(V.transpose(0, 2, 1) @ V - np.eye(n)).max() <= close
    assert np.abs(np.linalg.det(V) - 1).max() <= 3 * close
    expected = np.linalg.eigvalsh(A / size)
    assert (np.abs(values - (expected[:, ::-1] if n == 2 else expected)) <= slack[..., 0]).all()
    step = np.diff(values, axis=1)
    assert (step <= 0 if n == 2 else step >= 0).all()


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("real", ["f32", "f64"])
def test_matrices_of_all_kinds(n, real, exact):
    A = many(n, real)
    A = (A + A.transpose(0, 2, 1)) / 2
    found = apply(ds.sym_eig, [(n,), (n, n)], A, real=real, exact=exact)
    check(A, *found, CLOSE[real], lost(real, exact))


def test_only_the_symmetric_part_counts(n):
    A = np.random.default_rng(1).normal(size=(50, n, n))
    check(A, *apply(ds.sym_eig, [(n,), (n, n)], A), CLOSE["f64"])


def test_outside_kernels(n):
    A = np.stack(list(special(n).values()))
    found = zip(*(ds.sym_eig(ds.Matrix(a)) for a in A), strict=True)
    check(A, *(np.stack(x) for x in found), CLOSE["f64"])
