"""How operations are called: on arrays, on fields, with attributes; and calls that are refused."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import made, room


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@ds.ad.operation
def scaled(a, b=2.0, *, power=1):
    """``a`` times a power of `b`."""
    return a * b**power


def test_on_arrays_it_is_the_function():
    np.testing.assert_array_equal(scaled(np.array([1.0, 2.0]), 3.0, power=2), [9.0, 18.0])
    assert scaled.__doc__ == "``a`` times a power of `b`."
    assert scaled.__name__ == "scaled"
    assert repr(scaled) == "<operation scaled: no rules>"


def test_on_fields_it_writes_to_out_and_returns_it():
    a, x = made([1.0, 2.0]), room(2)
    assert scaled(a, out=x) is x
    np.testing.assert_array_equal(x.to_numpy(), [2.0, 4.0])
    array = np.zeros(2)
    assert scaled(b=a, a=3.0, power=2, out=array) is array
    np.testing.assert_array_equal(array, [3.0, 12.0])


def test_out_may_be_an_input_outside_of_tapes():
    a, b = made([1.0, 2.0]), made([3.0, 4.0])

    @ds.ad.operation
    def swapped(a, b):
        return b, a

    swapped(a, b, out=(a, b))
    np.testing.assert_array_equal(a.to_numpy(), [3.0, 4.0])
    np.testing.assert_array_equal(b.to_numpy(), [1.0, 2.0])


def test_out_may_be_an_input_in_a_tape():
    a, b, loss = made([1.0, 2.0]), made([3.0, 4.0]), room()

    @ds.ad.operation
    def swapped(a, b):
        return b, a

    swapped.vjp(lambda a, b, /, *, adjoint: adjoint[::-1])

    @ds.kernel
    def read():
        loss[None] += a[0] + 10 * b[1]

    with ds.ad.Tape(loss):
        swapped(a, b, out=(a, b))
        read()
    assert loss[None] == 3.0 + 10 * 2.0
    np.testing.assert_array_equal(a.grad.to_numpy(), [0.0, 10.0])
    np.testing.assert_array_equal(b.grad.to_numpy(), [1.0, 0.0])


def test_defaults_of_attributes_reach_the_rules():
    power = ds.ad.operation(scaled.function)
    seen = []

    @power.jacobian
    def _(a, b, /, *, power):
        seen.append(power)
        return np.eye(2) * b**power, None

    a, x, loss = made([1.0, 2.0]), room(2), room()

    @ds.kernel
    def add():
        for i in x:
            loss[None] += x[i]

    for given in ({}, {"power": 3}, {}):
        with ds.ad.Tape(loss):
            power(a, 2.0, out=x, **given)
            add()
        np.testing.assert_array_equal(a.grad.to_numpy(), [2.0 ** given.get("power", 1)] * 2)
    assert seen == [1, 3, 1]


def test_attributes_that_are_equal_and_not_the_same():
    """1, 1.0 and True are one key of a dictionary."""
    typed = ds.ad.operation(
        lambda a, *, by: a * (3.0 if by is True else 2.0 if isinstance(by, float) else 1.0)
    )
    typed.jacobian(lambda a, *, by: np.eye(1) * typed.function(1.0, by=by))
    a, x = made([1.0]), room(1)
    for by, factor in ((1, 1.0), (1.0, 2.0), (True, 3.0)):
        with ds.ad.FwdMode(x, a, seed=[1.0]):
            typed(a, by=by, out=x)
        assert (x[0], x.dual[0]) == (factor, factor)


def test_an_attribute_that_has_no_hash():
    picked = ds.ad.operation(lambda a, *, places: a[places])
    picked.jacobian(lambda a, *, places: np.eye(3)[places])
    a, x = made([1.0, 2.0, 3.0]), room(2)
    places = [0, 2]
    for expected in ([1.0, 1.0], [0.0, 1.0]):
        with ds.ad.FwdMode(x, a, seed=[1.0, 0.0, 1.0]):
            picked(a, places=places, out=x)
        np.testing.assert_array_equal(x.dual.to_numpy(), expected)
        places[0] = 1


def test_results_that_are_integers_and_inputs_that_are():
    @ds.ad.operation
    def parts(a, shift):
        return a + shift, np.floor(a).astype(np.int32)

    @parts.vjp
    def _(a, shift, /, *, out, adjoint):
        whole, floor = adjoint
        assert floor is None
        return whole, None

    @parts.jvp
    def _(a, shift, /, *, out, tangents):
        assert tangents[1] is None
        return tangents[0], None

    a, shift, x = made([1.5, 2.5]), made([1, 2], ds.i32, False), room(2)
    floor, loss = made([0, 0], ds.i32, False), room()

    @ds.kernel
    def weigh():
        for i in x:
            loss[None] += x[i] ** 2 * floor[i]

    def run():
        parts(a, shift, out=(x, floor))
        weigh()

    assert ds.check_grad(run, wrt=a, loss=loss, tolerance=1e-5)
    np.testing.assert_array_equal(a.grad.to_numpy(), [0.0, 0.0])  # as before the check
    with ds.ad.Tape(loss):
        run()
    np.testing.assert_array_equal(a.grad.to_numpy(), [2 * 2.5 * 1, 2 * 4.5 * 2])


def test_copies_and_pickles():
    assert copy.deepcopy(ds.operations.solve) is ds.operations.solve
    assert pickle.loads(pickle.dumps(ds.operations.solve)) is ds.operations.solve


@pytest.mark.slow
def test_scipy_is_imported_at_the_first_call():
    """The import of dsim does not bring SciPy's linear algebra along."""
    text = "import sys, dsim; print('scipy.sparse.linalg' in sys.modules, 'scipy.fft' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


