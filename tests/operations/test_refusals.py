"""What operations refuse quotes the person's line, names what is wrong, and says what to do."""

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import made, room
from tests.refused import refused

ops = ds.operations
EYE = np.eye(3)


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


FLOATS = np.array([0.0, 1.9, 2.0])
WHOLE = np.arange(3)
CALLS = {
    "rows": (
        lambda z, y: ops.sparse_solve(z, FLOATS, WHOLE, z, out=y),
        "`rows` of `sparse_solve` holds places, which are integers: got numbers of type float64",
    ),
    "rows in a field": (lambda z, y: ops.sparse_solve(z, z, WHOLE, z, out=y), "`rows` of `sparse_solve`"),
    "columns": (lambda z, y: ops.sparse_solve(z, WHOLE, z, z, out=y), "`columns` of `sparse_solve`"),
    "starts of rows": (
        lambda z, y: ops.sparse_solve(z, np.arange(4.0), WHOLE, z, layout="csr", out=y),
        "`rows` of `sparse_solve` holds places",
    ),
    "elements": (lambda z, y: ops.take(z, z, out=y), "`rows` of `take` holds places, which are integers"),
    "places of sums": (lambda z, y: ops.scatter_add(z, z, length=3, out=y), "`rows` of `scatter_add`"),
    "a layout": (
        lambda z, y: ops.sparse_solve(z, WHOLE, WHOLE, z, layout="CSR", out=y),
        '`layout` of `sparse_solve` is "coo" or "csr", not \'CSR\'',
    ),
    "complex numbers": (
        lambda z, y: ops.solve(EYE * 1j, z, out=y),
        "`solve` takes fields, arrays and numbers, not an array of complex128.*real and imaginary parts",
    ),
    "another byte order": (
        lambda z, y: ops.solve(EYE.astype(">f8"), z, out=y),
        "not an array of >f8.*real numbers in the machine's byte order",
    ),
    "objects": (
        lambda z, y: ops.solve(EYE.astype(object), z, out=y),
        "not an array of object.*real numbers in the machine's byte order",
    ),
    "masked numbers": (
        lambda z, y: ops.solve(np.ma.array(EYE, mask=EYE), z, out=y),
        "`solve` takes fields, arrays and numbers: got an array with masked numbers.*fill them",
    ),
    "masked numbers in a list": (
        lambda z, y: ops.take([np.ma.array([1.0], mask=[True])], 0, out=y),
        "got an array with masked numbers",
    ),
    "rows of several lengths": (
        lambda z, y: ops.solve([[1.0, 2.0], [3.0]], z, out=y),
        "got list that is not an array.*give its rows the same length",
    ),
    "a tuple of one": (
        lambda z, y: ops.solve(EYE, z, out=(y,)),
        "`solve` gives 1 array, and `out` is a tuple of 1.*pass `out=x` for one array",
    ),
    "a place that is not there": (
        lambda z, y: ops.take(z, [9, 0], out=y),
        "`rows` of `take` has the place 9: there are [0-9]+ rows.*places are from -3 to 2",
    ),
    "a row that is not there": (
        lambda z, y: ops.scatter_add(z, [5], length=2, out=y),
        "`rows` of `scatter_add` has the place 5: there are 2 rows.*places are from -2 to 1",
    ),
    "a length": (
        lambda z, y: ops.scatter_add(z, [0], length=4.0, out=y),
        "`length` of `scatter_add` is a number of rows, got 4.0",
    ),
    "an axis": (
        lambda z, y: ops.rfft(z, axis=1, out=y),
        "`rfft` finds no axis 1 in an array with 1 axis",
    ),
    "an axis of coefficients": (
        lambda z, y: ops.irfft(np.ones((2, 2)), n=3, axis=4, out=y),
        "`irfft` finds no axis 4 in an array with 1 axis beside that of the parts",
    ),
    "coefficients": (
        lambda z, y: ops.irfft(z, n=3, out=y),
        r"`irfft` takes coefficients, with a last axis of 2: got an array of shape \(3,\)",
    ),
    "a number of results": (
        lambda z, y: ops.irfft(np.ones((2, 2)), n=0, out=y),
        "`n` of `irfft` is a number of results, at least 1, not 0",
    ),
    "a number of coefficients": (
        lambda z, y: ops.irfft(np.ones((2, 2)), n=8, out=y),
        "(?s)`irfft` makes 8 numbers of 5 coefficients along the axis, and got 2.*pass `n=3`",
    ),
    "a masked result": (
        lambda z, y: ops.solve(EYE, z, out=np.ma.zeros(3)),
        "`solve` writes to plain arrays, and `out` is a masked one",
    ),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("what", CALLS)
def test_refused(what, inside):
    call, message = CALLS[what]
    z, y = made(np.ones(3)), room(3)
    y.fill(7.0)

    def act():
        if not inside:
            call(z, y)
            return
        with ds.ad.FwdMode(y, z, seed=np.ones(3)):
            call(z, y)

    refused(act, message, __file__)
    assert y.to_numpy().tolist() == [7.0] * 3


def test_places_without_fields():
    refused(lambda: ops.take(np.ones(3), FLOATS), "`rows` of `take` holds places", __file__)
    assert ops.take(np.ones(3), []).shape == (0,)


def test_a_mask_without_masked_numbers_hides_nothing():
    y = room(3)
    ops.solve(np.ma.array(EYE), np.arange(3.0), out=y)
    assert y.to_numpy().tolist() == [0.0, 1.0, 2.0]
