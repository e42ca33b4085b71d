"""Derivatives of ``sym_eig`` and ``eig`` where eigenvalues are equal, nearly so, or complex."""

import numpy as np
import pytest

import dsim as ds
from tests.linalg.cases import Slope
from tests.linalg.known import SIZES, Known, agree, dot, product


def symmetric(known):
    """Symmetric matrices with the values of `known`."""
    return product(known.left, known.values, known.left)


@pytest.mark.slow
@SIZES
def test_symmetric_functions_of_eigenvalues(n):
    @ds.func
    def cubes(A):
        values, _ = ds.sym_eig(A)
        return (values**3).sum()

    known = Known(n)
    A = symmetric(known)
    A = (A + A.transpose(0, 2, 1)) / 2
    slope = Slope(cubes, A)
    agree(slope, known.directions, 3 * A @ A)


@pytest.mark.slow
@SIZES
def test_eigenvectors_turn_by_one_over_the_gap(n):
    weights = ds.Matrix(np.random.default_rng(1).normal(size=(n, n)))

    @ds.func
    def projected(A):
        _, Q = ds.sym_eig(A)
        first = Q[:, 0]
        return (weights * first.outer_product(first)).sum()

    known = Known(n, seed=2)
    gap = 1e-6
    Q = known.left[0]
    values = np.array([2.0 + gap, 2.0] if n == 2 else [1.0, 1.0 + gap, 3.0])
    A = product(Q[None], values[None], Q[None])
    direction = known.directions[:1] + known.directions[:1].transpose(0, 2, 1)
    P = Q.T @ direction[0] @ Q
    dq = sum(Q[:, j] * P[j, 0] / (values[0] - values[j]) for j in range(1, n))
    expected = (np.array(weights) * (np.outer(dq, Q[:, 0]) + np.outer(Q[:, 0], dq))).sum()
    slope = Slope(projected, A)
    np.testing.assert_allclose(slope.tangents(direction), [expected], rtol=1e-8)
    np.testing.assert_allclose(dot(slope.gradients(), direction), [expected], rtol=1e-8)


@pytest.mark.slow
def test_second_derivatives_of_complex_eigenvalues():
    @ds.func
    def by_eig(A):
        values, vectors = ds.eig(A)
        return values[0, 0] * values[0, 1] + vectors[0, 0] * vectors[1, 0] + vectors[2, 1] ** 3

    A = np.array([[[1.0, 2.0], [3.0, 4.0]], [[4.0, 2.0], [-1.5, 5.0]], [[1.0, -2.0], [2.5, 0.5]]])
    direction = np.random.default_rng(1).normal(size=A.shape)
    slope = Slope(by_eig, A)
    step = 1e-6
    differences = (slope.gradients(A + step * direction) - slope.gradients(A - step * direction)) / (2 * step)
    np.testing.assert_allclose(slope.curvatures(direction), differences, rtol=1e-7, atol=1e-7)


@pytest.mark.slow
def test_the_mean_of_double_eigenvalues_has_a_derivative():
    @ds.func
    def total(A):
        values, _ = ds.eig(A)
        return values[0, 0] + values[1, 0]

    A = np.array([[[2.0, 0.0], [0.0, 2.0]], [[2.0, 1.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]])
    agree(Slope(total, A), np.ones((3, 2, 2)), np.broadcast_to(np.eye(2), (3, 2, 2)))
