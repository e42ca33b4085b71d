"""`polar_decompose`: values, conventions, accuracy on matrices of all kinds."""

import numpy as np
import pytest

import dsim as ds
from tests.linalg.cases import CLOSE, apply, lost, many, special

pytestmark = pytest.mark.parametrize("n", [2, 3])


def check(A, R, S, close, lost=0.0):
    n = A.shape[-1]
    size = np.abs(A).max(axis=(1, 2), keepdims=True)
    size = np.maximum(size, np.finfo(float).tiny)  # subnormal numbers have few digits
    slack = close + lost / size
    assert (np.abs(R @ (S / size) - A / size) <= slack).all()
    assert np.abs(R.transpose(0, 2, 1) @ R - np.eye(n)).max() <= close
    assert (S.transpose(0, 2, 1) == S).all()
    least, *others = np.linalg.eigvalsh(S / size).T
    slack = slack[:, 0, 0]
    assert all((v >= -slack).all() for v in others)
    if n == 2:
        assert (least >= -slack).all()
    else:
        assert np.abs(np.linalg.det(R) - 1).max() <= 3 * close
        assert (np.abs(least) <= others[0] + slack).all()


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("real", ["f32", "f64"])
def test_matrices_of_all_kinds(n, real, exact):
    A = many(n, real)
    found = apply(ds.polar_decompose, [(n, n)] * 2, A, real=real, exact=exact)
    check(A, *found, CLOSE[real], lost(real, exact))


def test_where_the_sign_goes(n):
    A = np.random.default_rng(3).normal(size=(200, n, n))
    R, S = apply(ds.polar_decompose, [(n, n)] * 2, A)
    negative = np.linalg.det(A) < 0
    np.testing.assert_allclose(np.linalg.det(R), np.where(negative, -1, 1) if n == 2 else 1, atol=1e-12)
    np.testing.assert_array_equal(np.linalg.eigvalsh(S)[:, 0] < 0, negative & (n == 3))


def test_zero(n):
    R, S = apply(ds.polar_decompose, [(n, n)] * 2, np.zeros((1, n, n)))
    np.testing.assert_array_equal(R[0], np.eye(n))
    np.testing.assert_array_equal(S[0], np.zeros((n, n)))


@pytest.mark.slow
def test_the_products_of_svd(n):
    A = np.random.default_rng(5).normal(size=(100, n, n))
    R, S = apply(ds.polar_decompose, [(n, n)] * 2, A)
    U, D, V = apply(ds.svd, [(n, n)] * 3, A)
    np.testing.assert_allclose(R, U @ V.transpose(0, 2, 1), atol=1e-12)
    np.testing.assert_allclose(S, V @ D @ V.transpose(0, 2, 1), atol=1e-12)


def test_outside_kernels(n):
    A = np.stack(list(special(n).values()))
    found = zip(*(ds.polar_decompose(ds.Matrix(a)) for a in A), strict=True)
    check(A, *(np.stack(x) for x in found), CLOSE["f64"])
