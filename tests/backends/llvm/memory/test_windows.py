"""Accumulations to neighbouring elements, deferred by a loop, equal immediate additions."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.ir.nodes import KernelIR
from dsim.ir.types import ScalarType, f32, f64, i32
from dsim.passes.parallelization import parallel
from tests.building import Building

RANDOM = np.random.default_rng(11)


def agree(kernel: KernelIR, *args: object) -> None:
    kernel = parallel(kernel)
    start = {}
    for m in kernel.memories:
        values = RANDOM.normal(size=tuple(n or 0 for n in m.shape)) * 5
        start[m.key] = np.array(values, m.type.numpy)
    wanted = {key: a.copy() for key, a in start.items()}
    expected = run(kernel, wanted, args)
    for threads in (1, 2):
        arrays = {key: a.copy() for key, a in start.items()}
        returned = compile_kernel(kernel, threads=threads).bind(arrays)(*args)
        np.testing.assert_allclose(np.array(returned, float), np.array(expected, float), rtol=1e-5)
        for key, a in arrays.items():
            np.testing.assert_allclose(a, wanted[key], rtol=1e-5, atol=1e-5, err_msg=str(key))


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 50])
@pytest.mark.parametrize("offsets", [(0, 1), (-1, 0, 1), (1, -1), (-2, 3), (0, 0, 2, 1), (-1, 1, 1, 5)])
def test_one_axis(trips: int, offsets: tuple[int, ...]) -> None:
    k = Building(float_type=f32)
    x, g, n = k.field("x", 60), k.field("g", 60), k.param("n", i32)
    with k.loop("i", 2, n) as loop:
        v = k.load(x, loop.i)
        for m, offset in enumerate(offsets):
            k.accumulate(g, loop.i + offset, v * (m + 1.0))
    agree(k.kernel(), trips + 2)


@pytest.mark.parametrize("t", [f64, i32], ids=str)
def test_downwards_and_other_types(t: ScalarType) -> None:
    k = Building(float_type=f64)
    x, g = k.field("x", 40, type=t), k.field("g", 40, type=t)
    with k.loop("i", 38, 0, step=-1) as loop:
        v = k.load(x, loop.i)
        k.accumulate(g, loop.i + 1, v)
        k.accumulate(g, loop.i - 1, v * v)
        k.accumulate(g, loop.i, v + v)
    agree(k.kernel())


def test_two_axes_as_in_a_wave() -> None:
    k = Building(float_type=f32)
    p, t = k.field("p", 3, 12, 14), k.param("t", i32)
    with k.loop("i", 1, 11) as outer, k.loop("j", 1, 13) as inner:
        b = k.load(p, t, outer.i, inner.i)
        k.store(p, t, outer.i, inner.i, 0.0)
        for di, dj in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)):
            k.accumulate(p, t - 1, outer.i + di, inner.i + dj, b * (1.0 + di + 2.0 * dj))
        k.accumulate(p, t - 2, outer.i, inner.i, -b)
    agree(k.kernel(), 2)


def test_with_sums_and_entries() -> None:
    k = Building(float_type=f64)
    x, g, s = k.field("x", 30), k.field("g", 31, 2, entries=1), k.field("s")
    with k.loop("i", 0, 30, total=1.0) as loop:
        v = k.load(x, loop.i)
        k.accumulate(g, loop.i, 0, v)
        k.accumulate(g, loop.i + 1, 0, -v)
        k.accumulate(g, loop.i + 1, 1, v * 3.0)
        k.accumulate(g, loop.i, 1, v * 2.0)
        k.accumulate(s, v)
        loop.then(total=loop.total + v)
    agree(k.kernel(loop.out("total")))


def test_branches_and_other_indices_are_left_as_they_are() -> None:
    k = Building(float_type=f64)
    x, at, g = k.field("x", 30), k.field("at", 30, type=i32), k.field("g", 31, 31)
    with k.loop("i", 0, 30) as loop:
        v, j = k.load(x, loop.i), k.load(at, loop.i).op("band", 7)
        k.accumulate(g, loop.i, j, v)
        k.accumulate(g, loop.i + 1, j, v)
        k.accumulate(g, loop.i + 1, loop.i, v)
        k.accumulate(g, loop.i, loop.i, v)
        k.branch(v > 0.0, lambda: k.accumulate(g, loop.i, 3, v))
        k.accumulate(g, loop.i + 1, 3, v)
    agree(k.kernel())


def test_other_strides() -> None:
    k = Building()
    x, g = k.field("x", 9), k.field("g", 10, 3)
    with k.loop("i", 0, 9) as loop:
        v = k.load(x, loop.i)
        k.accumulate(g, loop.i, 2, v)
        k.accumulate(g, loop.i + 1, 2, v)
    kernel = parallel(k.kernel())
    x_data, g_data = RANDOM.normal(size=9), np.asfortranarray(RANDOM.normal(size=(10, 3)))
    wanted = {x.key: x_data, g.key: g_data.copy("C")}
    compile_kernel(kernel, strides={g.key: (1, 10)}).bind({x.key: x_data, g.key: g_data})()
    run(kernel, wanted)
    np.testing.assert_allclose(g_data, wanted[g.key])