# -- refused


REFUSED = {
    "is given fields, and no `out`": lambda a, x: scaled(a),
    r"gives an array of shape \(2,\) for `out`, whose shape is \(3,\)": lambda a, x: scaled(a, out=room(3)),
    "writes to `out`, and the array is read-only": lambda a, x: scaled(a, out=np.broadcast_to(1.0, 2)),
    "gives 1 array, and `out` has 1": lambda a, x: scaled(a, out=(x,)),
    "gives 1 array, and `out` has 2": lambda a, x: scaled(a, out=(x, room(2))),
    "gives 2 arrays, and `out` is one field": lambda a, x: ds.operations.eigh(np.eye(2), out=x),
    "has two results, and `out` names one field twice": lambda a, x: scaled(a, out=(x, x)),
    "writes to fields and arrays, and `out` is list": lambda a, x: scaled(a, out=([1.0],)),
    "(?s)`out` is a component of a field.*help: pass a field of its own, and copy": lambda a, x: scaled(
        a, out=_component()
    ),
    "is not differentiated by `power`, which is Field": lambda a, x: scaled(a, power=x, out=x),
    "takes fields, arrays and numbers, not str": lambda a, x: scaled("a", out=x),
    "cannot be called like this: missing a required argument: 'a'": lambda a, x: scaled(out=x),
    "takes whole fields, not a component of one": lambda a, x: scaled(_component(), out=x),
}


def _component():
    return ds.Vector.field(2, ds.f64, shape=2).get_scalar_field(0)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("message", REFUSED)
def test_refused_calls(message, inside):
    a, x, loss = made([1.0, 2.0], needs_grad=False), room(2), room()
    with pytest.raises(ds.LaunchTypeError, match=message) as error:
        _called(REFUSED[message], a, x, loss if inside else None)
    assert "help: " in str(error.value)
    assert "compare the call with the definition" not in str(error.value)


def _called(call, a, x, loss):
    if loss is None:
        call(a, x)
        return
    with ds.ad.Tape(loss):
        call(a, x)


def test_complex_results_and_fractions_for_integers_are_refused():
    complex_ = ds.ad.operation(lambda a: a * 1j)
    with pytest.raises(ds.LaunchTypeError, match=r"gives complex numbers for `out`[\s\S]*last axis of 2"):
        complex_(made([1.0, 2.0]), out=room(2))
    with pytest.raises(
        ds.LaunchTypeError, match="gives numbers of type float64 for `out`, which holds int32"
    ):
        scaled(made([1.0, 2.0]), out=made([0, 0], ds.i32, False))


def test_a_function_that_changes_its_inputs_is_numpys_error():
    @ds.ad.operation
    def wrong(a):
        a += 1
        return a

    with pytest.raises(ValueError, match="read-only"):
        wrong(made([1.0, 2.0]), out=room(2))


def test_a_parameter_named_out_is_refused():
    with pytest.raises(ds.LaunchTypeError, match="`wrong` has a parameter `out`"):

        @ds.ad.operation
        def wrong(a, out):
            return a


def test_an_error_of_the_function_is_the_persons_own():
    @ds.ad.operation
    def wrong(a):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as error:
        wrong(made([1.0]), out=room(1))
    names = [entry.name for entry in error.traceback]
    assert names == ["test_an_error_of_the_function_is_the_persons_own", "wrong"]


def test_a_field_of_another_type_of_float():
    a, x = made([1.0, 2.0]), room(2, dtype=ds.f32)
    scaled(a, out=x)
    np.testing.assert_array_equal(x.to_numpy(), np.float32([2.0, 4.0]))


def test_kernels_cannot_call_operations():
    x = room(2)

    @ds.kernel
    def wrong():
        x[0] = scaled(x[1])

    with pytest.raises(ds.CompilationError) as error:
        wrong()
    text = str(error.value)
    assert "a kernel cannot call `scaled`: an operation works on whole fields, from Python" in text
    assert "^^^^^^" in text
    assert "help: call it between kernels, `scaled(…, out=x)`" in text


def test_functions_without_a_text():
    a, x = made([1.0, 2.0]), room(2)
    matrix = made([[0.0, 2.0], [4.0, 0.0]])
    ds.ad.operation(np.linalg.inv)(matrix, out=matrix)
    np.testing.assert_array_equal(matrix.to_numpy(), [[0.0, 0.25], [0.5, 0.0]])
    with pytest.raises(ds.LaunchTypeError, match=r"not NoneType[\s\S]*make others keyword-only"):
        ds.ad.operation(np.flip)(a, out=x)
    ds.ad.operation(eval("lambda a: 2 * a"))(a, out=x)
    np.testing.assert_array_equal(x.to_numpy(), [2.0, 4.0])


def test_kernels_may_call_them_at_compile_time():
    x = room(2)

    @ds.kernel
    def fine():
        x[0] = ds.static(scaled(3.0, 2.0))

    fine()
    assert x[0] == 6.0
