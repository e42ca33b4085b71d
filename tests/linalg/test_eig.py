"""`eig`: eigenvalues and eigenvectors of any matrix of 2 by 2."""

import numpy as np
import pytest

import dsim as ds
from tests.linalg.cases import CLOSE, apply, lost, many

NAMED = {
    "real": [[1, 2], [3, 4]],
    "real, negative half": [[4, 2], [3, 1]],
    "complex": [[0, -1], [2, 0.5]],
    "complex, other sign": [[0, 1], [-2, 0.5]],
    "falling": [[3, 0], [0, 1]],
    "rising": [[1, 0], [0, 3]],
    "upper": [[1, 5], [0, 3]],
    "lower": [[1, 0], [5, 3]],
    "zero": [[0, 0], [0, 0]],
    "multiple of the identity": [[2, 0], [0, 2]],
}
ONE_VECTOR = {
    "upper": [[2, 1], [0, 2]],
    "lower": [[2, 0], [1, 2]],
    "full": [[-1, 1], [-1, 1]],
    "other sign": [[1, 1], [-1, -1]],
}


def decomposed(A, real="f64", exact=False):
    values, vectors = apply(ds.eig, [(2, 2), (4, 2)], np.asarray(A, float), real=real, exact=exact)
    return values[..., 0] + 1j * values[..., 1], vectors[:, 0::2] + 1j * vectors[:, 1::2]


def check(A, values, vectors, close, lost=0.0):
    size = np.maximum(np.abs(A).max(axis=(1, 2), keepdims=True), np.finfo(float).tiny)
    residual = (A / size) @ vectors - vectors * (values / size[..., 0])[:, None, :]
    assert (np.abs(residual) <= 3 * close + lost / size).all()
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() <= close
    assert (vectors[:, 1].imag == 0).all()


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("real", ["f32", "f64"])
def test_matrices_of_all_kinds(real, exact):
    A = many(2, real)
    values, vectors = decomposed(A, real, exact)
    check(A, values, vectors, CLOSE[real], lost(real, exact))


def test_values_of_numpy_and_their_order():
    A = np.random.default_rng(2).normal(size=(300, 2, 2))
    values, _ = decomposed(A)
    expected = np.stack([sorted(np.linalg.eigvals(a), key=lambda v: (-v.real, -v.imag)) for a in A])
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert 50 < (values.imag[:, 0] > 0).sum() < 250


@pytest.mark.parametrize("name", NAMED)
def test_two_vectors(name):
    A = np.array([NAMED[name]], float)
    values, vectors = decomposed(A)
    check(A, values, vectors, CLOSE["f64"])
    assert abs(np.linalg.det(vectors[0])) > 0.1


@pytest.mark.parametrize("name", ONE_VECTOR)
def test_one_vector_comes_twice(name):
    A = np.array([ONE_VECTOR[name]], float)
    values, vectors = decomposed(A)
    check(A, values, vectors, CLOSE["f64"])
    assert values[0, 0] == values[0, 1]
    assert abs(np.linalg.det(vectors[0])) < 1e-12


@pytest.mark.parametrize("name", [*NAMED])
def test_outside_kernels(name):
    values, vectors = ds.eig(ds.Matrix(np.array(NAMED[name], float)))
    inside = apply(ds.eig, [(2, 2), (4, 2)], np.array([NAMED[name]], float))
    np.testing.assert_allclose(np.array(values), inside[0][0], atol=1e-15)
    np.testing.assert_allclose(np.array(vectors), inside[1][0], atol=1e-15)
