"""Arguments that the decompositions refuse, in kernels and outside, and the places of the errors."""

import numpy as np
import pytest

import dsim as ds

BEGIN = {
    "svd": "`svd` takes a matrix of 2 by 2 or 3 by 3, got one of shape (2, 3)",
    "polar_decompose": "`polar_decompose` takes a matrix of 2 by 2 or 3 by 3, got one of shape (2, 3)",
    "sym_eig": "`sym_eig` takes a matrix of 2 by 2 or 3 by 3, got one of shape (2, 3)",
    "eig": "`eig` takes a matrix of 2 by 2, got one of shape (2, 3)",
    "solve": "`solve` takes a matrix of 2 by 2 or 3 by 3, got one of shape (2, 3)",
}


def refused(function, *args):
    """The diagnostics of a kernel that calls ``function(*args)``."""

    @ds.kernel
    def run():
        found = function(*args)
        print(found)

    with pytest.raises(ds.KernelTypeError) as caught:
        run()
    return caught.value.diagnostics


@pytest.mark.parametrize("name", BEGIN)
def test_shapes(name):
    function = getattr(ds, name)
    A = ds.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    given = (A, ds.Vector([1.0, 2.0])) if name == "solve" else (A,)
    (found,) = refused(function, *given)
    assert found.message == BEGIN[name]
    assert (found.span.text, found.labels) == ("function(*args)", ())
    with pytest.raises(TypeError) as caught:
        function(*given)
    assert str(caught.value) == BEGIN[name]


def test_the_error_shows_the_persons_line_only():
    a = ds.Matrix.field(4, 4, ds.f32, shape=3)

    @ds.func
    def stretch(F):
        _, S, V = ds.svd(F)
        return V @ S @ V.transpose()

    @ds.kernel
    def run():
        for i in a:
            a[i] = stretch(a[i])

    with pytest.raises(ds.KernelTypeError) as caught:
        run()
    (found,) = caught.value.diagnostics
    assert found.span.text == "ds.svd(F)"
    assert [(label.span.text, label.text) for label in found.labels] == [("stretch(a[i])", "called here")]


def test_types():
    message = "`svd` computes in a float type such as f64, not in i32"
    (found,) = refused(ds.svd, ds.Matrix([[1.0, 2.0], [3.0, 4.0]]), ds.i32)
    assert found.message == message
    with pytest.raises(TypeError, match=message):
        ds.svd(ds.Matrix(np.eye(2)), ds.i32)


def test_a_right_side_that_does_not_fit():
    message = "`solve` takes a vector of 2 for this matrix, got one of shape (3,)"
    A, b = ds.Matrix([[1.0, 2.0], [3.0, 4.0]]), ds.Vector([1.0, 2.0, 3.0])
    (found,) = refused(ds.solve, A, b)
    assert found.message == message
    with pytest.raises(TypeError) as caught:
        ds.solve(A, b)
    assert str(caught.value) == message
