"""Networks in kernels, whose layers are rerolled: values and derivatives are those of NumPy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti

INPUTS, UNITS, STEPS = 12, 10, 3


def network(real):
    """Two layers of tanh, at each step; the last one's sum is the loss."""
    w, b, v = (ti.field(real, shape=s, needs_grad=True) for s in ((UNITS, INPUTS), UNITS, (9, UNITS)))
    x, hidden = (ti.field(real, shape=(STEPS, n), needs_grad=True) for n in (INPUTS, UNITS))
    loss = ti.field(real, shape=(), needs_grad=True)

    @ti.kernel
    def first(t: ti.i32):
        for i in range(UNITS):
            s = b[i]
            for j in ti.static(range(INPUTS)):
                s += w[i, j] * (x[t, j] - x[t, 0]) * 0.5
            hidden[t, i] = ti.tanh(s)

    @ti.kernel
    def second(t: ti.i32):
        for i in range(9):
            s = 0.0
            for j in ti.static(range(UNITS)):
                s -= hidden[t, j] * v[i, j]
            loss[None] += ti.tanh(s) * s

    def run():
        loss[None] = 0
        for t in range(STEPS):
            first(t)
            second(t)

    return SimpleNamespace(w=w, b=b, v=v, x=x, loss=loss, run=run, first=first, wrt=[w, b, v, x])


def put(net, seed=0):
    rng = np.random.default_rng(seed)
    for f in net.wrt:
        f.from_numpy(rng.normal(size=f.shape) / 3)


def by_numpy(net):
    w, b, v, x = (f.to_numpy().astype(np.float64) for f in net.wrt)
    q = (x - x[:, :1]) / 2
    h = np.tanh(q @ w.T + b)
    s = -h @ v.T
    bar = np.tanh(s) + s / np.cosh(s) ** 2
    h_bar = -bar @ v * (1 - h * h)
    q_bar = h_bar @ w / 2
    q_bar[:, 0] -= q_bar.sum(axis=1)
    return (np.tanh(s) * s).sum(), [h_bar.T @ q, h_bar.sum(axis=0), -bar.T @ h, q_bar]


@pytest.mark.parametrize("options", [{}, {"fast_math": False}, {"deterministic": True}], ids=str)
@pytest.mark.parametrize("real", [ti.f32, ti.f64], ids=str)
def test_value_and_gradient(real, options):
    ti.init(default_fp=real, **options)
    net = network(real)
    put(net)
    with ti.ad.Tape(net.loss):
        net.run()
    value, gradients = by_numpy(net)
    close = {"rtol": 1e-5, "atol": 1e-6} if real is ti.f32 else {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(net.loss[None], value, **close)
    for f, wanted in zip(net.wrt, gradients, strict=True):
        np.testing.assert_allclose(f.grad.to_numpy(), wanted, **close)


@pytest.mark.slow
def test_second_derivatives():
    """Products with the Hessian are differences of gradients."""
    ti.init(default_fp=ti.f64)
    net = network(ti.f64)
    put(net)
    rng = np.random.default_rng(1)
    along = [rng.normal(size=f.shape) for f in net.wrt]
    found = ti.hvp(net.run, wrt=net.wrt, out=net.loss, tangents=along)
    start, sides = [f.to_numpy() for f in net.wrt], []
    for step in (1e-5, -1e-5):
        for f, at, by in zip(net.wrt, start, along, strict=True):
            f.from_numpy(at + step * by)
        sides.append(by_numpy(net)[1])
    for f, up, down in zip(net.wrt, *sides, strict=True):
        np.testing.assert_allclose(found[f], (up - down) / 2e-5, rtol=1e-6, atol=1e-8)


def test_an_input_beyond_its_field_is_an_error_at_its_line():
    ti.init(default_fp=ti.f64)
    net = network(ti.f64)
    put(net)
    with pytest.raises(ti.BoundsError, match="is outside `x`") as caught:
        net.first(STEPS)
    assert "s += w[i, j] * (x[t, j] - x[t, 0]) * 0.5" in str(caught.value)
