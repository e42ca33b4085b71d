"""The operations that traced arrays consist of: derivatives against differences, and of second order."""

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.operations import arithmetic, elements
from dsim.runtime.operations.traced_arrays import OPERATORS
from tests.operations.programs import assert_differentiates, made, room

pytestmark = pytest.mark.slow

ELEMENTARY = [np.sqrt, np.exp, np.log, np.sin, np.cos, np.tanh, np.square, np.reciprocal]
SHAPES = [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1), (1, 3))]
PRODUCTS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 2)),
    ((4, 2, 3), (3, 2)),
    ((2, 3), (4, 3, 2)),
    ((4, 2, 3), (4, 3, 2)),
    ((4, 2, 3), (3,)),
    ((3,), (4, 3, 2)),
]
OTHERS = {
    "reshape": (lambda x, out: arithmetic.reshape(x, shape=(3, 2), out=out), (2, 3)),
    "transpose": (lambda x, out: arithmetic.transpose(x, out=out), (2, 3)),
    "transpose axes": (lambda x, out: arithmetic.transpose(x, axes=(2, 0, -2), out=out), (2, 3, 4)),
    "sum": (lambda x, out: arithmetic.total(x, out=out), (2, 3)),
    "sum of axes": (lambda x, out: arithmetic.total(x, axis=(0, -1), out=out), (2, 3, 4)),
    "sum that keeps an axis": (lambda x, out: arithmetic.total(x, axis=1, keepdims=True, out=out), (2, 3)),
    "negative": (lambda x, out: arithmetic.negative(x, out=out), (3,)),
    "power": (lambda x, out: arithmetic.power(x, exponent=2.5, out=out), (3,)),
    "power 3": (lambda x, out: arithmetic.power(x, exponent=3, out=out), (3,)),
    "power 2": (lambda x, out: arithmetic.power(x, exponent=2, out=out), ()),
    "power 1": (lambda x, out: arithmetic.power(x, exponent=1, out=out), (3,)),
    "power 0": (lambda x, out: arithmetic.power(x, exponent=0, out=out), (3,)),
    "linear map": (
        lambda x, out: arithmetic.linear_map(x, matrix=np.array([[1.0, 2.0], [3.0, 4.0]]), out=out),
        (2,),
    ),
    "element": (lambda x, out: elements.element(x, key=(1, slice(None, 2)), out=out), (2, 3)),
    "spread": (lambda x, out: elements.spread(x, key=([0, 0, 2],), shape=(4,), out=out), (3,)),
    "take": (lambda x, out: elements.take(x, np.array([0, 2, 0]), out=out), (3, 2)),
    "scatter_add": (lambda x, out: elements.scatter_add(x, np.array([0, 2, 0]), length=4, out=out), (3, 2)),
}


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def _positive(rng, shape):
    return made(rng.uniform(0.5, 1.5, shape))


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_arithmetic_with_broadcasting(name, shapes, rng):
    a, b = (_positive(rng, s) for s in shapes)
    out = room(*np.broadcast_shapes(*shapes))
    known = getattr(arithmetic, name)
    assert_differentiates(lambda: known(a, b, out=out), [a, b], [out], rng)


@pytest.mark.parametrize("shapes", PRODUCTS, ids=str)
def test_matrix_products(shapes, rng):
    a, b = (_positive(rng, s) for s in shapes)
    out = room(*np.matmul(a.to_numpy(), b.to_numpy()).shape)
    assert_differentiates(lambda: arithmetic.matmul(a, b, out=out), [a, b], [out], rng)


@pytest.mark.parametrize("ufunc", ELEMENTARY, ids=lambda u: u.__name__)
def test_elementary_functions(ufunc, rng):
    x, out = _positive(rng, (2,)), room(2)
    assert_differentiates(lambda: OPERATORS[ufunc](x, out=out), [x], [out], rng)


@pytest.mark.parametrize("name", OTHERS)
def test_other_operations(name, rng):
    call, shape = OTHERS[name]
    x = _positive(rng, shape)
    plain = call(x.to_numpy(), None)
    out = room(*np.shape(plain))
    call(x, out)
    np.testing.assert_array_equal(out.to_numpy(), plain)
    if name == "power 0":
        return  # a constant
    assert_differentiates(lambda: call(x, out), [x], [out], rng)


def test_a_third_derivative_of_a_rule_with_many_operators():
    """Forward mode twice, around a tape: the rule of a rule is traced."""

    @ds.ad.operation
    def f(x):
        return np.exp(x[0] * x[1]) / x[2] - x[0] ** 3

    def gradient(x):
        e = np.exp(x[0] * x[1])
        pads = np.eye(3)
        slopes = (e * x[1] / x[2] - 3.0 * x[0] ** 2, e * x[0] / x[2], -e / x[2] ** 2)
        return sum(slope.reshape(1) * pad for slope, pad in zip(slopes, pads, strict=True))

    f.jvp(lambda x, /, *, tangents: gradient(x) @ tangents[0])
    f.vjp(lambda x, /, *, adjoint: adjoint * gradient(x))
    point, d = np.array([0.5, 0.7, 1.3]), [np.array([1.0, 2.0, 0.5]), np.array([0.3, -1.0, 0.7])]
    x, y = made(point), room()
    with ds.ad.FwdMode(None, x, seed=d[0]), ds.ad.FwdMode(None, x, seed=d[1]), ds.ad.Tape(y):
        f(x, out=y)
    h, expected = 1e-3, np.zeros(3)
    for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        expected += s * t * gradient(point + h * (s * d[0] + t * d[1])) / (4 * h * h)
    np.testing.assert_allclose(x.grad.dual.dual.to_numpy(), expected, rtol=1e-4)
