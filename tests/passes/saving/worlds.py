"""Programs whose loops save much under a small memory limit: shared by tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import dsim as ti
from dsim.runtime.state import settings

N = 6
START = np.linspace(0.3, 0.9, N)


class World:
    """Fields, made anew for each run, and a kernel over them.

    Attributes
    ----------
    x, n : fields of shape (6,)
        Floats with a gradient; how many trips a loop makes.
    y : field of shape (6, 4)
        State.
    loss, outer : fields of shape ()
        The loss, and one of its gradient.
    """

    def __init__(self, build: Callable[[World], Callable[[], None]], saved: int, backend: str) -> None:
        ti.init(default_fp=ti.f64, fast_math=False, loop_memory=saved, random_seed=3)
        settings.change(replace(settings.current(), backend=backend))
        self.x = ti.field(ti.f64, shape=N, needs_grad=True)
        self.y = ti.field(ti.f64, shape=(N, 4), needs_grad=True)
        self.n = ti.field(ti.i32, shape=N)
        self.loss = ti.field(ti.f64, shape=(), needs_grad=True)
        self.outer = ti.field(ti.f64, shape=(), needs_grad=True)
        self.x.from_numpy(START)
        self.y.from_numpy(np.linspace(-1.0, 1.0, 4 * N).reshape(N, 4))
        self.n.from_numpy(np.arange(N, dtype=np.int32) * 7)
        self.run = build(self)

    def gradients(self) -> list[np.ndarray]:
        self.sweep()
        return [f.to_numpy() for f in (self.x.grad, self.y.grad, self.x, self.y, self.n, self.loss)]

    def sweep(self) -> None:
        with ti.ad.Tape(self.loss):
            self.run()

    def forward_over_reverse(self) -> list[np.ndarray]:
        with ti.ad.FwdMode(loss=[self.x.grad, self.y.grad], param=self.x, seed=np.linspace(1, 2, N)):
            self.sweep()
        return [self.x.grad.dual.to_numpy(), self.y.grad.dual.to_numpy()]

    def reverse_over_reverse(self) -> list[np.ndarray]:
        x, outer = self.x, self.outer

        @ti.kernel
        def squares():
            for i in x:
                outer[None] += x.grad[i] ** 2

        with ti.ad.Tape(outer):
            self.sweep()
            squares()
        return [x.grad.to_numpy(), self.y.grad.to_numpy()]

    def slope(self) -> float:
        """The derivative by `x` along the direction of ones, by differences."""

        def at(step: float) -> float:
            self.x.from_numpy(START + step)
            self.loss[None] = 0.0
            self.run()
            return self.loss[None]

        return (at(1e-5) - at(-1e-5)) / 2e-5


def same(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    """Asserts that they are equal, bit for bit."""
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
