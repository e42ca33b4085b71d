"""Private buffers and undo logs in grid form: from a pool, of which each thread has its part."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.faults import Fault
from dsim.ir.nodes import Append, Compact, KernelIR, LogMark, Memory, RollBack, UndoLog
from dsim.ir.types import f32, f64, i8, i32, i64
from tests.backends.llvm.grid import on_cpu
from tests.backends.llvm.grid.launching import Grid, launched, same
from tests.building import Building, marked_parallel

pytestmark = pytest.mark.usefixtures("quick_code")

RANDOM = np.random.default_rng(13)
N = 67

each_grid = pytest.mark.parametrize("grid", [Grid(2, 2), Grid(4, 8)], ids=str)


@each_grid
@pytest.mark.parametrize("size", [3, 900])
def test_buffers_of_a_size_known_when_compiled(grid: Grid, size: int) -> None:
    k = Building()
    x, y = k.field("x", N), k.field("y", N)
    with k.loop("i", 0, N) as loop:
        b = k.buffer("b", size)
        with k.loop("j", 0, size) as inner:
            k.accumulate(b, inner.i, k.load(x, loop.i) * 2.0)
        k.store(y, loop.i, k.load(b, 0) + k.load(b, size - 1))
    found = same(marked_parallel(k.kernel()), {"x": RANDOM.random(N), "y": np.zeros(N)}, grid=grid)
    assert ("@dsim_alloc(" in found.modules[0].text) == (size == 900)


@pytest.mark.parametrize("dtype", [f64, f32, i8], ids=str)
def test_each_element_takes_a_word_of_the_pool(dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    k = Building()
    x, y = k.field("x", N, type=dtype), k.field("y", N, type=dtype)
    with k.loop("i", 0, N) as loop:
        b = k.buffer("b", 1100, type=dtype)
        k.store(b, 1099, k.load(x, loop.i))
        k.store(y, loop.i, k.load(b, 1099) + k.load(b, 0))
    kernel, grid = marked_parallel(k.kernel()), Grid(2, 2)
    data = {"x": np.arange(N).astype(dtype.numpy), "y": np.zeros(N, dtype.numpy)}
    monkeypatch.setattr(on_cpu, "POOL_BYTES", 4 * 8 * 1100)
    assert np.array_equal(launched(kernel, data, grid=grid).arrays["y"], data["x"])
    monkeypatch.setattr(on_cpu, "POOL_BYTES", 4 * 8 * 1100 - 8)
    with pytest.raises(Fault) as fault:
        launched(kernel, data, grid=grid)
    assert fault.value.kind == "memory"


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """What a launch leaves in its pool."""
    kept = np.zeros(on_cpu.POOL_BYTES // 8, np.uint64)
    after = on_cpu._after

    def keep(f, module, memory, returns) -> None:
        f.module.declare("llvm.memcpy", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        to = f"ptr inttoptr (i64 {kept.ctypes.data} to ptr)"
        f.do(f"call void @llvm.memcpy.p0.p0.i64({to}, ptr {memory['pool']}, i64 {kept.nbytes}, i1 false)")
        after(f, module, memory, returns)

    monkeypatch.setattr(on_cpu, "_after", keep)
    return kept


@pytest.mark.parametrize("dtype", [f64, f32, i32, i8], ids=str)
def test_the_words_of_threads_lie_side_by_side(dtype, pool: np.ndarray) -> None:
    k = Building()
    y, n = k.field("y", 4, type=dtype), k.param("n", i32)
    with k.loop("i", 0, 4) as loop:
        b = k.buffer("b", n, 3, type=dtype)
        number = k.term(k.value(1, dtype)) + loop.i.cast(dtype)
        with k.loop("j", 0, n) as inner, k.loop("l", 0, 3) as last:
            k.store(b, inner.i, last.i, number)
        k.store(y, loop.i, k.load(b, 0, 0))
    data = {"y": np.zeros(4, dtype.numpy)}
    found = launched(marked_parallel(k.kernel()), data, 50, grid=Grid(2, 2)).arrays["y"]
    assert found.tolist() == [1, 2, 3, 4]
    words = pool[: 4 * 150].view(dtype.numpy)[:: 8 // dtype.numpy.itemsize]
    assert words.tolist() == [1, 2, 3, 4] * 150


@each_grid
def test_undo_logs_of_threads_lie_side_by_side(grid: Grid, pool: np.ndarray) -> None:
    launched(marked_parallel(_Logged(5).kernel()), {"x": RANDOM.random((N, 8)), "y": np.zeros(N)}, grid=grid)
    threads = grid.blocks * grid.threads
    each = pool.size // threads // 2 * 2
    room = pool[: each * threads].reshape(each, threads)[-2 * 16 :]  # for 16 entries of two words
    rows = room[: 2 * 5 : 2] // np.uint64(8 * 8)  # the row of each entry's place, of 8 numbers
    assert (rows % np.uint64(threads) == np.arange(threads)).all()


@each_grid
def test_buffers_of_lengths_that_data_give_one_in_another(grid: Grid) -> None:
    k = Building()
    x, y = k.field("x", N, type=i32), k.field("y", N)
    with k.loop("i", 0, N) as loop:
        n = k.load(x, loop.i)
        a = k.buffer("a", n)
        with k.loop("j", 0, n) as outer:
            b = k.buffer("b", outer.i + 1, type=f32)
            with k.loop("l", 0, outer.i + 1) as inner:
                k.accumulate(b, inner.i, k.term(k.value(1, f32)))
            k.accumulate(a, outer.i, k.term(k.value(1.0)))
        with k.loop("m", 0, n, s=0.0) as summed:
            summed.then(s=summed.s + k.load(a, summed.i))
        k.store(y, loop.i, summed.out("s"))
    lengths = RANDOM.integers(0, 40, N, dtype=np.int32)
    found = same(marked_parallel(k.kernel()), {"x": lengths, "y": np.zeros(N)}, grid=grid)
    assert np.array_equal(found.arrays["y"], lengths)


@each_grid
def test_buffers_of_several_tasks(grid: Grid) -> None:
    k = Building()
    x, y, n = k.field("x", N), k.field("y", N), k.param("n", i32)
    b, c = k.buffer("b", n, 2), k.buffer("c", 5, type=i8)
    with k.loop("i", 0, N) as first:
        k.accumulate(b, first.i, 1, k.load(x, first.i))
    with k.loop("j", 0, N) as second:
        zero = k.load(b, second.i, 0) + k.load(b, second.i, 1)
        nothing = k.load(c, 4)
        k.branch(nothing < k.term(k.value(1, i8)), lambda: k.store(y, second.i, zero))
    found = same(marked_parallel(k.kernel()), {"x": RANDOM.random(N), "y": np.zeros(N)}, N, grid=grid)
    assert found.kinds == ["serial", "parallel"] * 2 + ["parallel"] * 2


class _Logged(Building):
    """``y[i]`` after each thread has written, logged, compacted and rolled back its own elements of `x`."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        x, y = self.field("x", N, 8), self.field("y", N)
        with self.loop("i", 0, N) as loop:
            log = Memory("x_log", f64, (None,), private=True)
            self.add(UndoLog(log, x))
            start = self.fresh("start", i64)
            self.add(LogMark(start, log))
            with self.loop("j", 0, writes) as inner:
                at = inner.i.op("mod", self.term(self.value(8)))
                self.add(Append(log, x, (loop.i.atom, at.atom)))
                self.store(x, loop.i, at, self.load(x, loop.i, at) * 1.5 + 1.0)
            self.add(Compact(log, x, start))
            self.store(y, loop.i, self.load(x, loop.i, 3))
            self.add(RollBack(log, x, start))


