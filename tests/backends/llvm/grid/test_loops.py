"""Loops in grid form: which iterations a thread runs, and how threads share elements and memory."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.ir.types import ScalarType, f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from tests.backends.llvm.grid.launching import GRIDS, REAL, Grid, launched, same
from tests.building import Building, marked_parallel

pytestmark = pytest.mark.usefixtures("quick_code")

RANDOM = np.random.default_rng(11)
N = 503
each_grid = pytest.mark.parametrize("grid", [*GRIDS, Grid(5, 7)], ids=str)
real_too = pytest.mark.parametrize("grid", [GRIDS[1], REAL], ids=str)


@each_grid
@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, N, 1), (N - 1, -1, -1), (5, N, 7), (0, 0, 1), (9, 3, 2), (0, 3, 1)]
)
def test_every_iteration_runs_once(grid: Grid, start: int, stop: int, step: int) -> None:
    k = Building()
    y, first, last = k.field("y", N), k.param("first", i32), k.param("last", i32)
    with k.loop("i", first, last, step=step) as loop:
        k.accumulate(y, loop.i, 1.0)
    found = launched(marked_parallel(k.kernel()), {"y": np.zeros(N)}, start, stop, grid=grid)
    wanted = np.zeros(N)
    wanted[np.arange(start, stop, step)] = 1
    assert np.array_equal(found.arrays["y"], wanted)
    assert found.kinds == ["parallel"]


@pytest.mark.parametrize("t", [i64, u64], ids=str)
def test_indices_of_64_bits(t: ScalarType) -> None:
    low = 2**63 - 8 if t == i64 else 2**64 - 8
    k = Building()
    y, first, last = k.field("y", 8), k.param("first", t), k.param("last", t)
    with k.loop("i", first, last, step=3) as loop:
        k.accumulate(y, loop.i - first, 1.0)
    found = launched(marked_parallel(k.kernel()), {"y": np.zeros(8)}, low, low + 7, grid=Grid(2, 2))
    assert found.arrays["y"].tolist() == [1, 0, 0, 1, 0, 0, 1, 0]


@each_grid
def test_inner_loops_and_whiles(grid: Grid) -> None:
    k = Building()
    x, y = k.field("x", N), k.field("y", N)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        with k.loop("j", 0, loop.i.op("mod", k.term(k.value(5))), s=v) as inner:
            inner.then(s=inner.s * 0.5 + v)
        with k.repeat(lambda r: r.n < 40.0, n=inner.out("s")) as more:
            more.then(n=more.n * 2.0 + 1.0)
        k.store(y, loop.i, more.out("n"))
    same(marked_parallel(k.kernel()), {"x": RANDOM.random(N), "y": np.zeros(N)}, grid=grid)


@real_too
@pytest.mark.parametrize("t", [f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], ids=str)
@pytest.mark.parametrize("op", ["add", "max"])
def test_shared_elements_of_every_type(grid: Grid, t: ScalarType, op) -> None:
    k = Building()
    at, v, h = k.field("at", N, type=i32), k.field("v", N, type=t), k.field("h", 5, type=t)
    with k.loop("i", 0, N) as loop:
        k.accumulate(h, k.load(at, loop.i), k.load(v, loop.i), op=op)
    buffers = {
        "at": RANDOM.integers(0, 5, N, dtype=np.int32),
        "v": RANDOM.integers(0, 3, N).astype(t.numpy),
        "h": np.zeros(5, t.numpy),
    }
    same(marked_parallel(k.kernel()), buffers, grid=grid, rtol=0)


@real_too
@pytest.mark.parametrize("op", ["mul", "min", "band", "bor", "bxor"])
def test_shared_elements_of_every_operation(grid: Grid, op) -> None:
    k = Building()
    at, v, h = k.field("at", N, type=i32), k.field("v", N, type=i32), k.field("h", 5, type=i32)
    with k.loop("i", 0, N) as loop:
        k.accumulate(h, k.load(at, loop.i), k.load(v, loop.i), op=op)
    values = RANDOM.integers(-999, 999, N, dtype=np.int32)
    at_data = RANDOM.integers(0, 5, N, dtype=np.int32)
    same(marked_parallel(k.kernel()), {"at": at_data, "v": values, "h": np.full(5, 3, np.int32)}, grid=grid)


@real_too
def test_shared_truth_values(grid: Grid) -> None:
    k = Building()
    at, v, h = k.field("at", N, type=i32), k.field("v", N, type=u1), k.field("h", 40, type=u1)
    with k.loop("i", 0, N) as loop:
        k.accumulate(h, k.load(at, loop.i), k.load(v, loop.i), op="bor")
    at_data = RANDOM.integers(0, 40, N, dtype=np.int32)
    buffers = {"at": at_data, "v": RANDOM.random(N) < 0.05, "h": np.zeros(40, bool)}
    same(marked_parallel(k.kernel()), buffers, grid=grid)


@real_too
def test_each_gets_another_old_value(grid: Grid) -> None:
    k = Building()
    n, y, which = k.field("n", 3, type=i32), k.field("y", N, type=i32), k.field("which", N, type=i32)
    with k.loop("i", 0, N) as loop:
        k.store(y, loop.i, k.swap_in(n, k.load(which, loop.i), 1))
    chosen = RANDOM.integers(0, 3, N, dtype=np.int32)
    start = {"n": np.zeros(3, np.int32), "y": np.zeros(N, np.int32), "which": chosen}
    found = launched(marked_parallel(k.kernel()), start, grid=grid).arrays
    for c in range(3):
        assert sorted(found["y"][chosen == c]) == list(range((chosen == c).sum()))
    assert found["n"].sum() == N


@real_too
def test_neighbours(grid: Grid) -> None:
    k = Building()
    x, g = k.field("x", N), k.field("g", N + 2)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        for o in range(3):
            k.accumulate(g, loop.i + o, v * (1.0 + o))
    same(marked_parallel(k.kernel()), {"x": RANDOM.random(N), "g": np.zeros(N + 2)}, grid=grid)


@real_too
def test_functions_of_the_c_library(grid: Grid) -> None:
    for t in (f32, f64):
        k = Building(float_type=t)
        x, y = k.field("x", N), k.field("y", N)
        with k.loop("i", 0, N) as loop:
            v = k.load(x, loop.i)
            k.store(y, loop.i, v.op("sin") + v.op("exp") * v.op("tanh") + (v * 7.0).op("mod", v))
        data = {"x": (RANDOM.random(N) + 0.5).astype(t.numpy), "y": np.zeros(N, t.numpy)}
        same(marked_parallel(k.kernel()), data, grid=grid, rtol=1e-5 if t == f32 else 1e-12)


def test_the_remainder_of_a_large_quotient_is_exact() -> None:
    k = Building()
    x, y = k.field("x", 4), k.field("y", 4)
    with k.loop("i", 0, 4) as loop:
        k.store(y, loop.i, k.load(x, loop.i).op("mod", k.term(k.value(3.0))))
    x_data = np.array([1e300, 1e17, 2.0**70, 7.5])
    found = launched(marked_parallel(k.kernel()), {"x": x_data, "y": np.zeros(4)}, grid=Grid(2, 2))
    assert found.arrays["y"].tolist() == [v % 3.0 for v in x_data.tolist()]
    assert "frem" not in found.modules[0].text
