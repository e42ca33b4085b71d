"""Faults put into the text on purpose: running it on this processor finds each of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dsim.backends.llvm.grid.module import GridModule
from dsim.ir.nodes import KernelIR
from dsim.ir.types import i32
from tests.backends.llvm.grid.launching import GRIDS, Buffers, Grid, alone, launched
from tests.backends.llvm.grid.on_cpu import Change
from tests.building import Building, marked_parallel

pytestmark = pytest.mark.usefixtures("quick_code")

N = 5003
LARGEST = Grid(1024, 1024)  # so that each step of both kernels adds something
BARRIER = "call void @dsim_barrier(ptr %barrier)\n"


def is_wrong(kernel: KernelIR, data: Buffers, change: Change, grid: Grid) -> bool:
    """Whether a launch in grid form leaves other values than one in the processor's own."""
    wanted, found = alone(kernel, data).arrays, launched(kernel, data, grid=grid, change=change).arrays
    return not all(np.allclose(found[name], wanted[name], rtol=1e-9) for name in wanted)


def replaced(pattern: str, by: str, which: slice = slice(None)) -> Change:
    """Replaces matches of `pattern` in the text, those of the given numbers."""

    def change(module: GridModule) -> GridModule:
        places = list(re.finditer(pattern, module.text))[which]
        assert places, f"there is no {pattern}"
        text = module.text
        for found in reversed(places):
            text = text[: found.start()] + found.expand(by) + text[found.end() :]
        return module._replace(text=text)

    return change


def unchanged(module: GridModule) -> GridModule:
    return module


def doubled() -> tuple[KernelIR, Buffers]:
    k = Building()
    x = k.field("x", N)
    with k.loop("i", 0, N) as loop:
        k.accumulate(x, loop.i, k.load(x, loop.i))
    return marked_parallel(k.kernel()), {"x": np.arange(N, dtype=float)}


def summed() -> tuple[KernelIR, Buffers]:
    k, n = Building(), LARGEST.blocks * LARGEST.threads
    x, s, top = k.field("x", n), k.field("s"), k.field("top")
    with k.loop("i", 0, n) as loop:
        v = k.load(x, loop.i)
        k.accumulate(s, v)
        k.accumulate(top, v, op="max")
    x_data = np.random.default_rng(15).random(n)
    return marked_parallel(k.kernel()), {"x": x_data, "s": np.array(0.0), "top": np.array(0.0)}


@pytest.mark.parametrize("program", [doubled, summed])
def test_nothing_is_wrong_without_a_fault(program) -> None:
    for grid in (*GRIDS, LARGEST):
        assert not is_wrong(*program(), unchanged, grid)


@pytest.mark.parametrize(
    ("stride", "finds"),
    [
        ("mul i64 %ntid, 1", [True, True]),
        ("mul i64 %ncta, %ncta", [False, True]),
        ("mul i64 32, 1", [True, False]),
        ("add i64 %ncta, %ntid", [False, True]),
    ],
)
def test_a_wrong_stride_is_found_by_one_of_two_grids(stride: str, finds: list[bool]) -> None:
    change = replaced(r"mul i64 %ncta, %ntid", stride)
    assert [is_wrong(*doubled(), change, grid) for grid in GRIDS] == finds


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("distance", [1, 3, -1])
def test_iterations_that_depend_on_their_order(grid: Grid, distance: int) -> None:
    n = grid.blocks * grid.threads  # no thread runs two of them
    k = Building()
    x = k.field("x", n + 6)
    with k.loop("i", 3, n + 3) as loop:
        k.store(x, loop.i + distance, k.load(x, loop.i) + 1.0)
    assert is_wrong(marked_parallel(k.kernel()), {"x": np.arange(n + 6.0) ** 2}, unchanged, grid)


@pytest.mark.parametrize("which", [0, 1, 5, 9, 10, 11, 16, 19])  # ten in each of the two kernels
def test_a_missing_barrier(which: int) -> None:
    change = replaced(re.escape(BARRIER), "", slice(which, which + 1))
    assert is_wrong(*summed(), change, LARGEST)


@pytest.mark.parametrize("half", [512, 1])
@pytest.mark.parametrize("kernel", [0, 1])
def test_a_dropped_sum_of_threads(half: int, kernel: int) -> None:
    change = replaced(rf"call void @task_0_fold\(i64 {half}, .*\n", "", slice(kernel, kernel + 1))
    assert is_wrong(*summed(), change, LARGEST)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_a_dropped_sum_of_a_block(grid: Grid) -> None:
    def change(module: GridModule) -> GridModule:
        at = module.text.index("@task_0_gather(")
        rest = replaced(r"phi i64 \[ %tid, ", "phi i64 [ %ntid, ", slice(0, 1))(
            module._replace(text=module.text[at:])
        )
        return module._replace(text=module.text[:at] + rest.text)

    assert is_wrong(*summed(), change, grid)


def test_a_dropped_sum_of_iterations() -> None:
    """Those that a thread has summed before it widened them."""

    def change(module: GridModule) -> GridModule:
        at = module.text.index("@task_0_part(")
        rest = replaced(r"fadd .* double (%x\d+), (%x\d+)", r"fadd double 0.0, \2", slice(0, 1))(
            module._replace(text=module.text[at:])
        )
        return module._replace(text=module.text[:at] + rest.text)

    assert is_wrong(*summed(), change, Grid(1, 1))


def test_a_buffer_that_is_not_zeroed() -> None:
    k = Building()
    y, b = k.field("y", N), k.buffer("b", N)
    with k.loop("i", 0, N) as loop:
        k.accumulate(b, loop.i, 1.0)
    with k.loop("j", 0, N) as other:
        k.store(y, other.i, k.load(b, other.i))
    kernel, data = marked_parallel(k.kernel()), {"y": np.zeros(N)}

    def change(module: GridModule) -> GridModule:
        return module._replace(kernels=tuple(k for k in module.kernels if not k.name.endswith("_zeros")))

    assert not is_wrong(kernel, data, unchanged, Grid(2, 2))
    assert is_wrong(kernel, data, change, Grid(2, 2))


PLAIN_ADD = r"\1_a = load i32, ptr \2, align 4\n\1_b = add i32 \1_a, \3\nstore i32 \1_b, ptr \2, align 4"


def test_an_atomic_that_is_a_plain_addition() -> None:
    k = Building()
    at, h = k.field("at", N * 40, type=i32), k.field("h", 2, type=i32)
    with k.loop("i", 0, N * 40) as loop:
        k.accumulate(h, k.load(at, loop.i), 1)
    kernel, grid = marked_parallel(k.kernel()), Grid(1, 16, real=True)
    data = {"at": np.zeros(N * 40, np.int32), "h": np.zeros(2, np.int32)}
    change = replaced(r"(%x\d+) = atomicrmw add ptr (%x\d+), i32 (\S+) monotonic", PLAIN_ADD)
    assert not any(is_wrong(kernel, data, unchanged, grid) for _ in range(5))
    assert any(
        is_wrong(kernel, data, change, grid) for _ in range(100)
    )  # sooner or later two threads collide
