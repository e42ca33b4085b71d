"""Kernels whose gradients compare values with their minimum or maximum compute them bitwise alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import dsim as ti

N = 4096


@pytest.fixture(autouse=True)
def _fast():
    ti.init()


def test_the_gradient_of_a_maximum_of_contractible_sums_is_found():
    """Of ``sin(x)² + 3 y`` by millions: contracted here and not there, the maximum would have no owner."""
    x, y = (ti.field(ti.f32, shape=N, needs_grad=True) for _ in range(2))
    top, loss = (ti.field(ti.f32, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def highest():
        for i in x:
            ti.atomic_max(top[None], ti.sin(x[i]) ** 2 * 1.7 + y[i] * y[i] * 3.1 + x[i] * y[i])

    @ti.kernel
    def take():
        loss[None] += top[None]

    for seed in range(20):
        rng = np.random.default_rng(seed)
        x.from_numpy(rng.random(N).astype(np.float32))
        y.from_numpy(rng.random(N).astype(np.float32))
        top[None] = 0.0
        with ti.ad.Tape(loss):
            highest()
            take()
        (owner,) = np.flatnonzero(y.grad.to_numpy())
        expected = 6.2 * y[owner] + x[owner]
        np.testing.assert_allclose(y.grad[owner], expected, rtol=1e-5)


def test_exact_kernels_have_no_fast_arithmetic():
    x, low = ti.field(ti.f32, shape=N, needs_grad=True), ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def lowest():
        for i in x:
            ti.atomic_min(low[None], ti.sin(x[i]) * x[i])

    @ti.kernel
    def summed():
        for i in x:
            low[None] += ti.sin(x[i]) * x[i]

    assert lowest.primal.kernel.exact
    assert lowest.adjoint.kernel.exact
    assert "reassoc" not in lowest.primal.llvm
    assert "_ZGV" not in lowest.primal.llvm
    assert not summed.primal.kernel.exact
    assert "fadd reassoc" in summed.primal.llvm


FUNCTIONS = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "expm1", "log1p"),
    *("cbrt", "digamma", "erf", "erfc", "lgamma", "rsqrt", "sqrt"),
)
OTHERS = ("pow", "atan2", "hypot", "power of an integer", "remainder", "polygamma")


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
@pytest.mark.parametrize("name", [*FUNCTIONS, *OTHERS])
def test_constants_are_not_computed_by_the_compiler(name, dtype):
    """A loop is unrolled here and not there: LLVM, NumPy and C's library round differently."""
    ti.init(default_fp=dtype)
    top, least = (ti.field(dtype, shape=2, needs_grad=True) for _ in range(2))
    scale, loss = (ti.field(dtype, shape=(), needs_grad=True) for _ in range(2))
    two = {
        "pow": lambda v: ti.pow(v, 1.7),
        "atan2": lambda v: ti.atan2(v, 1.3),
        "hypot": lambda v: ti.hypot(v, 0.4),
        "power of an integer": lambda v: v**5,
        "remainder": lambda v: v % 0.13,
        "polygamma": lambda v: ti.polygamma(2, v),
    }
    of = ti.func(two[name]) if name in two else getattr(ti, name)

    @ti.kernel
    def extremes():
        for j in range(3):
            w = 0
            while w < 5:
                w += 1
                ti.atomic_max(top[0], of(0.11 * w + 0.07) * scale[None])
                ti.atomic_min(least[0], of(0.13 * (w + j % 1) - 0.02) * scale[None])
            for k in range(3):
                ti.atomic_max(top[1], of(0.17 * k + 0.21) * scale[None])
                ti.atomic_min(least[1], of(0.19 * k + 0.09) * scale[None])

    @ti.kernel
    def take():
        loss[None] += top[0] + least[0] + top[1] + least[1]

    scale[None] = 1.0
    top.fill(-100.0)
    least.fill(100.0)
    with ti.ad.Tape(loss):
        extremes()
        take()
    assert not top.grad.to_numpy().any()
    assert not least.grad.to_numpy().any()
    np.testing.assert_allclose(scale.grad[None], loss[None], rtol=1e-6)


@pytest.mark.parametrize("real", [ti.f32, ti.f64])
def test_formulas_of_constants(real):
    ti.init(default_fp=real)
    top, loss = (ti.field(real, shape=(), needs_grad=True) for _ in range(2))
    x = ti.field(real, shape=(), needs_grad=True)

    @ti.kernel
    def highest():
        for _ in range(1):
            ti.atomic_max(top[None], x[None] * (ti.rsqrt(0.7) + ti.digamma(0.4) + ti.polygamma(2, 1.5)))

    @ti.kernel
    def take():
        loss[None] += top[None]

    x[None] = -2.0
    top[None] = -100.0
    with ti.ad.Tape(loss):
        highest()
        take()
    right = 0.7**-0.5 + special.digamma(0.4) + special.polygamma(2, 1.5)
    assert highest.primal.kernel.exact
    np.testing.assert_allclose([x.grad[None], loss[None]], [right, -2 * right], rtol=1e-5)
