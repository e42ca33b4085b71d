"""Nested loops in grid form: how many threads get work, which loops are one, and the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.backends.cuda.kernels import emit_kernel
from dsim.ir.nodes import For, KernelIR
from dsim.ir.types import f32, i32
from dsim.passes.parallelization import in_series, parallel
from dsim.passes.reduction_promotion import promote_reductions
from tests.backends.llvm.grid.launching import GRIDS, REAL, Buffers, Grid, launched, same
from tests.backends.llvm.grid.test_planted import is_wrong, replaced, unchanged
from tests.building import Building

pytestmark = pytest.mark.usefixtures("quick_code")

RANDOM = np.random.default_rng(21)
each_grid = pytest.mark.parametrize("grid", [*GRIDS, Grid(5, 7)], ids=str)
real_too = pytest.mark.parametrize("grid", [GRIDS[1], REAL], ids=str)

# Each thread runs the first of its iterations, and no other.
ONCE = replaced(r"mul i64 %ncta, %ntid", f"add i64 0, {1 << 40}")


def counted(*shape: int) -> tuple[KernelIR, Buffers]:
    """Adds 1 to each element, by loops over all axes."""
    k = Building()
    y = k.field("y", *shape)

    def axis(*index) -> None:
        if len(index) == len(shape):
            k.accumulate(y, *index, 1.0)
            return
        with k.loop("i", 0, shape[len(index)]) as loop:
            axis(*index, loop.i)

    axis()
    return parallel(k.kernel()), {"y": np.zeros(shape)}


def loops_shared(kernel: KernelIR, **options) -> int:
    """How many loops around an iteration the threads of a grid share: a remainder for each but one."""
    return 1 + emit_kernel(kernel, **options).text.count(" sub nuw nsw i64 ")


@each_grid
@pytest.mark.parametrize("shape", [(4, 8), (3, 5, 2), (1, 40), (40, 1), (2, 2, 2, 2, 3)], ids=str)
def test_as_many_threads_as_iterations_get_work(grid: Grid, shape: tuple[int, ...]) -> None:
    kernel, data = counted(*shape)
    found = launched(kernel, data, grid=grid, change=ONCE).arrays["y"]
    threads = min(grid.blocks * grid.threads, found.size)
    assert found.sum() == threads
    assert found.ravel()[:threads].all()  # neighbouring threads have neighbouring elements


@each_grid
@pytest.mark.parametrize("shape", [(4, 8), (3, 5, 2), (0, 7), (7, 0), (2, 2, 2, 2, 3)], ids=str)
def test_every_iteration_runs_once(grid: Grid, shape: tuple[int, ...]) -> None:
    kernel, data = counted(*shape)
    found = launched(kernel, data, grid=grid)
    assert (found.arrays["y"] == 1).all()
    assert found.kinds == ["parallel"]


@each_grid
@pytest.mark.parametrize(("first", "last", "step"), [(0, 9, 1), (8, -1, -1), (1, 9, 3), (7, 7, 1), (5, 2, 2)])
def test_ranges_that_parameters_give(grid: Grid, first: int, last: int, step: int) -> None:
    k = Building()
    y, a, b, n = k.field("y", 6, 9), k.param("a", i32), k.param("b", i32), k.param("n", i32)
    with k.loop("i", 5, n, step=-2) as loop, k.loop("j", a, b, step=step) as inner:
        k.accumulate(y, loop.i, inner.i, 1.0)
    kernel = parallel(k.kernel())
    found = launched(kernel, {"y": np.zeros((6, 9))}, first, last, -1, grid=grid)
    wanted = np.zeros((6, 9))
    wanted[1::2, np.arange(first, last, step)] = 1
    assert np.array_equal(found.arrays["y"], wanted)
    assert loops_shared(kernel) == 2


@each_grid
def test_lengths_that_are_computed_before_the_inner_loop(grid: Grid) -> None:
    k = Building()
    y, n, m = k.field("y", 6, 9), k.param("n", i32), k.param("m", i32)
    with k.loop("i", 0, n) as loop:
        length = m.op("max", k.term(k.value(0)))
        last = length - 1
        with k.loop("j", last, -1, step=-1) as inner:
            k.accumulate(y, loop.i, inner.i, 1.0)
    kernel = parallel(k.kernel())
    assert loops_shared(kernel) == 2
    for n_here, m_here in ((6, 7), (4, 0), (4, -3), (0, 5)):
        found = launched(kernel, {"y": np.zeros((6, 9))}, n_here, m_here, grid=grid).arrays["y"]
        assert found.sum() == found[:n_here, : max(m_here, 0)].size == found[:n_here, : max(m_here, 0)].sum()


def test_more_iterations_than_64_bits_count() -> None:
    k = Building()
    y, n = k.field("y"), k.param("n", i32)
    with k.loop("i", 0, n), k.loop("j", 0, n), k.loop("k", 0, n), k.loop("l", 0, n):
        k.accumulate(y, 1.0)
    kernel = parallel(k.kernel())
    # 2^120, of which the low 64 bits are 0, counts as 2^61; a step of 2^40 is what each thread goes by
    found = launched(kernel, {"y": np.zeros(())}, 1 << 30, grid=Grid(2, 2), change=ONCE)
    assert found.arrays["y"] == 4 << 21


# what stands before the inner loop ----------------------------------------------------------------


def hoisted(*, heavy: int = 0, writes: bool = False) -> tuple[KernelIR, Buffers]:
    """``y[i, j] = f(a[i]) x[i, j]``, with ``f(a[i])`` computed before the inner loop.

    With `writes` it is ``f(y[i, 0])``, which the inner loop overwrites in its first trip.
    """
    k = Building()
    a, x, y = k.field("a", 6), k.field("x", 6, 9), k.field("y", 6, 9)
    with k.loop("i", 0, 6) as loop:
        v = (k.load(y, loop.i, 0) if writes else k.load(a, loop.i)) * 2.0
        for _ in range(heavy):
            v = v.op("sin")
        with k.loop("j", 0, 9) as inner:
            k.store(y, loop.i, inner.i, v * k.load(x, loop.i, inner.i))
    data = {"a": RANDOM.random(6), "x": RANDOM.random((6, 9)), "y": RANDOM.random((6, 9))}
    return parallel(k.kernel()), data


@each_grid
def test_what_is_light_is_computed_again(grid: Grid) -> None:
    kernel, data = hoisted()
    same(kernel, data, grid=grid)
    assert loops_shared(kernel) == 2


@pytest.mark.parametrize("options", [{"heavy": 20}, {"writes": True}], ids=["heavy", "overwritten"])
def test_what_is_not_stays_in_the_loop(options: dict) -> None:
    kernel, data = hoisted(**options)
    same(kernel, data, grid=Grid(2, 2))
    assert loops_shared(kernel) == 1


def test_an_index_that_a_loop_without_trips_would_not_check() -> None:
    k = Building()
    a, y, n, m = k.field("a", 6), k.field("y", 6, 9), k.param("n", i32), k.param("m", i32)
    with k.loop("i", 0, n) as loop:
        v = k.load(a, loop.i)
        with k.loop("j", 0, m) as inner:
            k.store(y, loop.i, inner.i, v)
    kernel = parallel(k.kernel())
    assert loops_shared(kernel) == 2
    assert loops_shared(kernel, bounds=bounds(kernel)) == 2
    assert loops_shared(kernel, bounds=bounds(kernel), checked=True) == 1


# which loops are left alone -----------------------------------------------------------------------


def test_an_inner_range_that_depends_on_the_outer_index() -> None:
    k = Building()
    y = k.field("y", 9, 9)
    with k.loop("i", 0, 9) as loop, k.loop("j", 0, loop.i) as inner:
        k.store(y, loop.i, inner.i, 1.0)
    kernel = parallel(k.kernel())
    same(kernel, {"y": np.zeros((9, 9))}, grid=Grid(2, 2))
    assert loops_shared(kernel) == 1


def test_a_loop_that_is_not_parallel() -> None:
    k = Building()
    y = k.field("y", 9, 9)
    with k.loop("i", 0, 9) as loop, k.loop("j", 1, 9) as inner:
        k.store(y, loop.i, inner.i, k.load(y, loop.i, inner.i - 1) + 1.0)
    kernel = parallel(k.kernel())
    same(kernel, {"y": RANDOM.random((9, 9))}, grid=Grid(2, 2))
    assert loops_shared(kernel) == 1


def test_a_loop_that_is_to_run_in_order() -> None:
    kernel, _ = counted(4, 8)
    assert loops_shared(kernel) == 2
    assert loops_shared(in_series(kernel, [1])) == 1


def test_two_loops_in_one() -> None:
    k = Building()
    y = k.field("y", 9, 9)
    with k.loop("i", 0, 9) as loop:
        for value in (1.0, 2.0):
            with k.loop("j", 0, 9) as inner:
                k.accumulate(y, loop.i, inner.i, value)
    kernel = parallel(k.kernel())
    same(kernel, {"y": np.zeros((9, 9))}, grid=Grid(2, 2))
    assert loops_shared(kernel) == 1


def test_sums_of_rows_stay_in_registers() -> None:
    k = Building()
    x, y = k.field("x", 6, 9, 4), k.field("y", 6, 9)
    with k.loop("i", 0, 6) as loop, k.loop("j", 0, 9) as inner, k.loop("l", 0, 4) as deepest:
        k.accumulate(y, loop.i, inner.i, k.load(x, loop.i, inner.i, deepest.i))
    kernel = parallel(k.kernel())
    data = {"x": RANDOM.random((6, 9, 4)), "y": np.zeros((6, 9))}
    for each in (kernel, parallel(promote_reductions(kernel))):
        same(each, data, grid=Grid(4, 8))
        assert loops_shared(each) == 2
        assert "atomicrmw" not in emit_kernel(each).text


# shared elements ----------------------------------------------------------------------------------


def neighbours(t=f32) -> tuple[KernelIR, Buffers]:
    """The adjoint of a stencil along the rows: no two rows share an element."""
    k = Building(float_type=t)
    x, g = k.field("x", 7, 9), k.field("g", 7, 11)
    with k.loop("i", 0, 7) as loop, k.loop("j", 0, 9) as inner:
        v = k.load(x, loop.i, inner.i)
        for o in range(3):
            k.accumulate(g, loop.i, inner.i + o, v)
    data = {"x": RANDOM.integers(0, 9, (7, 9)).astype(t.numpy), "g": np.zeros((7, 11), t.numpy)}
    return parallel(k.kernel()), data


@real_too
def test_elements_that_only_the_inner_loop_shares(grid: Grid) -> None:
    kernel, data = neighbours()
    same(kernel, data, grid=grid)
    module = emit_kernel(kernel)
    assert loops_shared(kernel) == 2
    assert module.text.count("atomicrmw") == 3


def test_elements_that_only_the_inner_loop_shares_where_order_matters() -> None:
    for t, shared in ((f32, 1), (i32, 2)):
        kernel, data = neighbours(t)
        assert loops_shared(kernel, deterministic=True) == shared
        assert emit_kernel(kernel, deterministic=True).alone == ()
        found = launched(kernel, data, grid=Grid(4, 8), deterministic=True)
        np.testing.assert_array_equal(found.arrays["g"][:, 1], data["x"][:, :2].sum(axis=1))


def test_values_before_additions_keep_their_order_in_a_row() -> None:
    k = Building()
    n, y = k.field("n", 5, type=i32), k.field("y", 5, 8, type=i32)
    with k.loop("i", 0, 5) as loop, k.loop("j", 0, 8) as inner:
        k.store(y, loop.i, inner.i, k.swap_in(n, loop.i, 1))
    kernel = parallel(k.kernel())
    data = {"n": np.zeros(5, np.int32), "y": np.zeros((5, 8), np.int32)}
    same(kernel, data, grid=Grid(4, 8))
    assert loops_shared(kernel) == 1


# sums ---------------------------------------------------------------------------------------------


def summed(op="add") -> tuple[KernelIR, Buffers]:
    k = Building()
    x, s, u = k.field("x", 5, 7, 6), k.field("s"), k.field("u")
    with k.loop("i", 0, 5) as loop, k.loop("j", 0, 7) as inner, k.loop("l", 0, 6) as deepest:
        v = k.load(x, loop.i, inner.i, deepest.i)
        k.accumulate(s, v, op=op)
        k.accumulate(u, v * 2.0, op="max")
    data = {"x": RANDOM.random((5, 7, 6)) + 0.5, "s": np.array(1.5), "u": np.array(-3.0)}
    return parallel(k.kernel()), data


@pytest.mark.parametrize("grid", [*GRIDS, Grid(5, 7), REAL], ids=str)
@pytest.mark.parametrize(
    ("op", "promoted"), [("add", True), ("add", False), ("mul", False), ("min", False)], ids=str
)
def test_sums_over_all_axes(grid: Grid, op, promoted: bool) -> None:
    kernel, data = summed(op)
    if promoted:
        kernel = parallel(promote_reductions(kernel))
        (outermost,) = kernel.body.statements
        assert isinstance(outermost, For)
        assert any(isinstance(s, For) and s.carried for s in outermost.body.statements)
    found = same(kernel, data, grid=grid)
    assert found.kinds == ["parallel", "combine"]
    assert loops_shared(kernel) == 3


def carrying(start: float = 0.0, *, again: bool = False) -> tuple[KernelIR, Buffers]:
    """``s``, carried through both loops; ``t``, from `start` in each row, added to what the outer one has."""
    k = Building()
    x = k.field("x", 8, 9)
    with k.loop("i", 0, 8, s=2.5, t=0.25) as loop:
        with k.loop("j", 0, 9, s=loop.s, t=start) as inner:
            v = k.load(x, loop.i, inner.i)
            inner.then(s=inner.s + v, t=inner.t + v * v)
        t = loop.t + inner.out("t")
        loop.then(s=inner.out("s"), t=t + 1.0 if again else t)
    kernel = k.kernel(loop.out("s"), loop.out("t"))
    return parallel(kernel), {"x": RANDOM.random((8, 9))}


@pytest.mark.parametrize("grid", [*GRIDS, REAL], ids=str)
def test_sums_that_loops_carry(grid: Grid) -> None:
    kernel, data = carrying()
    found = same(kernel, data, grid=grid)
    np.testing.assert_allclose(found.returned, (2.5 + data["x"].sum(), 0.25 + (data["x"] ** 2).sum()))
    assert loops_shared(kernel) == 2


@pytest.mark.parametrize("options", [{"start": 1.0}, {"again": True}], ids=["from another value", "and more"])
def test_sums_to_which_each_row_adds_something(options: dict) -> None:
    kernel, data = carrying(**options)
    same(kernel, data, grid=Grid(4, 8))
    assert loops_shared(kernel) == 1


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_a_sum_of_rows_in_another_operation(grid: Grid) -> None:
    """The greatest sum of a row: no thread may carry that over rows."""
    k = Building()
    x, top = k.field("x", 8, 9), k.field("top")
    with k.loop("i", 0, 8) as loop:
        with k.loop("j", 0, 9, s=0.0) as inner:
            inner.then(s=inner.s + k.load(x, loop.i, inner.i))
        k.accumulate(top, inner.out("s"), op="max")
    kernel = parallel(k.kernel())
    found = same(kernel, {"x": RANDOM.random((8, 9)), "top": np.array(-1.0)}, grid=grid)
    assert found.kinds == ["parallel", "combine"]
    assert loops_shared(kernel) == 1


# faults put into the text on purpose --------------------------------------------------------------


def numbered() -> tuple[KernelIR, Buffers]:
    """Adds to each element its indices."""
    k = Building()
    y = k.field("y", 5, 8, type=i32)
    with k.loop("i", 0, 5) as loop, k.loop("j", 0, 8) as inner:
        k.accumulate(y, loop.i, inner.i, loop.i * 100 + inner.i + 1)
    return parallel(k.kernel()), {"y": np.zeros((5, 8), np.int32)}


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        (r"udiv i64 (%x\d+), 8", r"udiv i64 \1, 9"),
        (r"mul nuw nsw i64 (%x\d+), 8", r"mul nuw nsw i64 \1, 9"),
        (r"i64 40, i64", "i64 39, i64"),
    ],
    ids=["quotient", "remainder", "number of iterations"],
)
def test_wrong_indices_are_found(grid: Grid, pattern: str, by: str) -> None:
    assert not is_wrong(*numbered(), unchanged, grid)
    assert is_wrong(*numbered(), replaced(pattern, by), grid)
