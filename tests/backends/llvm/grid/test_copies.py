"""Copies of small memories in shared memory, one for each block: of which memories, and the numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.backends.cuda.kernels import emit_kernel
from dsim.backends.faults import Fault
from dsim.backends.llvm.grid.copies import MANY, MOST_BYTES
from dsim.backends.llvm.grid.module import GridModule
from dsim.ir.nodes import KernelIR
from dsim.ir.types import ScalarType, f16, f32, f64, i8, i16, i32, i64, u8, u64
from dsim.passes.parallelization import parallel
from tests.backends.llvm.grid.launching import GRIDS, REAL, Buffers, Grid, launched, same
from tests.backends.llvm.grid.on_cpu import Change
from tests.backends.llvm.grid.test_planted import BARRIER, is_wrong, replaced, unchanged
from tests.building import Building, marked_parallel

pytestmark = pytest.mark.usefixtures("quick_code")

RANDOM = np.random.default_rng(31)
N = 1009
each_grid = pytest.mark.parametrize("grid", [*GRIDS, Grid(3, 7), REAL], ids=str)


def histogram(bins: int = 37, t: ScalarType = f64, n: int = N) -> tuple[KernelIR, Buffers]:
    """``h[at[i]] += v[i]``."""
    k = Building()
    at, v, h = k.field("at", n, type=i32), k.field("v", n, type=t), k.field("h", bins, type=t)
    with k.loop("i", 0, n) as loop:
        k.accumulate(h, k.load(at, loop.i), k.load(v, loop.i))
    data = {
        "at": RANDOM.integers(0, bins, n, dtype=np.int32),
        "v": RANDOM.integers(0, 3, n).astype(t.numpy),
        "h": RANDOM.integers(0, 9, bins).astype(t.numpy),
    }
    return marked_parallel(k.kernel()), data


def copied(module: GridModule) -> int:
    """Bytes of copies of each block, in all kernels."""
    return sum(k.block_bytes for k in module.kernels)


@each_grid
@pytest.mark.parametrize("t", [f16, f32, f64, i8, i16, i32, i64, u8, u64], ids=str)
def test_additions_of_every_type(grid: Grid, t: ScalarType) -> None:
    found = same(*histogram(t=t), grid=grid, rtol=0)
    assert found.kinds == ["parallel"]
    assert copied(found.modules[0]) == -(-37 * t.bits // 8 // 8) * 8


@each_grid
def test_several_beside_sums(grid: Grid) -> None:
    k = Building()
    at, v = k.field("at", N, type=i32), k.field("v", N)
    h, m, n = k.field("h", 3, type=f32), k.field("m", 5, 2), k.field("n", 7, type=i32)
    s, top = k.field("s"), k.field("top")
    with k.loop("i", 0, N) as loop:
        place, x = k.load(at, loop.i), k.load(v, loop.i)
        k.accumulate(s, x)
        k.accumulate(h, place.op("mod", k.term(k.value(3))), x.cast(f32))
        k.accumulate(m, place.op("mod", k.term(k.value(5))), loop.i.op("mod", k.term(k.value(2))), x)
        k.branch(x > 1.0, lambda: k.accumulate(n, place, 1))
        k.accumulate(top, x, op="max")
    data = {
        "at": RANDOM.integers(0, 7, N, dtype=np.int32),
        "v": RANDOM.integers(0, 9, N).astype(float),
        "h": np.zeros(3, "f"),
        "m": np.ones((5, 2)),
        "n": np.zeros(7, np.int32),
        "s": np.array(2.0),
        "top": np.array(0.0),
    }
    found = same(marked_parallel(k.kernel()), data, grid=grid)
    assert found.kinds == ["parallel", "combine"]
    first, second = found.modules[0].kernels
    assert (first.shared_bytes, first.block_bytes) == (16, 16 + 80 + 32)
    assert (second.shared_bytes, second.block_bytes) == (16, 0)
    assert first.shared_memory(10) == 10 * 16 + 128


@each_grid
@pytest.mark.parametrize("mark", [marked_parallel, parallel])
def test_from_nested_loops(grid: Grid, mark) -> None:
    k = Building()
    at, h = k.field("at", 30, 20, type=i32), k.field("h", 11)
    with k.loop("i", 0, 30) as loop, k.loop("j", 0, 20) as inner:
        k.accumulate(h, k.load(at, loop.i, inner.i), 1.0)
    data = {"at": RANDOM.integers(0, 11, (30, 20), dtype=np.int32), "h": np.zeros(11)}
    assert copied(same(mark(k.kernel()), data, grid=grid).modules[0]) == 88


@each_grid
def test_what_is_out_of_bounds_is_left_out_and_reported(grid: Grid) -> None:
    kernel, data = histogram()
    data["at"][500] = 37
    with pytest.raises(Fault) as fault:
        launched(kernel, data, grid=grid, bounds=bounds(kernel))
    assert fault.value.kind == "bounds"
    assert fault.value.values == (37,)


@pytest.mark.parametrize("t", [i32, f64], ids=str)
def test_where_results_are_to_be_deterministic(t: ScalarType) -> None:
    """Sums of integers are the same in any order; one thread adds up floats."""
    kernel, data = histogram(t=t)
    found = launched(kernel, data, grid=Grid(2, 4), deterministic=True)
    assert bool(copied(found.modules[0])) == (t == i32)
    assert np.array_equal(found.arrays["h"], launched(kernel, data, grid=Grid(1, 1)).arrays["h"])


# which memories have none -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "n", "has"),
    [
        (MOST_BYTES // 8, 1 << 16, True),
        (MOST_BYTES // 8 + 1, 1 << 16, False),
        (37, 37 * MANY, True),
        (37, 37 * MANY - 1, False),
    ],
    ids=["as large as can be", "too large", "just enough iterations", "too few iterations"],
)
def test_sizes(bins: int, n: int, has: bool) -> None:
    kernel, data = histogram(bins, n=n)
    found = same(kernel, data, grid=Grid(2, 8))
    assert bool(copied(found.modules[0])) == has
    assert "atomicrmw fadd" in found.modules[0].text


def test_a_number_of_iterations_that_is_not_known_is_taken_to_be_large() -> None:
    k = Building()
    at, h, n = k.field("at", N, type=i32), k.field("h", 37), k.param("n", i32)
    with k.loop("i", 0, n) as loop:
        k.accumulate(h, k.load(at, loop.i), 1.0)
    kernel = marked_parallel(k.kernel())
    data = {"at": RANDOM.integers(0, 37, N, dtype=np.int32), "h": np.zeros(37)}
    for count in (0, 3, N):
        assert copied(same(kernel, data, count, grid=Grid(2, 8)).modules[0])


@pytest.mark.parametrize("what", ["value before", "other operation", "read", "stored"])
def test_memories_with_which_more_is_done(what: str) -> None:
    k = Building()
    at, h, y = k.field("at", N, type=i32), k.field("h", 37, type=i32), k.field("y", N, type=i32)
    with k.loop("i", 0, N) as loop:
        place = k.load(at, loop.i)
        if what == "value before":
            k.store(y, loop.i, k.swap_in(h, place, 1))
        else:
            k.accumulate(h, place, loop.i, op="max" if what == "other operation" else "add")
        if what == "read":
            k.store(y, loop.i, k.load(h, 36))
        if what == "stored":
            k.store(h, 36, 5)
    data = {
        "at": RANDOM.integers(0, 36, N, dtype=np.int32),
        "h": np.zeros(37, np.int32),
        "y": np.zeros(N, np.int32),
    }
    found = launched(marked_parallel(k.kernel()), data, grid=Grid(2, 8))
    assert copied(found.modules[0]) == 0


@pytest.mark.parametrize(("strides", "has"), [((1, 5), True), ((0, 1), True), ((-4, 1), False)], ids=str)
def test_memories_that_are_not_in_c_order(strides: tuple[int, int], has: bool) -> None:
    k = Building()
    at, h = k.field("at", N, type=i32), k.field("h", 5, 4)
    with k.loop("i", 0, N) as loop:
        k.accumulate(h, k.load(at, loop.i), 1, 1.0)
    kernel = marked_parallel(k.kernel())
    key = next(m.key for m in kernel.memories if m.name == "h")
    assert bool(copied(emit_kernel(kernel, strides={key: strides}))) == has
    if strides == (1, 5):
        data = {"at": RANDOM.integers(0, 5, N, dtype=np.int32), "h": np.zeros((5, 4), order="F")}
        found = launched(kernel, data, grid=Grid(2, 8), strides={key: strides})
        assert np.array_equal(found.arrays["h"][:, 1], np.bincount(data["at"], minlength=5))


# faults put into the text on purpose --------------------------------------------------------------


def at_step(step: str, change: Change) -> Change:
    """`change` in the text of one step."""

    def changed(module: GridModule) -> GridModule:
        at = module.text.index(f"@task_0_{step}(ptr noalias")
        rest = change(module._replace(text=module.text[at:]))
        return module._replace(text=module.text[:at] + rest.text)

    return changed


SHORTER = replaced(r"icmp slt i64 (%x\d+), 37", r"icmp slt i64 \1, 36", slice(0, 1))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize(
    "change",
    [
        replaced(re.escape(BARRIER), "", slice(0, 1)),
        replaced(re.escape(BARRIER), "", slice(1, 2)),
        replaced(r"call void @task_0_clear\(.*\n", ""),
        replaced(r"call void @task_0_flush\(.*\n", ""),
        at_step("clear", SHORTER),
        at_step("flush", SHORTER),
        at_step("flush", replaced(r"phi i64 \[ %tid, ", "phi i64 [ 1, ", slice(0, 1))),
    ],
    ids=[
        "no barrier before",
        "no barrier after",
        "not zeroed",
        "not added",
        "the last not zeroed",
        "the last not added",
        "added by each thread",
    ],
)
def test_faults_are_found(change: Change, grid: Grid) -> None:
    assert not is_wrong(*histogram(), unchanged, grid)
    assert is_wrong(*histogram(), change, grid)


@pytest.mark.parametrize("which", [0, 1], ids=["before", "after"])
def test_a_missing_barrier_of_real_threads(which: int) -> None:
    """Sooner or later a thread begins before others are ready."""
    program, grid = histogram(), Grid(2, 16, real=True)
    change = replaced(re.escape(BARRIER), "", slice(which, which + 1))
    assert not any(is_wrong(*program, unchanged, grid) for _ in range(5))
    assert any(is_wrong(*program, change, grid) for _ in range(100))
