"""Rules of operations: which mode needs which, what they return, and rules that do not belong together."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import dsim as ds
from tests.operations.programs import around, assert_differentiates, made, room

MATRIX = np.array([[1.0, 2.0], [3.0, -4.0], [0.5, 6.0]])


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def _square():
    @ds.ad.operation
    def square(a):
        return a * a

    return square


def _taped(call, *outputs):
    run, loss = around(call, outputs, np.random.default_rng(0))
    with ds.ad.Tape(loss):
        run()


# -- Jacobians


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, aslinearoperator])
def test_a_constant_jacobian_gives_both_modes_and_every_order(kind, rng):
    @ds.ad.operation
    def product(a):
        return MATRIX @ a

    @product.jacobian
    def _(a):
        return kind(MATRIX)

    a, x = made([0.5, 2.0]), room(3)
    assert_differentiates(lambda: product(a, out=x), [a], [x], rng)


@pytest.mark.slow
def test_a_jacobian_of_traced_operations_is_differentiated(rng):
    @ds.ad.operation
    def cube(a, b):
        return a**3 * b

    @cube.jacobian
    def _(a, b, /, *, out):
        return (3 * a**2 * b).reshape(-1, 1) * np.eye(2), (a**3).reshape(-1, 1) * np.eye(2)

    a, b, x = made([0.5, 2.0]), made([1.5, 3.0]), room(2)
    assert_differentiates(lambda: cube(a, b, out=x), [a, b], [x], rng)


def test_a_jacobian_of_the_wrong_shape():
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.jacobian(lambda a: np.ones((3, 2)))
    with pytest.raises(
        ds.LaunchTypeError, match=r"the jacobian of `square` gives a matrix of shape \(3, 2\) for input 0"
    ):
        _taped(lambda: square(a, out=x), x)


def test_a_number_as_a_jacobian():
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.jacobian(lambda a: 2.0)
    with pytest.raises(ds.LaunchTypeError, match=r"gives a matrix of shape \(\) for input 0, of which it is"):
        _taped(lambda: square(a, out=x), x)


def test_masked_results():
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.vjp(lambda a, /, *, adjoint: np.ma.masked_greater(2 * a * adjoint, -np.inf))
    with pytest.raises(ds.LaunchTypeError, match=r"(?s)the vjp of `square` gives masked numbers.*help: fill"):
        _taped(lambda: square(a, out=x), x)
    masked = ds.ad.operation(lambda a: np.ma.masked_less(a, np.inf))
    with pytest.raises(ds.LaunchTypeError, match="gives masked numbers for `out`"):
        masked(a, out=x)
    whole = ds.ad.operation(lambda a: np.ma.masked_greater(a, np.inf))
    whole(a, out=x)
    assert (x.to_numpy() == a.to_numpy()).all()


def test_a_jacobian_of_two_results_is_refused():
    @ds.ad.operation
    def both(a):
        return a, a

    both.jacobian(lambda a: np.eye(2))
    a, x, y = made([1.0, 2.0]), room(2), room(2)
    with pytest.raises(ds.LaunchTypeError, match="is for one result"):
        _taped(lambda: both(a, out=(x, y)), x, y)


# -- one mode only


def test_a_jvp_alone_refuses_tapes():
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.jvp(lambda a, /, *, tangents: 2 * a * tangents[0])
    with ds.ad.FwdMode(x, a, seed=[1.0, 1.0]):
        square(a, out=x)
    np.testing.assert_array_equal(x.dual.to_numpy(), [2.0, 4.0])
    with pytest.raises(
        ds.GradientError, match=r"by a tape, which needs its vjp: it has a jvp[\s\S]*@square.vjp"
    ):
        _taped(lambda: square(a, out=x), x)


def test_a_jvp_alone_gives_every_order_of_forward_mode():
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.jvp(lambda a, /, *, tangents: 2 * a * tangents[0])
    with ds.ad.FwdMode(x, a, seed=[1.0, 2.0]), ds.ad.FwdMode(x, a, seed=[3.0, 4.0]):
        square(a, out=x)
    np.testing.assert_array_equal(x.dual.dual.to_numpy(), [2 * 1.0 * 3.0, 2 * 2.0 * 4.0])


def test_a_vjp_alone_refuses_forward_mode():
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.vjp(lambda a, /, *, adjoint: 2 * a * adjoint)
    _taped(lambda: square(a, out=x), x)
    with (
        pytest.raises(
            ds.GradientError, match=r"by forward mode, which needs its jvp: it has a vjp[\s\S]*@square.jvp"
        ),
        ds.ad.FwdMode(x, a, seed=[1.0, 1.0]),
    ):
        square(a, out=x)


def test_without_rules_it_is_an_error_only_where_it_matters():
    square, a, x = _square(), made([1.0, 2.0], needs_grad=False), room(2)
    _taped(lambda: square(a, out=x), x)
    np.testing.assert_array_equal(x.to_numpy(), [1.0, 4.0])
    b = made([1.0, 2.0])
    with pytest.raises(ds.GradientError, match="it has no rule"):
        _taped(lambda: square(b, out=x), x)


# -- the check of two rules


def _inconsistent(**options):
    @ds.ad.operation(**options)
    def square(a):
        return a * a

    square.jvp(lambda a, /, *, tangents: 2 * a * tangents[0])
    square.vjp(lambda a, /, *, adjoint: 3 * a * adjoint)
    return square


def test_rules_that_are_not_transposes_are_refused_in_both_modes():
    a, x = made([1.0, 2.0]), room(2)
    square = _inconsistent()
    with pytest.raises(
        ds.GradientError, match="the jvp and the vjp of `square` are not transposes of each other"
    ):
        _taped(lambda: square(a, out=x), x)
    with pytest.raises(ds.GradientError, match="not transposes"), ds.ad.FwdMode(x, a, seed=[1.0, 1.0]):
        square(a, out=x)


def test_rules_that_are_not_transposes_are_refused_when_both_are_traced():
    square, a, x = _inconsistent(), made([1.0, 2.0]), room(2)
    run, loss = around(lambda: square(a, out=x), [x], np.random.default_rng(0))
    with (
        pytest.raises(ds.GradientError, match="not transposes"),
        ds.ad.FwdMode(None, a, seed=[1.0, 1.0]),
        ds.ad.Tape(loss),
    ):
        run()


def test_the_check_can_be_left_out():
    square, a, x = _inconsistent(check=False), made([1.0, 2.0]), room(2)
    _taped(lambda: square(a, out=x), x)


def test_a_rule_given_anew_replaces_the_old_one_and_is_checked():
    square, a, x, loss = _inconsistent(), made([1.0, 2.0]), room(2), room()

    @ds.kernel
    def add():
        for i in x:
            loss[None] += x[i]

    square.vjp(lambda a, /, *, adjoint: 2 * a * adjoint)
    for factor in (2, 4):
        with ds.ad.Tape(loss):
            square(a, out=x)
            add()
        np.testing.assert_array_equal(a.grad.to_numpy(), [factor * 1.0, factor * 2.0])
        square.jvp(lambda a, /, *, tangents: 4 * a * tangents[0])
        square.vjp(lambda a, /, *, adjoint: 4 * a * adjoint)


# -- second derivatives


def _second(call, a, x):
    run, loss = around(call, [x], np.random.default_rng(0))
    with ds.ad.FwdMode(None, a, seed=np.ones(a.shape)), ds.ad.Tape(loss):
        run()


WRONG = {
    "the numbers of an array": lambda a, /, *, adjoint: 2 * np.asarray(a) * adjoint,
    "`np.arctan2`": lambda a, /, *, adjoint: adjoint * 2 * a + 0 * np.arctan2(a, 1.0),
    "`numpy.sort`": lambda a, /, *, adjoint: 2 * np.sort(a) * adjoint,
    "a truth value": lambda a, /, *, adjoint: (2 if adjoint[0] else 1) * a * adjoint,
    "a comparison": lambda a, /, *, adjoint: 2 * a * adjoint * (a > 0),
    "a number": lambda a, /, *, adjoint: 2 * a * adjoint + 0 * float(a[0]),
    "an assignment to elements": lambda a, /, *, adjoint: _assigned(2 * a * adjoint),
}


def _assigned(a):
    a[0] = a[0] * 1
    return a


@pytest.mark.parametrize("what", WRONG)
def test_a_rule_that_needs_numbers_has_no_second_derivative(what):
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.jvp(lambda a, /, *, tangents: 2 * a * tangents[0])
    square.vjp(WRONG[what])
    _taped(lambda: square(a, out=x), x)
    message = f"the second derivative needs the vjp of `square` in registered operations: it uses {what}"
    with pytest.raises(ds.GradientError) as error:
        _second(lambda: square(a, out=x), a, x)
    assert message in str(error.value)


def test_a_rule_that_is_another_one_when_traced():
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.jvp(lambda a, /, *, tangents: 2 * a * tangents[0])
    square.vjp(lambda a, /, *, adjoint: (2 if isinstance(a, np.ndarray) else 3) * a * adjoint)
    with pytest.raises(
        ds.GradientError, match="the vjp of `square` gives other numbers when it is differentiated"
    ):
        _second(lambda: square(a, out=x), a, x)


# -- what rules return


@pytest.mark.parametrize("value", [1.0, np.ones(3), np.ones((2, 1))])
def test_a_derivative_of_the_wrong_shape(value):
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.vjp(lambda a, /, *, adjoint: value)
    with pytest.raises(ds.LaunchTypeError, match="the vjp of `square` gives an array of shape") as error:
        _taped(lambda: square(a, out=x), x)
    assert "help: a derivative has the shape of what it is the derivative of" in str(error.value)


def test_a_derivative_of_the_wrong_shape_when_traced():
    square, a, x = _square(), made([1.0, 2.0]), room(2)
    square.jvp(lambda a, /, *, tangents: 2 * a * tangents[0])
    square.vjp(lambda a, /, *, adjoint: (2 * a * adjoint).sum())
    with pytest.raises(ds.LaunchTypeError, match=r"gives an array of shape \(\)"):
        _second(lambda: square(a, out=x), a, x)


def test_one_derivative_for_two_inputs():
    @ds.ad.operation
    def product(a, b):
        return a * b

    product.vjp(lambda a, b, /, *, adjoint: adjoint * b)
    a, x = made([1.0, 2.0]), room(2)
    with pytest.raises(ds.LaunchTypeError, match="the vjp of `product` gives 1 array for 2 inputs") as error:
        _taped(lambda: product(a, 2.0, out=x), x)
    assert "help: return one array for each input, as a tuple; None stands for zeros" in str(error.value)


def test_none_stands_for_zero(rng):
    @ds.ad.operation
    def first(a, b):
        return a * 1.0

    first.jvp(lambda a, b, /, *, tangents: None if tangents[0] is None else tangents[0])
    first.vjp(lambda a, b, /, *, adjoint: (adjoint, None))
    a, b, x = made([1.0, 2.0]), made([3.0, 4.0]), room(2)
    assert_differentiates(lambda: first(a, b, out=x), [a], [x], rng)


def test_a_rule_without_the_attributes_is_refused_where_it_is_given():
    @ds.ad.operation
    def power(a, *, exponent=2):
        return a**exponent

    with pytest.raises(ds.LaunchTypeError, match=r"this jvp of `power` takes no `tangents`, `exponent`"):
        power.jvp(lambda a: a)


@pytest.mark.parametrize("rule", [lambda *, adjoint: None, lambda a, b, /, *, adjoint: adjoint])
def test_a_rule_of_another_number_of_inputs_is_refused_where_it_is_given(rule):
    with pytest.raises(ds.LaunchTypeError, match="this vjp of `square` cannot be called with its 1 input: "):
        _square().vjp(rule)
