"""Callbacks of widgets compute gradients while tapes of the main thread are open and workers record."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import ipywidgets
import numpy as np
import pytest

import dsim as ti
from tests.runtime.threading_together import switching

TAPES = 250


def _program() -> SimpleNamespace:
    """The loss is the sum of c²·x⁴ + x²; its second kernel writes over what its adjoint reads."""
    x, s = (ti.field(ti.f64, shape=8, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def scale(c: float):
        for i in x:
            s[i] = c * x[i] * x[i]

    @ti.kernel
    def square():
        for i in s:
            s[i] *= s[i]

    @ti.kernel
    def total():
        for i in s:
            loss[None] += s[i] + x[i] ** 2

    def check(at: float, c: float) -> bool:
        return np.array_equal(x.grad.to_numpy(), np.full(8, 4 * c * c * at**3 + 2 * at))

    return SimpleNamespace(x=x, loss=loss, scale=scale, square=square, total=total, check=check)


def _gradient(p: SimpleNamespace, at: float, c: float) -> bool:
    """Whether a tape's gradient is that of the closed form."""
    p.x.fill(at)
    with ti.ad.Tape(p.loss):
        p.scale(c)
        p.square()
        p.total()
    return p.check(at, c)


@pytest.mark.slow
def test_a_slider_while_cells_and_workers_record() -> None:
    ti.init(default_fp=ti.f64)
    right: dict[str, list[bool]] = {"slider": [], "cell": [], "worker": []}
    slider, of_slider, of_cell = ipywidgets.FloatSlider(min=0.0, max=10.0), _program(), _program()
    slider.observe(lambda change: right["slider"].append(_gradient(of_slider, change["new"], 2.0)), "value")

    def worker(n: int) -> None:
        p = _program()
        right["worker"].extend(_gradient(p, 1.0 + n, 1.0 + k % 3) for k in range(TAPES))

    async def moves() -> None:
        for k in range(TAPES):
            slider.value = 1.0 + k % 7
            await asyncio.sleep(0)

    async def cell() -> None:
        """Callbacks run while its block is open."""
        for k in range(TAPES):
            of_cell.x.fill(at := 1.0 + k % 5)
            with ti.ad.Tape(of_cell.loss):
                of_cell.scale(3.0)
                await asyncio.sleep(0)
                of_cell.square()
                of_cell.total()
            right["cell"].append(of_cell.check(at, 3.0))

    async def both() -> None:
        await asyncio.gather(moves(), cell())

    workers = [threading.Thread(target=worker, args=(n,), daemon=True) for n in range(2)]
    with switching():
        for w in workers:
            w.start()
        asyncio.run(both())
        for w in workers:
            w.join(120)
    assert {name: len(found) for name, found in right.items()} == {
        "slider": TAPES,
        "cell": TAPES,
        "worker": 2 * TAPES,
    }
    assert all(all(found) for found in right.values())
