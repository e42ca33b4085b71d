"""`solve`, and the inverse and the determinant of up to 4 by 4."""

import numpy as np
import pytest

import dsim as ds
from tests.linalg.cases import CLOSE, apply, special


@ds.func
def solved(A, b):
    return (ds.solve(A, b),)


@ds.func
def inverted(A):
    return A.inverse(), A.determinant()


def systems(n, real):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(300, n, n)) * 10.0 ** rng.uniform(-3, 3, size=(300, 1, 1))
    integers = rng.integers(-2, 3, size=(600, n, n)).astype(float)
    A = np.concatenate([A, integers[np.abs(np.linalg.det(integers)) > 0.5]])
    b = rng.normal(size=(len(A), n))
    kind = real.replace("f", "float")
    return A.astype(kind).astype(float), b.astype(kind).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("real", ["f32", "f64"])
@pytest.mark.parametrize("n", [2, 3])
def test_residuals_are_small(n, real):
    A, b = systems(n, real)
    (x,) = apply(solved, [(n,)], A, b, real=real)
    residual = np.abs(np.einsum("kij,kj->ki", A, x) - b).max(axis=1)
    assert (residual <= CLOSE[real] * (np.abs(A).max(axis=(1, 2)) * np.abs(x).max(axis=1) + 1)).all()


@pytest.mark.parametrize("n", [2, 3])
def test_zeros_on_the_diagonal(n):
    A = np.roll(np.eye(n), 1, axis=0)[None] * 2.0
    b = np.arange(1.0, n + 1)[None]
    (x,) = apply(solved, [(n,)], A, b)
    np.testing.assert_array_equal(x[0], np.linalg.solve(A[0], b[0]))


@pytest.mark.parametrize("name", ["zero", "ones", "one entry", "nilpotent"])
@pytest.mark.parametrize("n", [2, 3])
def test_of_a_singular_matrix_nothing_is_made_up(n, name):
    A = special(n)[name][None]
    (x,) = apply(solved, [(n,)], A, np.arange(1.0, n + 1)[None])
    assert not np.isfinite(x).all()


def test_the_wider_type_counts():
    A, b = ds.Matrix.field(2, 2, ds.f32, shape=()), ds.Vector.field(2, ds.f64, shape=())
    x = ds.Vector.field(2, ds.f64, shape=())
    A.from_numpy(np.array([[2, 1], [1, 3]], np.float32))
    b.from_numpy(np.array([1.0, 1e-10]))

    @ds.kernel
    def run():
        x[None] = ds.solve(A[None], b[None])

    run()
    np.testing.assert_allclose(x.to_numpy(), np.linalg.solve(A.to_numpy(), b.to_numpy()), rtol=1e-14)


def test_outside_kernels():
    A = np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(
        ds.solve(ds.Matrix(A), ds.Vector([1, 2, 3])), np.linalg.solve(A, [1, 2, 3]), rtol=1e-5
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_inverse_and_determinant(n):
    A = np.random.default_rng(n).normal(size=(100, n, n)) + 2 * np.eye(n)
    inverse, determinant = apply(inverted, [(n, n), ()], A)
    expected = np.linalg.inv(A)
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True) * np.linalg.cond(A)[:, None, None]
    assert (np.abs(inverse - expected) <= 1e-14 * scale).all()
    np.testing.assert_allclose(determinant, np.linalg.det(A), rtol=1e-11, atol=1e-13)
