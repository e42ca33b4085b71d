"""Sums over a grid: by threads, blocks and one more kernel, in an order that numbers of threads fix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsim.backends.llvm.grid.plans import MOST_SUMS
from dsim.ir.types import ScalarType, f16, f32, f64, i8, i32, i64, u1, u16
from tests.backends.llvm.grid.launching import REAL, Grid, alone, launched, same
from tests.building import Building, marked_parallel

pytestmark = pytest.mark.usefixtures("quick_code")

RANDOM = np.random.default_rng(12)
N = 2011
each_grid = pytest.mark.parametrize("grid", [Grid(2, 2), Grid(4, 8), Grid(7, 13), REAL], ids=str)


@pytest.mark.parametrize("grid", [Grid(4, 8), REAL], ids=str)
@pytest.mark.parametrize("t", [f16, f32, f64, i8, i32, i64, u16], ids=str)
def test_of_every_type(grid: Grid, t: ScalarType) -> None:
    k = Building()
    x, s = k.field("x", N, type=t), k.field("s", 3, type=t)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        k.accumulate(s, 0, v)
        k.branch(v > k.term(k.value(1, t)), lambda: k.accumulate(s, 2, v))
    data = {"x": RANDOM.integers(0, 4, N).astype(t.numpy), "s": np.full(3, 2, t.numpy)}
    if t == f16:  # whole numbers up to 2048 are halves
        data["x"] //= 3
    found = same(marked_parallel(k.kernel()), data, grid=grid, rtol=0)
    assert found.kinds == ["parallel", "combine"]


@pytest.mark.parametrize("grid", [Grid(4, 8)], ids=str)
@pytest.mark.parametrize("op", ["mul", "min", "max", "band", "bor", "bxor"])
def test_of_every_operation(grid: Grid, op) -> None:
    k = Building()
    x, s = k.field("x", N, type=i32), k.field("s", type=i32)
    with k.loop("i", 0, N) as loop:
        k.accumulate(s, k.load(x, loop.i), op=op)
    values = RANDOM.integers(-9999, 9999, N, dtype=np.int32)
    same(marked_parallel(k.kernel()), {"x": values, "s": np.array(5, np.int32)}, grid=grid)


@each_grid
def test_of_floats_and_truth_values(grid: Grid) -> None:
    k = Building()
    x, low, high, any_of = k.field("x", N), k.field("low"), k.field("high"), k.field("any", type=u1)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        k.accumulate(low, v, op="min")
        k.accumulate(high, v, op="max")
        k.accumulate(any_of, v > 0.999, op="bor")
    data = {"x": RANDOM.random(N), "low": np.array(9.0), "high": np.array(-9.0), "any": np.array(False)}
    same(marked_parallel(k.kernel()), data, grid=grid)


@each_grid
@pytest.mark.parametrize("n", [0, 1, 3, N])
def test_carried_values_and_what_follows_them(grid: Grid, n: int) -> None:
    k = Building()
    x, y, count = k.field("x", N), k.field("y", N), k.param("n", i32)
    with k.loop("i", 0, count, s=2.5, c=7, top=-1e9) as loop:
        v = k.load(x, loop.i)
        loop.then(s=loop.s + v, c=loop.c + 1, top=loop.top.op("max", v))
    with k.loop("j", 0, N) as other:
        k.store(y, other.i, loop.out("s"))
    kernel = k.kernel(loop.out("s"), loop.out("c"), loop.out("top"))
    data = {"x": RANDOM.random(N), "y": np.zeros(N)}
    found = same(marked_parallel(kernel), data, n, grid=grid)
    assert found.kinds == ["parallel", "combine", "parallel"]
    assert found.returned[1] == 7 + n


def test_many_additions_of_32_bits_are_precise() -> None:
    n = 400_000
    k = Building(float_type=f32)
    x, s = k.field("x", n), k.field("s")
    with k.loop("i", 0, n) as loop:
        k.accumulate(s, k.load(x, loop.i))
    x_data = RANDOM.random(n).astype("f")
    found = launched(marked_parallel(k.kernel()), {"x": x_data, "s": np.zeros((), "f")}, grid=Grid(2, 2))
    wanted = x_data.sum(dtype=np.float64)
    assert abs(found.arrays["s"] - wanted) <= np.spacing(np.float32(wanted)) * 4


def test_depend_on_the_grid_alone() -> None:
    k = Building(float_type=f32)
    x, s = k.field("x", N), k.field("s")
    with k.loop("i", 0, N) as loop:
        k.accumulate(s, k.load(x, loop.i))
    kernel = replace(marked_parallel(k.kernel()), exact=True)  # else LLVM may sum in the order that it likes
    data = {"x": RANDOM.normal(size=N).astype("f"), "s": np.zeros((), "f")}
    sums = [launched(kernel, data, grid=grid).arrays["s"] for grid in (REAL, REAL, REAL._replace(real=False))]
    assert len({s.tobytes() for s in sums}) == 1


def test_too_many_run_on_one_thread() -> None:
    for count, kinds in ((MOST_SUMS, ["parallel", "combine"]), (MOST_SUMS + 1, ["serial"])):
        k = Building()
        x, s = k.field("x", N), k.field("s", count)
        with k.loop("i", 0, N) as loop:
            v = k.load(x, loop.i)
            for at in range(count):
                k.accumulate(s, at, v * float(at))
        found = same(
            marked_parallel(k.kernel()), {"x": RANDOM.random(N), "s": np.zeros(count)}, grid=Grid(2, 4)
        )
        assert found.kinds == kinds
        assert [a.reason[:11] for a in found.modules[0].alone] == ["it has 49 s"] * (kinds == ["serial"])


@pytest.mark.parametrize("op", ["add", "max"])
@pytest.mark.parametrize("uses_old", [False, True])
@pytest.mark.parametrize("t", [f32, i32], ids=str)
def test_deterministic_ones_use_no_atomics_that_depend_on_order(op, uses_old: bool, t: ScalarType) -> None:
    k = Building()
    at, v, h, y = (
        k.field("at", N, type=i32),
        k.field("v", N, type=t),
        k.field("h", 5, type=t),
        k.field("y", N, type=t),
    )
    with k.loop("i", 0, N) as loop:
        place, value = k.load(at, loop.i), k.load(v, loop.i)
        if uses_old:
            k.store(y, loop.i, k.swap_in(h, place, value, op=op))
        else:
            k.accumulate(h, place, value, op=op)
            k.store(y, loop.i, value)
    kernel = marked_parallel(k.kernel())
    data = {
        "at": RANDOM.integers(0, 5, N, dtype=np.int32),
        "v": RANDOM.integers(-99, 99, N).astype(t.numpy),
        "h": np.zeros(5, t.numpy),
        "y": np.zeros(N, t.numpy),
    }
    found = launched(kernel, data, grid=Grid(2, 4), deterministic=True)
    ordered = uses_old or (t == f32 and op == "add")
    assert found.kinds == ["serial" if ordered else "parallel"]
    assert bool(found.modules[0].alone) == ordered
    wanted = alone(kernel, data)
    for name in ("h", "y"):
        assert np.array_equal(found.arrays[name], wanted.arrays[name])
