"""Scattered accumulations that wait for the end of a strip equal immediate ones, and leave vectors behind."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ds
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.diagnostics import DsimError
from dsim.ir.nodes import KernelIR
from dsim.ir.types import ScalarType, f64, i32, i64, u32
from dsim.passes.parallelization import parallel
from tests.backends.llvm.memory.test_windows import agree
from tests.building import Building

VECTOR = " x double> "


def llvm(kernel: KernelIR) -> str:
    return compile_kernel(parallel(kernel), threads=1).llvm


def scatter(trips: int, t: ScalarType = f64, cells: ScalarType = i32) -> KernelIR:
    """Three neighbours of a cell that is read, two numbers for each; the memory of another sum has one."""
    k = Building(float_type=t)
    x, at = k.field("x", trips), k.field("at", trips, type=cells)
    g, m, n = k.field("g", 12, 2, entries=1), k.field("m", 12), k.param("n", i32)
    with k.loop("i", 0, n) as loop:
        v, cell = k.load(x, loop.i), k.load(at, loop.i).op("max", 0).op("min", 7)
        for offset in (1, 0, 2):
            near = cell + offset
            k.accumulate(g, near, int(offset > 0), v + offset)
            k.accumulate(m, near, v)
            k.accumulate(g, near, int(offset == 0), v * v)
    return k.kernel()


@pytest.mark.parametrize("trips", [0, 1, 15, 31, 32, 33, 64, 65, 1000])
def test_neighbours_of_cells(trips: int) -> None:
    kernel = scatter(1000)
    agree(kernel, trips)
    assert VECTOR in llvm(kernel)


@pytest.mark.parametrize("t", [f64, i32], ids=str)
@pytest.mark.parametrize("cells", [i32, i64, u32], ids=str)
def test_types(t: ScalarType, cells: ScalarType) -> None:
    agree(scatter(200, t, cells), 200)


@pytest.mark.parametrize("t", [f64, i32], ids=str)
def test_components_of_one_element(t: ScalarType) -> None:
    """Two are added at once; here also one of three, one twice, and one of another element between."""
    k = Building(float_type=t)
    x, at, g = k.field("x", 300), k.field("at", 300, type=i32), k.field("g", 100, 5)
    with k.loop("i", 0, 300) as loop:
        v, cell = k.load(x, loop.i), k.load(at, loop.i).op("max", 0).op("min", 99)
        for c in (0, 1, 2, 4, 3, 3, 2):
            k.accumulate(g, cell, c, v + c)
        k.accumulate(g, cell.op("min", 7), 1, v)
        k.accumulate(g, cell, 0, v)
        k.accumulate(g, cell.op("min", 7), 0, v)
    kernel = k.kernel()
    agree(kernel)
    assert ("fadd reassoc nsz arcp contract <2 x " in llvm(kernel)) == t.is_float


def test_other_operations_and_sums() -> None:
    k = Building(float_type=f64)
    x, at, low, s = k.field("x", 300), k.field("at", 300, type=i32), k.field("low", 8, 2), k.field("s", 8)
    with k.loop("i", 0, 300, total=1.0) as loop:
        v, cell = k.load(x, loop.i), k.load(at, loop.i).op("max", 0).op("min", 7)
        k.accumulate(low, cell, 0, v, op="min")
        k.accumulate(low, cell, 1, v * v, op="min")
        k.accumulate(s, cell, v * v)
        k.accumulate(s, 3, v)
        loop.then(total=loop.total + v)
    agree(k.kernel(loop.out("total")))


def test_what_the_loop_reads_or_adds_elsewhere_does_not_wait() -> None:
    k = Building(float_type=f64)
    x, at = k.field("x", 300), k.field("at", 300, type=i32)
    g, h = k.field("g", 2, 300), k.field("h", 300)
    with k.loop("i", 0, 300) as loop:
        v, cell = k.load(x, loop.i), k.load(at, loop.i).op("max", 0).op("min", 99)
        k.accumulate(g, 0, cell, v + k.load(g, 1, loop.i))
        k.accumulate(h, cell, v)
        k.accumulate(h, loop.i, v * v)
    agree(k.kernel())


@pytest.mark.parametrize("hindered", [False, True])
def test_branches(hindered: bool) -> None:
    """Additions wait that are behind branches; none does where one is in a branch."""
    k = Building(float_type=f64)
    x, at, y = k.field("x", 300), k.field("at", 300, type=i32), k.field("y", 300)
    g, h = k.field("g", 100), k.field("h", 100)
    with k.loop("i", 0, 300) as loop:
        v, cell = k.load(x, loop.i), k.load(at, loop.i).op("max", 0).op("min", 99)
        (w,) = k.branch(v > 0.0, lambda: (k.load(x, cell) if hindered else 2.0 * v,), lambda: (v * v,))
        k.branch(w > 1.0, lambda: k.store(y, loop.i, w))
        k.accumulate(g, cell, w)
        if hindered:
            k.branch(w > 2.0, lambda: k.accumulate(h, cell, v))
        k.accumulate(h, cell, w)
    kernel = k.kernel()
    agree(kernel)
    assert (VECTOR in llvm(kernel)) != hindered


def test_inside_another_loop_and_downwards() -> None:
    k = Building(float_type=f64)
    x, at, g = k.field("x", 100), k.field("at", 100, type=i32), k.field("g", 3, 128)
    with k.loop("j", 0, 3) as outer, k.loop("i", 99, -1, step=-1) as loop:
        v, cell = k.load(x, loop.i), k.load(at, loop.i).op("max", 0).op("min", 99)
        k.accumulate(g, outer.i, cell, v)
    agree(k.kernel())


def test_other_strides_and_private_buffers() -> None:
    k = Building()
    x, at, g = k.field("x", 90), k.field("at", 90, type=i32), k.field("g", 8, 3)
    y, n = k.field("y", 8), k.param("n", i32)
    inner = k.buffer("inner", n, 8)
    with k.loop("i", 0, 90) as loop:
        v, cell = k.load(x, loop.i), k.load(at, loop.i).op("max", 0).op("min", 7)
        k.accumulate(g, cell, 2, v)
        k.accumulate(inner, 1, cell, v)
    with k.loop("c", 0, 8) as loop:
        k.store(y, loop.i, k.load(inner, 1, loop.i))
    kernel = parallel(k.kernel())
    rng = np.random.default_rng(4)
    start = {x.key: rng.normal(size=90), at.key: rng.integers(0, 99, 90).astype(np.int32)}
    y_data, g_data = np.zeros(8), np.asfortranarray(rng.normal(size=(8, 3)))
    wanted = {**start, g.key: g_data.copy("C"), y.key: y_data.copy()}
    machine = compile_kernel(kernel, strides={g.key: (1, 8)})
    machine.bind({**start, g.key: g_data, y.key: y_data})(2)
    run(kernel, wanted, (2,))
    np.testing.assert_allclose(g_data, wanted[g.key])
    np.testing.assert_allclose(y_data, wanted[y.key])


@pytest.mark.parametrize("fast_math", [True, False])
def test_an_index_out_of_bounds_adds_nothing_and_is_found(fast_math: bool) -> None:
    ds.init(default_fp=ds.f32, fast_math=fast_math)
    x, at, g = ds.field(ds.f32, 200), ds.field(ds.i32, 200), ds.Vector.field(2, ds.f32, 10)

    @ds.kernel
    def spread():
        for i in x:
            for d in ds.static(range(2)):
                g[at[i] + d] += ds.Vector([x[i], 2.0 * x[i]])

    cells = np.arange(200, dtype=np.int32) % 9
    cells[77] = 9
    x.from_numpy(np.ones(200, np.float32))
    at.from_numpy(cells)
    with pytest.raises(DsimError, match="10"):
        spread()
    wanted = np.zeros(11, np.float32)
    np.add.at(wanted, cells, 1.0)
    np.add.at(wanted, cells + 1, 1.0)
    np.testing.assert_array_equal(g.to_numpy(), np.stack([wanted, 2 * wanted], -1)[:10])


@pytest.mark.slow
def test_many_sums_have_short_strips_or_none() -> None:
    for count in (40, 120, 200):
        k = Building(float_type=f64)
        x, at, g = k.field("x", 100), k.field("at", 100, type=i32), k.field("g", 128, count)
        with k.loop("i", 0, 100) as loop:
            v, cell = k.load(x, loop.i), k.load(at, loop.i).op("max", 0).op("min", 99)
            for m in range(count):
                k.accumulate(g, cell, m, v * (m + 1.0))
        agree(k.kernel())


def test_sums_in_exact_kernels_keep_their_order() -> None:
    """Each element receives its numbers one by one, as in the text."""
    ds.init(default_fp=ds.f32, fast_math=False, cpu_max_num_threads=1)
    x, at, g = ds.field(ds.f32, 500), ds.field(ds.i32, 500), ds.field(ds.f32, 7)

    @ds.kernel
    def spread():
        for i in x:
            g[at[i]] += x[i] * x[i]

    rng = np.random.default_rng(2)
    values, cells = rng.normal(size=500).astype(np.float32), rng.integers(0, 7, 500).astype(np.int32)
    x.from_numpy(values)
    at.from_numpy(cells)
    spread()
    wanted = np.zeros(7, np.float32)
    np.add.at(wanted, cells, values * values)
    np.testing.assert_array_equal(g.to_numpy(), wanted)
