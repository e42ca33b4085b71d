"""The size of a vector or matrix is a positive integer, in every constructor."""

import pytest

import dsim as ti

MAKERS = {
    "vector field": lambda n: ti.Vector.field(n, ti.f32, shape=3),
    "vector field, placed later": lambda n: ti.Vector.field(n, ti.f32),
    "matrix field": lambda n: ti.Matrix.field(n, 2, ti.f32, shape=3),
    "columns of a matrix field": lambda n: ti.Matrix.field(2, n, ti.f32, shape=3),
    "vector ndarray": lambda n: ti.Vector.ndarray(n, ti.f32, shape=3),
    "matrix ndarray": lambda n: ti.Matrix.ndarray(2, n, ti.f32, shape=3),
    "vector type": lambda n: ti.types.vector(n, ti.f32),
    "matrix type": lambda n: ti.types.matrix(n, 2, ti.f32),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_no_components(make):
    for n in (0, -1):
        with pytest.raises(ValueError, match=f"needs at least one component along every axis, got {n}"):
            make(n)


@pytest.mark.parametrize("name", MAKERS)
def test_sizes_that_are_no_whole_numbers(name):
    make = MAKERS[name]
    for n in (2.5, "3") if name.endswith("type") else (2.5, "3", None):  # a type may leave its size open
        with pytest.raises(TypeError, match="must be an integer, not"):
            make(n)
