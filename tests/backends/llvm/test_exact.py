"""Kernels whose gradients compare values with their minimum or maximum compute them bitwise alike."""

from __future__ import annotations

import numpy as np
import pytest

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
    assert "reassoc" in summed.primal.llvm
