"""What threads of a grid report: indices out of bounds, violated asserts, and prints."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.analysis.effects import effects
from dsim.backends.faults import Fault
from dsim.backends.llvm.grid import prints
from dsim.ir.nodes import Accumulate, Load, Store
from dsim.ir.types import f32, i32
from tests.backends.llvm.grid import on_cpu
from tests.backends.llvm.grid.launching import Grid, launched
from tests.building import Building, marked_parallel

pytestmark = pytest.mark.usefixtures("quick_code")

N = 67

each_grid = pytest.mark.parametrize("grid", [Grid(2, 2), Grid(4, 8), Grid(2, 16, real=True)], ids=str)


@each_grid
@pytest.mark.parametrize("kind", [Load, Store, Accumulate])
def test_an_index_out_of_bounds(grid: Grid, kind: type) -> None:
    k = Building()
    at, y, g = k.field("at", N, type=i32), k.field("y", N), k.field("g", 5)
    with k.loop("i", 0, N) as loop:
        place = k.load(at, loop.i)
        if kind is Load:
            k.store(y, loop.i, k.load(g, place))
        elif kind is Store:
            k.store(y, place, 1.0)
        else:
            k.accumulate(g, place, 1.0)
    kernel = marked_parallel(k.kernel())
    at_data = np.arange(N, dtype=np.int32) % 5
    data = {"at": at_data, "y": np.zeros(N), "g": np.zeros(5)}
    known = bounds(kernel, effects(kernel))
    launched(kernel, data, grid=grid, bounds=known)
    at_data[40] = 700
    with pytest.raises(Fault) as fault:
        launched(kernel, data, grid=grid, bounds=known)
    assert fault.value.kind == "bounds"
    assert isinstance(fault.value.statement, kind)
    assert fault.value.values == (700,)


@each_grid
def test_a_violated_assert(grid: Grid) -> None:
    k = Building()
    x, y = k.field("x", N), k.field("y", N)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        k.insist(v < 1.0, "too large: ", v, " at ", loop.i)
        k.store(y, loop.i, 1.0)
    x_data = np.zeros(N)
    x_data[33] = 2.5
    with pytest.raises(Fault) as fault:
        launched(marked_parallel(k.kernel()), {"x": x_data, "y": np.zeros(N)}, grid=grid)
    assert fault.value.kind == "assertion"
    assert fault.value.values == (2.5, 33)


@each_grid
def test_prints(grid: Grid, capsys: pytest.CaptureFixture[str]) -> None:
    k = Building()
    x = k.field("x", N, type=f32)
    k.say("begin")
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        k.branch(v > 0.5, lambda: k.say("at ", loop.i, ": ", v))
    k.say("end")
    x_data = np.random.default_rng(14).random(N).astype("f")
    found = launched(marked_parallel(k.kernel()), {"x": x_data}, grid=grid)
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert (first, last) == ("begin", "end")
    assert sorted(lines) == sorted(f"at {i}: {v!s}" for i, v in enumerate(x_data) if v > 0.5)
    assert found.kinds == ["serial", "parallel", "serial"]


@pytest.mark.parametrize("words", [0, 1, 6, 7, 8, 9, 300])
def test_prints_that_do_not_fit_are_left_out(
    words: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    k = Building()
    with k.loop("i", 0, 10) as loop:
        k.say("", loop.i, " ", loop.i + 100)
        k.branch(loop.i > 1, lambda: k.say("-"))
    monkeypatch.setattr(on_cpu, "PRINT_WORDS", words)
    monkeypatch.setattr(on_cpu, "_filled", _with_stale_words)
    launched(marked_parallel(k.kernel()), {}, grid=Grid(1, 1))
    lines = [line for i in range(10) for line in (f"{i} {i + 100}", *("-" for _ in range(i > 1)))]
    sizes = [1 if line == "-" else 3 for line in lines]
    fit = [line for at, line in enumerate(lines) if sum(sizes[: at + 1]) <= words]
    assert capsys.readouterr().out.splitlines() == fit


def _with_stale_words(f, size: int) -> str:
    """Memory in which prints of another launch seem to stand."""
    at = f.call("ptr", "malloc", f"i64 {size}")
    f.do(f"call void @llvm.memset.p0.i64(ptr align 16 {at}, i8 1, i64 {size}, i1 false)")
    return at


def test_rows_of_a_buffer() -> None:
    assert list(prints.rows([], 5)) == []
    assert list(prints.rows([3, 1 + (1 << 32), 7, 0, 9], 11)) == [(2, ()), (0, (7,))]
