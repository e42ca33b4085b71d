"""Derivatives of ``svd`` and ``polar_decompose`` where singular values are equal or nearly so."""

import numpy as np
import pytest

import dsim as ds
from tests.linalg.cases import Slope, rotation
from tests.linalg.known import SIZES, Known, agree, dot, product

pytestmark = pytest.mark.slow


@SIZES
def test_sum_of_singular_values(n):
    @ds.func
    def total(A):
        _, S, _ = ds.svd(A)
        return S.trace()

    known = Known(n)
    agree(Slope(total, known.matrices), known.directions, known.left @ known.right.transpose(0, 2, 1))


@SIZES
def test_orthogonal_factor(n):
    weights = ds.Matrix(np.random.default_rng(1).normal(size=(n, n)))

    @ds.func
    def weighed(A):
        R, _ = ds.polar_decompose(A)
        return (weights * R).sum()

    known = Known(n)
    slope = Slope(weighed, known.matrices)
    turned = known.left @ known.rotating(known.directions) @ known.right.transpose(0, 2, 1)
    expected = (np.array(weights) * turned).sum(axis=(1, 2))
    np.testing.assert_allclose(slope.tangents(known.directions), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(dot(slope.gradients(), known.directions), expected, rtol=1e-10, atol=1e-10)


@SIZES
def test_symmetric_factor(n):
    weights = ds.Matrix(np.random.default_rng(1).normal(size=(n, n)))

    @ds.func
    def weighed(A):
        _, S = ds.polar_decompose(A)
        return (weights * S).sum()

    known = Known(n)
    slope = Slope(weighed, known.matrices)
    stretched = known.seen(known.directions) - known.rotating(known.directions) * known.values[:, None, :]
    stretched = known.right @ stretched @ known.right.transpose(0, 2, 1)
    expected = (np.array(weights) * stretched).sum(axis=(1, 2))
    np.testing.assert_allclose(slope.tangents(known.directions), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(dot(slope.gradients(), known.directions), expected, rtol=1e-10, atol=1e-10)


@SIZES
def test_distance_to_the_orthogonal_factor(n):
    @ds.func
    def distance(A):
        R, _ = ds.polar_decompose(A)
        return (A - R).norm_sqr()

    known = Known(n)
    R = known.left @ known.right.transpose(0, 2, 1)
    slope = Slope(distance, known.matrices)
    agree(slope, known.directions, 2 * (known.matrices - R))
    turned = known.left @ known.rotating(known.directions) @ known.right.transpose(0, 2, 1)
    expected = 2 * (known.directions - turned)
    np.testing.assert_allclose(slope.curvatures(known.directions), expected, rtol=1e-9, atol=1e-9)


@SIZES
def test_a_decomposition_put_together_again(n):
    """Exact where a gap counts as 0; else the singular vectors turn by 1 / gap, and so do their roundings."""
    weights = ds.Matrix(np.random.default_rng(1).normal(size=(n, n)))

    @ds.func
    def weighed(A):
        U, S, V = ds.svd(A)
        return (weights * (U @ S @ V.transpose())).sum()

    known = Known(n)
    slope = Slope(weighed, known.matrices)
    error = np.abs(slope.gradients() - np.array(weights)).max(axis=(1, 2))
    expected = dot(known.directions, np.array(weights))
    assert (error <= 1e-13 + 3e-15 / np.where(known.gaps > 1e-15, known.gaps, 1)).all()
    error = np.abs(slope.tangents(known.directions) - expected)
    assert (error <= 1e-13 + 3e-15 / np.where(known.gaps > 1e-15, known.gaps, 1)).all()


@SIZES
def test_other_products_with_the_whole_matrix_of_values(n):
    weights = ds.Matrix(np.random.default_rng(1).normal(size=(n, n)))

    @ds.func
    def stretched(A):
        _, S, V = ds.svd(A)
        return (weights * (V @ S @ V.transpose())).sum()

    @ds.func
    def symmetric_factor(A):
        _, S = ds.polar_decompose(A)
        return (weights * S).sum()

    known = Known(n)
    found, expected = (Slope(f, known.matrices).gradients() for f in (stretched, symmetric_factor))
    error = np.abs(found - expected).max(axis=(1, 2))
    assert (error <= 1e-13 + 3e-14 / np.where(known.gaps > 1e-15, known.gaps, 1)).all()


@pytest.mark.usefixtures("quick_code")
@SIZES
def test_second_derivatives_at_equal_values(n):
    """Products with all of `S` have those of the polar factors, and the matrix itself has none."""
    weights = ds.Matrix(np.random.default_rng(1).normal(size=(n, n)))

    @ds.func
    def by_values(A):
        U, S, V = ds.svd(A)
        together = weights * (U @ S @ V.transpose() + V @ S @ V.transpose() + U @ V.transpose())
        return together.sum() + (S @ S @ S).trace()

    @ds.func
    def by_factors(A):
        R, S = ds.polar_decompose(A)
        return (weights * (A + S + R)).sum() + (S @ S @ S).trace()

    values = [[2.0, 2.0, 2.0][:n], [3.0, 2.0, 2.0][-n:], [2.0, 2.0, 1.0][:n], [3.0, 2.0, 1.0][:n]]
    known = Known(n, values=values)
    A = np.concatenate([known.matrices, np.eye(n)[None]])
    directions = np.random.default_rng(3).normal(size=A.shape)
    found, right = (Slope(f, A) for f in (by_values, by_factors))
    np.testing.assert_allclose(found.gradients(), right.gradients(), atol=1e-12)
    np.testing.assert_allclose(found.curvatures(directions), right.curvatures(directions), atol=1e-12)


@SIZES
def test_equal_values_changed_one_by_one_count_as_left_alone(n):
    weights = ds.Matrix(np.random.default_rng(1).normal(size=(n, n)))

    @ds.func
    def moved(A):
        U, S, V = ds.svd(A)
        for d in ds.static(range(n)):
            S[d, d] = ds.max(S[d, d], 0.1) + 0.5
        return (weights * (U @ S @ V.transpose())).sum()

    @ds.func
    def expected(A):
        R, _ = ds.polar_decompose(A)
        return (weights * (A + 0.5 * R)).sum()

    A = np.stack([np.eye(n), 2 * rotation(np.random.default_rng(2), n)])
    found, right = (Slope(f, A).gradients() for f in (moved, expected))
    np.testing.assert_allclose(found, right, atol=1e-14)


@SIZES
def test_singular_vectors_turn_by_one_over_the_gap(n):
    weights = ds.Matrix(np.random.default_rng(1).normal(size=(n, n)))

    @ds.func
    def left(A):
        U, _, _ = ds.svd(A)
        return (weights * U).sum()

    gap = 1e-6
    U, V = (rotation(np.random.default_rng(k), n) for k in (1, 2))
    values = np.array([1.5 + gap, 1.5, 0.5][:n])
    A = product(U[None], values[None], V[None])
    direction = np.random.default_rng(3).normal(size=(1, n, n))
    slope = Slope(left, A)
    P = U.T @ direction[0] @ V
    turn = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                turn[i, j] = (P[i, j] * values[j] + P[j, i] * values[i]) / (values[j] ** 2 - values[i] ** 2)
    mine = np.array(ds.svd(ds.Matrix(A[0]))[0])
    signs = np.sign((mine * U).sum(axis=0))
    expected = (np.array(weights) * (U @ turn * signs)).sum()
    assert abs(expected) > 1e5
    np.testing.assert_allclose(slope.tangents(direction), [expected], rtol=1e-8)
    np.testing.assert_allclose(dot(slope.gradients(), direction), [expected], rtol=1e-8)


def test_nearly_opposite_values():
    """Where the orthogonal factor is about to jump, it turns by one over the sum of the values."""
    weights = np.random.default_rng(1).normal(size=(3, 3))
    given = ds.Matrix(weights)

    @ds.func
    def weighed(A):
        R, _ = ds.polar_decompose(A)
        return (given * R).sum()

    sums = np.array([1e-3, 1e-6, 1e-9])
    known = Known(3, values=[[1.5, 0.7 + s, -0.7] for s in sums])
    slope = Slope(weighed, known.matrices)
    turned = known.left @ known.rotating(known.directions) @ known.right.transpose(0, 2, 1)
    expected = (weights * turned).sum(axis=(1, 2))
    for found in (slope.tangents(known.directions), dot(slope.gradients(), known.directions)):
        assert (np.abs(found / expected - 1) <= 1e-14 / sums).all()


def test_of_a_flat_matrix_only_one_axis_has_no_derivative():
    """Of the values 1, 0.5 and -0.5 only the last two add up to 0."""
    A = Known(3, values=[[1.0, 0.5, -0.5]]).matrices
    weights = np.random.default_rng(3).normal(size=(3, 3))
    given = ds.Matrix(weights)

    @ds.func
    def weighed(A):
        R, _ = ds.polar_decompose(A)
        return (given * R).sum()

    direction = np.random.default_rng(4).normal(size=(1, 3, 3))
    R, S = map(np.array, ds.polar_decompose(ds.Matrix(A[0])))  # not unique: only `S` determines the axes
    values, Q = np.linalg.eigh(S)
    np.testing.assert_allclose(values, [-0.5, 0.5, 1.0], atol=1e-12)
    P = Q.T @ R.T @ direction[0] @ Q
    turn = np.zeros((3, 3))
    for i, j in ((0, 2), (1, 2)):
        turn[i, j] = (P[i, j] - P[j, i]) / (values[i] + values[j])
        turn[j, i] = -turn[i, j]
    expected = (weights * (R @ Q @ turn @ Q.T)).sum()
    slope = Slope(weighed, A)
    np.testing.assert_allclose(slope.tangents(direction), [expected], rtol=1e-12)
    np.testing.assert_allclose(dot(slope.gradients(), direction), [expected], rtol=1e-12)
