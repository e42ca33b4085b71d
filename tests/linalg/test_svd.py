"""`svd`: values, conventions, accuracy on matrices of all kinds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dsim as ds
from tests.linalg.cases import CLOSE, apply, lost, many, special

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("n", [2, 3])]


def decomposed(A, n, real, exact=False):
    return apply(ds.svd, [(n, n)] * 3, A, real=real, exact=exact)


def check(A, U, S, V, close, lost=0.0):
    n = A.shape[-1]
    size = np.abs(A).max(axis=(1, 2), keepdims=True)
    size = np.maximum(size, np.finfo(float).tiny)  # subnormal numbers have few digits
    assert (np.abs((U @ (S / size) @ V.transpose(0, 2, 1)) - A / size) <= close + lost / size).all()
    for Q in (U, V):
        assert np.abs(Q.transpose(0, 2, 1) @ Q - np.eye(n)).max() <= close
    values = np.diagonal(S, axis1=1, axis2=2)
    assert (values[:, None, :] * np.eye(n) == S).all()
    assert (np.diff(np.abs(values), axis=1) <= 0).all()
    assert (values[:, :-1] >= 0).all()
    expected = np.linalg.svd(A / size, compute_uv=False)
    assert (np.abs(np.abs(values / size[..., 0]) - expected) <= close + lost / size[..., 0]).all()
    assert np.abs(np.linalg.det(V) - 1).max() <= 3 * close


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("real", ["f32", "f64"])
def test_matrices_of_all_kinds(n, real, exact):
    A = many(n, real)
    check(A, *decomposed(A, n, real, exact), CLOSE[real], lost(real, exact))


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_matrices(n, data):
    entries = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0, -1.0, 1e-9, 1.0 + 1e-9])
    A = data.draw(arrays(np.float64, (20, n, n), elements=entries))
    check(A, *decomposed(A, n, "f64"), CLOSE["f64"], lost("f64", exact=False))


def test_where_the_sign_goes(n):
    A = np.random.default_rng(3).normal(size=(200, n, n))
    U, S, _ = decomposed(A, n, "f64")
    negative = np.linalg.det(A) < 0
    assert 20 < negative.sum() < 180
    np.testing.assert_allclose(np.linalg.det(U), np.where(negative, -1, 1) if n == 2 else 1, atol=1e-12)
    np.testing.assert_array_equal(S[:, -1, -1] < 0, negative & (n == 3))


def test_outside_kernels(n):
    A = np.stack(list(special(n).values()))
    check(A, *(np.stack(x) for x in zip(*(ds.svd(ds.Matrix(a)) for a in A), strict=True)), CLOSE["f64"])


def test_what_is_not_a_number_stays_so(n):
    A = np.full((1, n, n), np.nan)
    U, S, V = decomposed(A, n, "f64")
    assert np.isnan(U @ S @ V.transpose(0, 2, 1)).all()


def test_the_type_of_the_results(n):
    """Without `dt` it is that of the matrix, whatever the default."""
    ds.init(default_fp=ds.f32)
    A = ds.Matrix.field(n, n, ds.f64, shape=())
    A.from_numpy(np.eye(n) + 1e-10 * np.eye(n)[::-1])
    error = ds.field(ds.f64, shape=3)

    @ds.kernel
    def run():
        U, S, V = ds.svd(A[None])
        error[0] = abs(U @ S @ V.transpose() - A[None]).max()
        U, S, V = ds.svd(ds.cast(A[None], ds.f32), ds.f64)
        error[1] = abs(U @ S @ V.transpose() - ds.cast(A[None], ds.f32)).max()
        U, S, V = ds.svd(A[None], dt=ds.f32)
        error[2] = abs(U @ S @ V.transpose() - A[None]).max()

    run()
    assert error[0] < 1e-15
    assert error[1] < 1e-15
    assert 1e-12 < error[2] < 1e-6
    ds.init()


def test_integers(n):
    U, S, V = ds.svd(
        ds.Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 10]][:n]) if n == 3 else ds.Matrix([[1, 2], [3, 4]])
    )
    A = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]]) if n == 3 else np.array([[1, 2], [3, 4]])
    np.testing.assert_allclose(np.array(U @ S @ V.transpose()), A, atol=1e-5)
