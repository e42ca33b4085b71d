"""Numbers that users give: masked and complex ones are refused, but for products with complex vectors."""

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError

MASKED = np.ma.array([1.0, 2.0], mask=[False, True])
COMPLEX = np.array([1.0 + 2.0j, 3.0])


@pytest.fixture
def program():
    """x, y, and a run."""
    ti.init(default_fp=ti.f64)
    x, y = ti.field(ti.f64, shape=2, name="x"), ti.field(ti.f64, shape=(), name="y")

    @ti.kernel
    def run():
        for i in x:
            y[None] += x[i] ** 2

    x.from_numpy([1.0, 2.0])
    return x, y, run


USES = [
    (lambda run, x, y, v: ti.grad(run, wrt=x, out=y)(v), "the value for `x`"),
    (lambda run, x, y, v: ti.value_and_grad(run, wrt=[x], out=y)(list(v)), "the value for `x`"),
    (lambda run, x, y, v: ti.jvp(run, wrt=x, out=y, tangents=v), "the tangent for `x`"),
    (lambda run, x, y, v: ti.hvp(run, wrt=[x], out=y, tangents={x: v}), "the tangent for `x`"),
    (lambda run, x, y, v: ti.vjp(run, wrt=x, out=x)[1](v), "the cotangent for `x`"),
    (lambda run, x, y, v: ti.objective(run, wrt=x, loss=y)(v), "the vector"),
    (lambda run, x, y, v: ti.objective(run, wrt=x, loss=y).put(v), "the vector"),
    (lambda run, x, y, v: ti.residuals(run, wrt=x, out=y).jac(v), "the vector"),
    (lambda run, x, y, v: ti.objective(run, wrt=x, loss=y, bounds=(v, None)), "`bounds=`"),
    (lambda run, x, y, v: ti.objective(run, wrt=x, loss=y, free=v), "`free=`"),
]


@pytest.mark.parametrize(("use", "what"), USES)
def test_values_are_real_and_not_masked(program, use, what):
    x, y, run = program
    with pytest.raises(GradientError, match=f"{what} takes numbers: got an array with masked") as error:
        use(run, x, y, MASKED)
    assert "help: fill them, as with `.filled(0)`" in str(error.value)
    with pytest.raises(GradientError, match=f"{what} takes real numbers, got complex128") as error:
        use(run, x, y, COMPLEX)
    assert "help: pass the real part: `.real`" in str(error.value)
    assert x.to_numpy().tolist() == [1.0, 2.0]


def test_products_do_not_ignore_masks(program):
    x, y, run = program
    J = ti.linearize(run, wrt=x, out=y)
    one = np.ma.array([1.0], mask=[True])
    f = ti.objective(run, wrt=x, loss=y)
    for product in (
        lambda: J.matvec(MASKED),
        lambda: J @ MASKED,
        lambda: J.matmat(MASKED[:, None]),
        lambda: J.rmatvec(one),
        lambda: J.rmatmat(one[:, None]),
        lambda: f.hessp(f.x0, MASKED),
    ):
        with pytest.raises(GradientError, match="takes numbers: got an array with masked numbers"):
            product()


def test_a_mask_without_masked_numbers_hides_nothing(program):
    x, y, run = program
    np.testing.assert_array_equal(ti.grad(run, wrt=x, out=y)(np.ma.array([3.0, 4.0])), [6.0, 8.0])


def test_products_with_numbers_matrices_and_operators(program):
    x, y, run = program
    J = ti.linearize(run, wrt=x, out=y)
    np.testing.assert_array_equal((2.0 * J).matvec([1.0, 1.0]), [12.0])
    np.testing.assert_array_equal((J @ J.H).matvec([1.0]), [20.0])
    np.testing.assert_array_equal(J @ [[1.0, 0.0], [0.0, 1.0]], [[2.0, 4.0]])


def test_masked_arrays_are_no_inputs(program):
    x, y, run = program
    for masked in (MASKED, np.ma.array([1.0, 2.0])):
        with pytest.raises(GradientError, match="`wrt=` takes plain arrays: kernels ignore the mask"):
            ti.grad(run, wrt=masked, out=y)
        with pytest.raises(GradientError, match="`out=` takes plain arrays: kernels ignore the mask"):
            ti.linearize(run, wrt=x, out=masked)


@pytest.mark.parametrize("number", [1.0 + 2.0j, np.complex64(1.0), np.complex128(2.0j)])
def test_elements_of_fields_are_real(program, number):
    x, _, _ = program
    with pytest.raises(TypeError, match="`x` holds f64: got complex"):
        x[0] = number
    with pytest.raises(TypeError, match="`x` holds f64: got complex"):
        x.fill(number)
    assert x.to_numpy().tolist() == [1.0, 2.0]
