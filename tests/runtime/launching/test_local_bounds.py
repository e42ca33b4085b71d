"""An index outside a local vector or matrix is a `BoundsError`, with its place."""

from dataclasses import replace

import pytest

import dsim as ti
from dsim.runtime.state import settings


@pytest.fixture(params=["cpu", "reference"])
def backend(request):
    settings.change(replace(settings.current(), backend=request.param))


def test_reading(backend):
    @ti.kernel
    def read(n: ti.i32) -> ti.f32:
        v = ti.Vector([1.0, 2.0])
        s = 0.0
        for i in range(n):
            s += v[i]
        return s

    assert read(2) == 3.0
    with pytest.raises(ti.BoundsError, match="index 2 is out of bounds for a vector of 2") as error:
        read(3)
    assert "s += v[i]" in str(error.value)
    assert isinstance(error.value, IndexError)
    assert read(2) == 3.0, "the next launch works"


def test_writing_to_a_matrix(backend):
    @ti.kernel
    def write(n: ti.i32) -> ti.f32:
        m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        m[0, n] = 5.0
        return m[0, 1]

    assert write(1) == 5.0
    with pytest.raises(ti.BoundsError, match="index -1 is out of bounds for a matrix of 2 by 2 along axis 1"):
        write(-1)


def test_a_tape_has_no_gradient_of_it():
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def read(n: ti.i32):
        v = ti.Vector([x[None], 2.0])
        for i in range(n):
            y[None] += v[i]

    x.grad[None] = 7.0
    with pytest.raises(ti.BoundsError, match="out of bounds for a vector of 2"), ti.Tape(y):
        read(3)
