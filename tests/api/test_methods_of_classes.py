"""Methods of `Vector` and `Matrix` by the name of the class: ``ti.Vector.normalized(v)``."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_in_a_kernel_as_outside():
    y = ti.field(ti.f64, shape=9)

    @ti.kernel
    def k():
        a, b = ti.Vector([3.0, 4.0]), ti.Vector([1.0, 2.0])
        M = ti.Matrix([[1.0, 2.0], [3.0, 5.0]])
        y[0] = ti.Vector.norm(a)
        y[1] = ti.Vector.normalized(a)[1]
        y[2] = ti.Vector.dot(a, b)
        y[3] = ti.Matrix.determinant(M)
        y[4] = ti.Matrix.inverse(M)[0, 0]
        y[5] = ti.Matrix.transpose(M)[0, 1]
        y[6] = ti.Vector.outer_product(a, b)[0, 1]
        y[7] = ti.Vector.max(a) + ti.Vector.sum(b) + ti.Matrix.trace(M)
        y[8] = ti.Vector.cast(a * 0.3, int)[1]

    k()
    np.testing.assert_allclose(y.to_numpy(), [5, 0.8, 11, -1, -5, 3, 6, 13, 1], rtol=1e-14)
    assert ti.Vector.normalized(ti.Vector([3.0, 4.0])).to_list() == [0.6, 0.8]


def test_a_scalar_has_none_of_them():
    y = ti.field(ti.f64, shape=())

    @ti.kernel
    def k():
        y[None] = ti.Vector.norm(2.0)

    with pytest.raises(ti.CompilationError, match="`norm` needs a vector or a matrix, got a float"):
        k()
