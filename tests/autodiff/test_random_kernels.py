"""Both modes, and second order, against differences and against one another, on random kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from dsim.autodiff import forward, reverse
from dsim.backends.reference.source import run
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR
from dsim.ir.sites import number
from tests.autodiff.random_kernels import Generator, N, X, Y

ACTIVE = frozenset({X.key, Y.key})
STEP = 1e-6


def companions(label: str) -> tuple:
    return ("x", (label,)), ("y", (label,))


@dataclass
class Case:
    """A kernel at a point, with a direction `d` of its input and weights `w` of its output."""

    kernel: KernelIR
    x: np.ndarray
    d: np.ndarray
    w: np.ndarray
    n: np.ndarray

    def value(self, x: np.ndarray) -> np.ndarray:
        buffers = {X.key: x.copy(), Y.key: np.zeros(4), N.key: self.n.copy()}
        run(self.kernel, buffers, ())
        return buffers[Y.key]

    def jvp(self, kernel: KernelIR) -> np.ndarray:
        x_dot, y_dot = companions("dot")
        buffers = {X.key: self.x.copy(), Y.key: np.zeros(4), N.key: self.n.copy()}
        buffers |= {x_dot: self.d.copy(), y_dot: np.zeros(4)}
        run(kernel, buffers, ())
        return buffers[y_dot]

    def vjp(self, kernel: KernelIR, x: np.ndarray) -> np.ndarray:
        x_bar, y_bar = companions("bar")
        buffers = {X.key: x.copy(), Y.key: self.value(x), N.key: self.n.copy()}
        buffers |= {x_bar: np.zeros(4), y_bar: self.w.copy()}
        run(kernel, buffers, ())
        return buffers[x_bar]


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    kernel = Generator(seed).kernel()
    check(kernel)
    n = rng.integers(0, 4, 4).astype(np.int32)
    return Case(kernel, rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4), rng.uniform(0, 1, 4), n)


def differences(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, d: np.ndarray) -> np.ndarray:
    return (f(x + STEP * d) - f(x - STEP * d)) / (2 * STEP)


@pytest.mark.parametrize("seed", range(60))
def test_first_order(seed: int) -> None:
    c = case(seed)
    tangent, adjoint = forward(c.kernel, ACTIVE), reverse(c.kernel, ACTIVE)
    check(tangent)
    check(adjoint.kernel)
    assert not adjoint.lost
    jvp, vjp = c.jvp(tangent), c.vjp(adjoint.kernel, c.x)
    np.testing.assert_allclose(jvp, differences(c.value, c.x, c.d), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jvp @ c.w, vjp @ c.d, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_second_order(seed: int) -> None:
    c = case(seed)
    adjoint = number(reverse(c.kernel, ACTIVE).kernel)
    bars = ACTIVE | set(companions("bar"))
    expected = differences(lambda x: c.vjp(adjoint, x), c.x, c.d)

    over = forward(adjoint, bars)
    check(over)
    buffers = {X.key: c.x.copy(), Y.key: c.value(c.x), N.key: c.n.copy()}
    buffers |= {("x", ("bar",)): np.zeros(4), ("y", ("bar",)): c.w.copy()}
    buffers |= {("x", ("dot",)): c.d.copy(), ("y", ("dot",)): c.jvp(forward(c.kernel, ACTIVE))}
    buffers |= {("x", ("bar", "dot")): np.zeros(4), ("y", ("bar", "dot")): np.zeros(4)}
    run(over, buffers, ())
    product = buffers["x", ("bar", "dot")]
    np.testing.assert_allclose(product, expected, rtol=1e-3, atol=1e-5)

    twice = reverse(adjoint, bars, "outer")
    check(twice.kernel)
    buffers = {X.key: c.x.copy(), Y.key: c.value(c.x), N.key: c.n.copy()}
    buffers |= {("x", ("bar",)): c.vjp(adjoint, c.x), ("y", ("bar",)): c.w.copy()}
    buffers |= {("x", ("outer",)): np.zeros(4), ("y", ("outer",)): np.zeros(4)}
    buffers |= {("x", ("bar", "outer")): c.d.copy(), ("y", ("bar", "outer")): np.zeros(4)}
    run(twice.kernel, buffers, ())
    np.testing.assert_allclose(buffers["x", ("outer",)], product, rtol=1e-9, atol=1e-12)
