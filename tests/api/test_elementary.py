"""Each function of the dialect that is a row of the table: all its names, both modes, three orders."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.special

import dsim as ds
from dsim.ir.primitive import Primitive, Spelling
from dsim.ir.primitives import TABLE
from dsim.runtime.state import settings

N = 5


def spelling(row: Primitive) -> Spelling:
    assert row.spelling is not None
    return row.spelling


SPELLED = [
    row for row in TABLE.values() if row.spelling and row.over == "F" and row.signature.endswith("->T")
]
SMOOTH = [row for row in SPELLED if any(row.times)]
NAMES = [
    pytest.param(row, module, name, id=f"{module.__name__}.{name}")
    for row in SPELLED
    for module, names in (
        (math, spelling(row).math),
        (np, spelling(row).numpy),
        (scipy.special, spelling(row).special),
    )
    for name in names
]


def ids(row: Primitive) -> str:
    return row.name


@pytest.fixture(params=["cpu", "reference"])
def backend(request):
    ds.init(default_fp=ds.f64)
    settings.change(replace(settings.current(), backend=request.param))


def of_floats(row, function):
    """`function` as one of two floats, whatever it takes."""
    kinds = row.signature.split("->")[0]
    if kinds == "nT":
        return lambda x, y: function(1, x)
    return function if kinds == "TT" else lambda x, y: function(x)


def independent(row):
    """The same function of somebody else's, of arrays; NumPy's where it has one."""
    s = spelling(row)
    if s.numpy:
        return getattr(np, s.numpy[0])
    return getattr(scipy.special, s.special[0]) if s.special else lambda x: 1 / np.sqrt(x)


def given(row, t=np.float64):
    """Arguments that the row says are far from kinks and poles."""
    rng = np.random.default_rng(len(row.name))
    ends = [d for d, p in zip(row.domain, row.parameters, strict=True) if p == "T"]
    return [rng.uniform(*e, N).astype(t) for e in (*ends, *ends)[:2]]


@pytest.mark.parametrize("real", [ds.f16, ds.f32, ds.f64], ids=str)
@pytest.mark.parametrize("row", SPELLED, ids=ids)
def test_values_of_each_type(row, real):
    ds.init(default_fp=real)
    f = of_floats(row, getattr(ds, row.name))
    x, y, z = (ds.field(real, shape=N) for _ in range(3))
    a, b = given(row, real.numpy)
    x.from_numpy(a)
    y.from_numpy(b)

    @ds.kernel
    def run():
        for i in x:
            z[i] = f(x[i], y[i])

    run()
    wanted = of_floats(row, independent(row))(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(z.to_numpy(), wanted, rtol=16 * np.finfo(real.numpy).eps)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("row", SMOOTH, ids=ids)
def test_three_orders_in_kernels(row, which):
    """Each derivative, forwards and backwards by turns, is the slope of the one before."""
    if which and row.parameters.count("T") < 2:
        return
    ds.init(default_fp=ds.f64)
    f = of_floats(row, getattr(ds, row.name))
    rest = given(row)[1 - which][0]
    orders = [ds.func((lambda x: f(rest, x)) if which else (lambda x: f(x, rest)))]
    for derive in (ds.grad, ds.forward, ds.grad):
        orders.append(derive(orders[-1]))
    zero, one, two, three = orders
    x = ds.field(ds.f64, shape=N)
    y = ds.field(ds.f64, shape=(4, N))

    @ds.kernel
    def run():
        for i in x:
            y[0, i], y[1, i], y[2, i], y[3, i] = zero(x[i]), one(x[i]), two(x[i]), three(x[i])

    def at(values):
        x.from_numpy(values)
        run()
        return y.to_numpy()

    here, h = given(row)[which], 1e-5
    slopes = (at(here + h) - at(here - h)) / (2 * h)
    np.testing.assert_allclose(at(here)[1:], slopes[:-1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("row", SMOOTH, ids=ids)
def test_both_modes_and_both_backends_on_vectors(row, backend):
    f = of_floats(row, getattr(ds, row.name))
    x, y = (ds.Vector.field(2, ds.f64, shape=N, needs_grad=True) for _ in range(2))
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    a, b = (np.stack([v, v[::-1]], 1) for v in given(row))
    x.from_numpy(a)
    y.from_numpy(b)

    @ds.kernel
    def run():
        for i in x:
            loss[None] += f(x[i], y[i]).sum()

    with ds.Tape(loss):
        run()
    g, h = of_floats(row, independent(row)), 1e-6
    slope = (g(a + h, b) - g(a - h, b)) / (2 * h)
    np.testing.assert_allclose(x.grad.to_numpy(), slope, rtol=1e-6, atol=1e-7)
    with ds.ad.FwdMode(loss=loss, param=x, seed=np.ones((N, 2))):
        run()
    np.testing.assert_allclose(loss.dual[None], slope.sum(), rtol=1e-6)


@pytest.mark.parametrize("row", SPELLED, ids=ids)
def test_outside_of_kernels(row):
    f, (a, b) = of_floats(row, getattr(ds, row.name)), given(row)
    wanted = of_floats(row, independent(row))(a, b)
    np.testing.assert_allclose(f(a, b), wanted, rtol=1e-14)
    assert isinstance(f(a[0].item(), b[0].item()), float)
    assert f(a[0].item(), b[0].item()) == pytest.approx(wanted[0], rel=1e-14)
    assert ds.math.__dict__[row.name] is getattr(ds, row.name)
    assert getattr(ds, row.name).__doc__ == spelling(row).doc


@pytest.mark.parametrize(("row", "module", "name"), NAMES)
def test_other_modules_names(row, module, name):
    ds.init(default_fp=ds.f64)
    own, other = of_floats(row, getattr(ds, row.name)), of_floats(row, getattr(module, name))
    x, y, z = (ds.field(ds.f64, shape=N) for _ in range(3))
    for field, values in zip((x, y), given(row), strict=True):
        field.from_numpy(values)

    @ds.kernel
    def run():
        for i in x:
            z[i] = other(x[i], y[i]) - own(x[i], y[i])

    run()
    assert np.array_equal(z.to_numpy(), np.zeros(N))


def _lgamma(x):
    return ds.lgamma(x)


def test_derivatives_of_lgamma():
    """They are polygamma functions, on both sides of 0; scipy's are of other formulas."""
    ds.init(default_fp=ds.f64)
    x = ds.field(ds.f64, shape=40)
    y = ds.field(ds.f64, shape=(40, 3))
    x.from_numpy(np.concatenate([np.linspace(-6.8, -0.2, 20), np.geomspace(1e-3, 1e3, 20)]))
    first = ds.grad(ds.func(_lgamma))
    second = ds.grad(first)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0], y[i, 1], y[i, 2] = first(x[i]), second(x[i]), ds.digamma(x[i])

    run()
    at, got = x.to_numpy(), y.to_numpy()
    np.testing.assert_allclose(got[:, 0], scipy.special.digamma(at), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(got[:, 1], scipy.special.polygamma(1, at), rtol=1e-14)
    np.testing.assert_array_equal(got[:, 0], got[:, 2])
    np.testing.assert_allclose(ds.digamma(at), got[:, 2], rtol=1e-13, atol=1e-14)


def test_poles():
    """Infinite where both sides of a pole agree on it, NaN where they do not; ±0 is a side."""
    ds.init(default_fp=ds.f64)
    x = ds.field(ds.f64, shape=4)
    y = ds.field(ds.f64, shape=(4, 3))
    x.from_numpy(np.array([0.0, -0.0, -1.0, -30.0]))

    @ds.kernel
    def run():
        for i in x:
            y[i, 0], y[i, 1], y[i, 2] = ds.lgamma(x[i]), ds.polygamma(0, x[i]), ds.polygamma(1, x[i])

    run()
    inf, nan = math.inf, math.nan
    wanted = [[inf, -inf, inf], [inf, inf, inf], [inf, nan, inf], [inf, nan, inf]]
    np.testing.assert_array_equal(y.to_numpy(), wanted)
    host = [[ds.lgamma(v), ds.polygamma(0, v), ds.polygamma(1, v)] for v in x.to_numpy()]
    np.testing.assert_array_equal(host, wanted)


def test_a_hypotenuse_neither_overflows_nor_vanishes():
    for real, large in ((ds.f16, 3e4), (ds.f32, 3e38), (ds.f64, 1e308)):
        ds.init(default_fp=real)
        x = ds.field(real, shape=(), needs_grad=True)
        y = ds.field(real, shape=(), needs_grad=True)
        small = float(4 * np.finfo(real.numpy).tiny)

        @ds.kernel
        def run(a: float, y: ds.template(), x: ds.template()):
            y[None] = ds.hypot(a * 0.75, x[None])

        for size in (large * 0.5, small):
            x[None] = size
            with ds.Tape(y):
                run(size, y, x)
            np.testing.assert_allclose(y[None], 1.25 * x[None], rtol=4 * np.finfo(real.numpy).eps)
            np.testing.assert_allclose(x.grad[None], 0.8, rtol=4 * np.finfo(real.numpy).eps)


@pytest.mark.parametrize("order", [-1, 101, 1.0, True])
def test_the_order_of_polygamma_is_a_whole_number(order):
    ds.init(default_fp=ds.f64)

    @ds.kernel
    def run(x: float) -> float:
        return ds.polygamma(order, x)

    with pytest.raises(ds.CompilationError, match="the order of `polygamma` is") as caught:
        run(1.0)
    assert "help: it is a whole number from 0 to 100, known when compiling" in str(caught.value)


@pytest.mark.slow
def test_the_order_of_polygamma_is_known_when_compiling():
    ds.init(default_fp=ds.f64)

    @ds.kernel
    def run(n: int, x: float) -> float:
        return ds.polygamma(n, x)

    with pytest.raises(ds.CompilationError, match="the order of `polygamma` is an i32"):
        run(1, 1.0)
