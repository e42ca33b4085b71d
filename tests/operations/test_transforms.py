"""Operations in programs that are differentiated by transforms, and in equations whose solution is."""

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import made, room

A = np.array([[2.0, 1.0], [0.0, 3.0]])


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


def test_jacobian_and_hessian():
    matrix, b, x, loss = made(A), made([1.0, 2.0]), room(2), room()

    @ds.kernel
    def cubes():
        loss[None] = 0.0
        for i in x:
            loss[None] += x[i] ** 3

    def run():
        ds.operations.solve(matrix, b, out=x)

    def whole():
        run()
        cubes()

    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(ds.jacobian(run, wrt=b, out=x), inverse, rtol=1e-12)
    expected = inverse.T @ np.diag(6 * inverse @ [1.0, 2.0]) @ inverse
    np.testing.assert_allclose(ds.hessian(whole, b, loss), expected, rtol=1e-12)


@pytest.mark.slow
def test_an_operation_in_the_residual_of_an_implicit_function():
    @ds.ad.operation
    def rest(A, u, b):
        return A @ u - b

    @rest.jvp
    def _(A, u, b, /, *, tangents):
        dA, du, db = tangents
        return dA @ u + A @ du - db

    @rest.vjp
    def _(A, u, b, /, *, adjoint):
        return adjoint.reshape(-1, 1) @ u.reshape(1, -1), A.T @ adjoint, -adjoint

    matrix, b, u, r, loss = made(A), made([1.0, 2.0]), room(2), room(2), room()

    def residual():
        rest(matrix, u, b, out=r)

    @ds.implicit(residual=(residual, r), unknown=u, wrt=[matrix, b])
    def find():
        u.from_numpy(np.linalg.solve(matrix.to_numpy(), b.to_numpy()))

    @ds.kernel
    def cubes():
        for i in u:
            loss[None] += u[i] ** 3

    def run():
        find()
        cubes()

    assert ds.check_grad(run, wrt=[matrix, b], loss=loss, order=2)