@each_grid
@pytest.mark.parametrize("writes", [5, 100])
def test_undo_logs(grid: Grid, writes: int) -> None:
    x_data = RANDOM.random((N, 8))
    found = same(marked_parallel(_Logged(writes).kernel()), {"x": x_data, "y": np.zeros(N)}, grid=grid)
    assert np.array_equal(found.arrays["x"], x_data)
    assert not np.array_equal(found.arrays["y"], x_data[:, 3])


def test_the_more_threads_the_smaller_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, data = marked_parallel(_Logged(100).kernel()), {"x": RANDOM.random((N, 8)), "y": np.zeros(N)}
    monkeypatch.setattr(on_cpu, "POOL_BYTES", 4 * 8192)  # four threads log a hundred entries, 32 do not
    same(kernel, data, grid=Grid(2, 2))
    with pytest.raises(Fault) as fault:
        launched(kernel, data, grid=Grid(4, 8))
    assert fault.value.kind == "memory"
    assert isinstance(fault.value.statement, Append)


def test_nothing_runs_after_memory_was_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cpu, "POOL_BYTES", 1 << 16)
    for inside in (True, False):
        k = Building()
        x, y, s, n = k.field("x", N), k.field("y", N), k.field("s"), k.param("n", i32)
        b = None if inside else k.buffer("b", n)
        with k.loop("i", 0, N) as loop:
            mine = k.buffer("mine", n) if b is None else b
            k.store(mine, 0 if inside else loop.i, 1.0)
            k.store(x, loop.i, 1.0)
        with k.loop("j", 0, N) as other:
            k.store(y, other.i, 1.0)
            k.accumulate(s, k.load(x, other.i) + 1.0)
        k.store(y, 0, 2.0)
        kernel, data = marked_parallel(k.kernel()), {"x": np.zeros(N), "y": np.zeros(N), "s": np.array(0.0)}
        if b is not None:  # a buffer that nothing reads goes
            assert launched(kernel, data, N, grid=Grid(2, 2)).arrays["s"] == 2.0 * N
        with pytest.raises(Fault) as fault:
            _in_place(kernel, data, 1 << 20)
        assert fault.value.kind == "memory"
        assert fault.value.values == (1 << 20,)
        assert not any(a.any() for a in data.values())


def _in_place(kernel: KernelIR, arrays: dict[str, np.ndarray], *args: object) -> None:
    with on_cpu.grid_form(Grid(2, 2)):
        compile_kernel(kernel).bind({m.key: arrays[m.name] for m in kernel.memories})(*args)
