"""`solve` and `eigh`."""

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import around, assert_differentiates, made, room

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def _matrix(rng, *shape):
    return rng.normal(size=shape) + 4 * np.eye(shape[-1])


def test_gradient_of_solve_against_the_closed_form(rng):
    A, b, x = made(_matrix(rng, 4, 4)), made(rng.normal(size=4)), room(4)
    loss = room()

    @ds.kernel
    def cubes():
        for i in x:
            loss[None] += x[i] ** 3

    with ds.ad.Tape(loss):
        ds.operations.solve(A, b, out=x)
        cubes()
    solution = np.linalg.solve(A.to_numpy(), b.to_numpy())
    adjoint = np.linalg.solve(A.to_numpy().T, 3 * solution**2)
    np.testing.assert_allclose(b.grad.to_numpy(), adjoint, rtol=1e-12)
    np.testing.assert_allclose(A.grad.to_numpy(), -np.outer(adjoint, solution), rtol=1e-12)


@pytest.mark.parametrize("columns", [(), (2,)])
def test_solve(rng, columns):
    A, b, x = made(_matrix(rng, 3, 3)), made(rng.normal(size=(3, *columns))), room(3, *columns)
    assert_differentiates(lambda: ds.operations.solve(A, b, out=x), [A, b], [x], rng)


def test_solve_for_each_of_several_matrices(rng):
    A, b, x = made(_matrix(rng, 2, 3, 3)), made(rng.normal(size=(2, 3))), room(2, 3)
    assert_differentiates(lambda: ds.operations.solve(A, b, out=x), [A, b], [x], rng)


def test_solve_on_fields_of_matrices_and_vectors(rng):
    A = ds.Matrix.field(2, 2, ds.f64, shape=3, needs_grad=True)
    b, x = (ds.Vector.field(2, ds.f64, shape=3, needs_grad=True) for _ in range(2))
    A.from_numpy(_matrix(rng, 3, 2, 2))
    b.from_numpy(rng.normal(size=(3, 2)))
    loss = room()

    @ds.kernel
    def squares():
        for i in x:
            loss[None] += x[i].norm_sqr()

    def run():
        ds.operations.solve(A, b, out=x)
        squares()

    assert ds.check_grad(run, wrt=[A, b], loss=loss, order=2)


def test_solve_in_single_precision(rng):
    A, b = made(_matrix(rng, 3, 3), ds.f32), made(rng.normal(size=3), ds.f32)
    x, loss = room(3, dtype=ds.f32), room(dtype=ds.f32)

    @ds.kernel
    def cubes():
        for i in x:
            loss[None] += x[i] ** 3

    def run():
        ds.operations.solve(A, b, out=x)
        cubes()

    assert ds.check_grad(run, wrt=[A, b], loss=loss, order=2)


def test_eigenvalues_and_eigenvectors(rng):
    A, w, v = made(rng.normal(size=(3, 3))), room(3), room(3, 3)
    assert_differentiates(lambda: ds.operations.eigh(A, out=(w, v)), [A], [w, v], rng)
    np.testing.assert_allclose(
        v.to_numpy() * w.to_numpy() @ v.to_numpy().T, (A.to_numpy() + A.to_numpy().T) / 2
    )


def test_eigenvalues_alone(rng):
    """The eigenvectors are computed, and nothing depends on them."""
    A, w, v = made(rng.normal(size=(3, 3))), room(3), room(3, 3)
    run, loss = around(lambda: ds.operations.eigh(A, out=(w, v)), [w], rng)
    assert ds.check_grad(run, wrt=A, loss=loss, order=2)


def test_equal_eigenvalues_have_finite_derivatives():
    """Of the trace of the square, which does not see how the vectors turn."""
    A, w, v, loss = made(np.diag([2.0, 2.0, 5.0])), room(3), room(3, 3), room()

    @ds.kernel
    def squares():
        for i in w:
            loss[None] += w[i] ** 2

    with ds.ad.Tape(loss):
        ds.operations.eigh(A, out=(w, v))
        squares()
    np.testing.assert_allclose(A.grad.to_numpy(), 2 * A.to_numpy(), atol=1e-14)


def test_a_singular_matrix_is_numpys_error_and_fails_the_tape():
    A, b, x, loss = made(np.zeros((2, 2))), made(np.ones(2)), room(2), room()

    def tolerant():
        with ds.ad.Tape(loss), pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            ds.operations.solve(A, b, out=x)

    with pytest.raises(ds.GradientError, match="a launch inside the tape failed"):
        tolerant()
