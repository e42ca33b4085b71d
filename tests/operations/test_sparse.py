"""`sparse_solve`: matrices whose numbers lie in a field."""

import numpy as np
import pytest
import scipy.sparse

import dsim as ds
from tests.operations.programs import assert_differentiates, made, room

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


ROWS = [0, 1, 2, 3, 0, 1, 2, 3, 0, 0]
COLUMNS = [0, 1, 2, 3, 1, 2, 3, 0, 2, 1]  # (0, 1) twice: both numbers are added


def _coo(rng):
    values = made(np.concatenate([4 + rng.random(4), rng.normal(size=6)]))
    return values, made(ROWS, ds.i32, False), made(COLUMNS, ds.i32, False)


@pytest.mark.parametrize("columns", [(), (2,)])
def test_coordinates(rng, columns):
    values, row, column = _coo(rng)
    b, x = made(rng.normal(size=(4, *columns))), room(4, *columns)
    assert_differentiates(
        lambda: ds.operations.sparse_solve(values, row, column, b, out=x), [values, b], [x], rng
    )
    dense = np.zeros((4, 4))
    np.add.at(dense, (ROWS, COLUMNS), values.to_numpy())
    np.testing.assert_allclose(dense @ x.to_numpy(), b.to_numpy(), rtol=1e-12)


def test_numbers_in_several_axes(rng):
    """As of elements, each with a small matrix."""
    flat = np.array([ROWS, COLUMNS]).reshape(2, 5, 2)
    values = made(np.concatenate([4 + rng.random(4), rng.normal(size=6)]).reshape(5, 2))
    row, column = (made(a, ds.i32, False) for a in flat)
    b, x = made(rng.normal(size=4)), room(4)
    assert_differentiates(
        lambda: ds.operations.sparse_solve(values, row, column, b, out=x), [values], [x], rng
    )


def test_compressed_rows(rng):
    matrix = scipy.sparse.random(5, 5, 0.4, "csr", random_state=1) + 3 * scipy.sparse.eye(5, format="csr")
    starts, columns = (made(a, ds.i32, False) for a in (matrix.indptr, matrix.indices))
    values, b, x = made(matrix.data), made(rng.normal(size=5)), room(5)

    def call():
        ds.operations.sparse_solve(values, starts, columns, b, layout="csr", out=x)

    assert_differentiates(call, [values, b], [x], rng)
    np.testing.assert_allclose(matrix @ x.to_numpy(), b.to_numpy(), rtol=1e-12)


def test_a_singular_matrix_is_scipys_error():
    values, place, b, x = made([1.0, 0.0]), made([0, 1], ds.i32, False), made(np.ones(2)), room(2)
    with pytest.raises(RuntimeError, match="singular"):
        ds.operations.sparse_solve(values, place, place, b, out=x)
    assert not x.to_numpy().any()


def test_places_outside_the_matrix_are_scipys_error():
    values, place, b, x = made([1.0, 1.0]), made([0, 2], ds.i32, False), made(np.ones(2)), room(2)
    with pytest.raises(ValueError, match="exceeds matrix dimension"):
        ds.operations.sparse_solve(values, place, place, b, out=x)
