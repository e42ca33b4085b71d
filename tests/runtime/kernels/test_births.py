"""Primitives of a probed kernel that turn finite numbers into ones that are not."""

from dataclasses import replace

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.kernels.watching import watch
from dsim.runtime.state import settings
from tests.runtime.kernels.kinks import fields


@pytest.fixture(params=["cpu", "reference"], autouse=True)
def backend(request, monkeypatch):
    ds.init(default_fp=ds.f64)
    settings.change(replace(settings.current(), backend=request.param))


def born(kernel, loss):
    """Text, how often it ran, and how often a value and a derivative was born there."""
    watching = watch(kernel, births=True)
    with ds.Tape(loss):
        watching()
    return [(b.slot.span.text, b.times, b.values, b.derivatives) for b in watching.born()]


def test_where_all_is_finite_nothing_is_born():
    x, loss = fields([1.0, 4.0])

    @ds.kernel
    def k():
        for i in x:
            loss[None] += ds.sqrt(x[i]) / x[i] + ds.log(x[i])

    assert born(k, loss) == []


def test_values():
    x, loss = fields([1.0, 0.0, -1.0, np.inf])

    @ds.kernel
    def k():
        for i in x:
            a = 1.0 / x[i] + 2.0
            loss[None] += a * ds.sqrt(a) - ds.exp(1000.0 * x[i])

    found = {text: (times, values) for text, times, values, _ in born(k, loss) if values}
    # Neither results of infinite operands nor earlier values originate there.
    assert found == {"1.0 / x[i]": (4, 1), "ds.exp(1000.0 * x[i])": (4, 1)}


def test_derivatives():
    x, loss = fields([1.0, 0.0, 4.0])

    @ds.kernel
    def k():
        for i in x:
            a = x[i] * 3.0
            b = ds.sqrt(a)
            loss[None] += 2.0 * b + ds.atan2(a, x[i])

    assert born(k, loss) == [("ds.sqrt(a)", 3, 0, 1), ("ds.atan2(a, x[i])", 3, 0, 1)]


def test_vectors_loops_branches_and_funcs():
    x, loss = fields([1.0, 0.0, 4.0, 0.0])

    @ds.func
    def root(v):
        return ds.sqrt(v)

    @ds.kernel
    def k():
        for i in x:
            total = 0.0
            for j in range(2):
                if i > 1:
                    v = root(ds.Vector([x[i], x[i] + j]))
                    total += v[0] + v[1]
            x[i] = x[i] + total
            loss[None] += x[i]

    watching = watch(k, births=True)
    with ds.Tape(loss):
        watching()
    (b,) = watching.born()
    # Two entries in two trips of two iterations; three of the numbers below the root are 0.
    assert (b.slot.span.text, b.times, b.values, b.derivatives) == ("ds.sqrt(v)", 8, 0, 3)
    assert [call.text for call in b.slot.calls] == ["root(ds.Vector([x[i], x[i] + j]))"]


def test_tangents():
    x, loss = fields([1.0, 0.0, 4.0])

    @ds.kernel
    def k():
        for i in x:
            loss[None] += ds.sqrt(x[i]) * 2.0

    watching = watch(k, births=True)
    with ds.ad.FwdMode(loss=loss, param=x, seed=[1.0, 1.0, 1.0]):
        watching()
    (b,) = watching.born()
    assert (b.slot.span.text, b.times, b.values, b.derivatives) == ("ds.sqrt(x[i])", 3, 0, 1)


def test_narrow_floats():
    """What is too large for 32 bits, or 16, is infinite there."""
    x = ds.field(ds.f32, shape=2, needs_grad=True)
    loss = ds.field(ds.f32, shape=(), needs_grad=True)
    x.from_numpy(np.array([1e30, 2.0], np.float32))

    @ds.kernel
    def k():
        for i in x:
            loss[None] += x[i] * x[i] + ds.cast(x[i], ds.f16)

    found = {text: values for text, _, values, _ in born(k, loss)}
    assert found == {"x[i] * x[i]": 1, "ds.cast(x[i], ds.f16)": 1}


def test_a_gradient_is_what_it_is_without():
    x, loss = fields([0.5, 2.0, 3.0])

    @ds.kernel
    def k():
        for i in x:
            a = ds.sin(x[i]) * x[i]
            x[i] = a
            loss[None] += a * a / x[i]

    with ds.Tape(loss):
        k()
    plain = x.grad.to_numpy()
    x.from_numpy(np.array([0.5, 2.0, 3.0]))
    loss[None] = 0
    with ds.Tape(loss):
        watch(k, births=True)()
    np.testing.assert_allclose(x.grad.to_numpy(), plain, rtol=1e-14)
