"""Loads of neighbours come before the first store of a trip, where that changes no value."""

from __future__ import annotations

import random

import pytest

from dsim.backends.cpu.machine import compile_kernel
from dsim.ir.nodes import KernelIR
from dsim.ir.types import f32, i32
from dsim.passes.parallelization import parallel
from tests.backends.llvm.memory.test_windows import agree
from tests.building import Building


def shallow_water(n: int = 40) -> KernelIR:
    """Two results, of neighbours that are read before and behind the first store."""
    k = Building(float_type=f32)
    u, h, u2, h2 = (k.field(name, n, n) for name in ("u", "h", "u2", "h2"))
    with k.loop("i", 1, n - 1) as i, k.loop("j", 1, n - 1) as j:
        here = k.load(u, i.i, j.i)
        k.store(h2, i.i, j.i, (k.load(h, i.i, j.i + 1) - k.load(h, i.i, j.i - 1)) * here)
        slope = k.load(u, i.i, j.i + 1) - k.load(u, i.i, j.i - 1)
        k.store(u2, i.i, j.i, k.load(h, i.i, j.i) * slope)
    return k.kernel()


def test_such_a_loop_becomes_vectors() -> None:
    kernel = shallow_water()
    agree(kernel)
    assert "x float> " in compile_kernel(parallel(kernel)).llvm


def test_what_the_loop_writes_is_not_read_early() -> None:
    k = Building(float_type=f32)
    x, y, z = k.field("x", 60), k.field("y", 60), k.field("z", 60)
    with k.loop("i", 1, 59) as loop:
        a = k.load(x, loop.i - 1)
        k.store(y, loop.i, a)
        b = k.load(y, loop.i) + k.load(x, loop.i + 1)
        k.accumulate(z, loop.i - 1, b)
        k.accumulate(z, loop.i + 1, b * k.load(x, loop.i))
    agree(k.kernel())


def test_indices_that_are_read() -> None:
    k = Building(float_type=f32)
    x, at, y, n = k.field("x", 60), k.field("at", 60, type=i32), k.field("y", 60), k.field("n", 60, type=i32)
    with k.loop("i", 1, 59) as loop:
        k.store(n, loop.i, k.load(at, loop.i - 1).op("mod", 60))
        far, near = k.load(n, loop.i), k.load(at, loop.i).op("mod", 60)
        k.store(y, loop.i, k.load(x, far) + k.load(x, near) + k.load(x, loop.i + 1) + k.load(x, loop.i))
    agree(k.kernel())


@pytest.mark.parametrize("seed", range(12))
def test_random_orders(seed: int) -> None:
    draw = random.Random(seed)
    k = Building(float_type=f32)
    read, written = [k.field(f"x{n}", 50) for n in range(3)], [k.field(f"y{n}", 50) for n in range(3)]
    with k.loop("i", 2, 48) as loop:
        values = [k.load(read[0], loop.i)]
        for _ in range(14):
            if draw.random() < 0.6:
                values.append(k.load(draw.choice(read), loop.i + draw.randrange(-2, 3)) - draw.choice(values))
            elif draw.random() < 0.5:
                k.store(written[0], loop.i, draw.choice(values))
                values.append(k.load(written[0], loop.i))
            else:
                k.accumulate(
                    written[draw.choice((1, 2))], loop.i + draw.randrange(-2, 3), draw.choice(values)
                )
    agree(k.kernel())
