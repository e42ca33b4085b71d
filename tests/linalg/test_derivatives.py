"""Derivatives of all decompositions and of equations: against differences, and finite where there are none.

Closed forms at equal values are in ``test_singular_derivatives.py`` and ``test_eigen_derivatives.py``.
"""

import numpy as np
import pytest

import dsim as ds
from dsim.linalg.polar import polar
from dsim.linalg.singular import singular
from dsim.linalg.solving import solution
from dsim.linalg.symmetric import eigen
from tests.linalg.cases import Slope
from tests.linalg.known import SIZES

pytestmark = pytest.mark.slow


@SIZES
@pytest.mark.parametrize("seed", [0, 1])
def test_rules_against_differences(n, seed):
    rng = np.random.default_rng(seed)
    A = ds.Matrix(rng.normal(size=(n, n)))
    for function in (singular, polar, eigen):
        function.check_derivative(A)
    solution.check_derivative(A, ds.Vector(rng.normal(size=n)))


@SIZES
def test_where_vectors_have_no_derivative_their_turning_counts_as_nothing(n):
    @ds.func
    def vectors(A):
        U, _, V = ds.svd(A)
        Q = ds.sym_eig(A)[1]
        return (U + V + Q).sum()

    A = np.stack([np.eye(n), np.zeros((n, n))])
    gradients = Slope(vectors, A).gradients()
    assert np.isfinite(gradients).all()
    np.testing.assert_array_equal(gradients[1], np.zeros((n, n)))


@SIZES
def test_derivatives_at_zero_are_finite(n):
    @ds.func
    def everything(A):
        R, S = ds.polar_decompose(A)
        U, D, V = ds.svd(A)
        values, Q = ds.sym_eig(A)
        return (R + S + U + D + V + Q).sum() + values.sum()

    slope = Slope(everything, np.zeros((1, n, n)))
    assert np.isfinite(slope.gradients()).all()
    assert np.isfinite(slope.tangents(np.ones((1, n, n)))).all()
    assert np.isfinite(slope.curvatures(np.ones((1, n, n)))).all()


@ds.func
def by_svd(A):
    U, S, V = ds.svd(A)
    return (U @ S @ S @ V.transpose()).sum() + U[0, 0] * V[1, 0]


@ds.func
def by_polar(A):
    R, S = ds.polar_decompose(A)
    return (R @ S @ S).sum() + R[0, 1] ** 2


@ds.func
def by_eigenvectors(A):
    values, Q = ds.sym_eig(A)
    return values[0] ** 2 * Q[0, 0] * Q[1, 0] + values[1]


@ds.func
def by_equations(A):
    b = A[:, 0] + 1.0
    return ds.solve(A, b).norm_sqr()


@pytest.mark.usefixtures("quick_code")
@pytest.mark.parametrize(
    "function", [by_svd, by_polar, by_eigenvectors, by_equations], ids=lambda f: f.__name__
)
@SIZES
def test_second_derivatives(n, function):
    rng = np.random.default_rng(6)
    A = np.diag([3.0, 2.0, 1.0][:n]) + rng.uniform(-0.3, 0.3, (6, n, n))
    if function is not by_equations:
        A[3:, :, 0] *= -1
    direction = rng.normal(size=A.shape)
    slope = Slope(function, A)
    step = 1e-6
    differences = (slope.gradients(A + step * direction) - slope.gradients(A - step * direction)) / (2 * step)
    np.testing.assert_allclose(slope.curvatures(direction), differences, rtol=1e-7, atol=1e-7)
