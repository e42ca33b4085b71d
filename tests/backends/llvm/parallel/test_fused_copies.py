"""Copies that are fused into a parallel loop: each row has the values before the loop, or after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dsim.backends.cpu.launch import Launcher
from dsim.backends.cpu.machine import CpuMachine, compile_kernel
from dsim.backends.cpu.replay import LaunchTable
from dsim.backends.llvm.kernel import Half
from dsim.ir.nodes import KernelIR
from dsim.ir.types import ScalarType, f16, f32, f64
from tests.building import Building, marked_parallel

RANDOM = np.random.default_rng(11)
N = 40_009
X = ("x", ())


def grown(shape: tuple[int, ...] = (N,), dtype: ScalarType = f64) -> KernelIR:
    """``x = x * a + y`` for each element."""
    k = Building(float_type=dtype)
    a = k.param("a", dtype)
    x, y = k.field("x", *shape), k.field("y", *shape)
    with k.loop("i", 0, shape[0]) as loop:
        if len(shape) == 1:
            k.store(x, loop.i, k.load(x, loop.i) * a + k.load(y, loop.i))
        else:
            with k.loop("j", 0, shape[1]) as inner:
                k.store(x, loop.i, inner.i, k.load(x, loop.i, inner.i) * a + k.load(y, loop.i, inner.i))
    return marked_parallel(k.kernel())


def machine(kernel: KernelIR, *, deterministic: bool = False) -> CpuMachine:
    return compile_kernel(kernel, threads=2, deterministic=deterministic)


def copying(m: CpuMachine, before: Sequence[Half], after: Sequence[Half] = ()) -> CpuMachine:
    reach = m.reach(X)
    assert reach is not None
    return m.copying(X, reach, before, after)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("offset", [0, 8, 16, 64, 72])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((N,), f64), ((N,), f32), ((N,), f16), ((N, 3), f64), ((100, 501), f32), ((8, 9_000), f64), ((3,), f64)],
)
def test_rows_have_the_values_before_and_after(
    shape: tuple[int, ...], dtype: ScalarType, offset: int, deterministic: bool
) -> None:
    x, y = (RANDOM.normal(size=shape).astype(dtype.numpy) for _ in range(2))
    plain, own, size = machine(grown(shape, dtype), deterministic=deterministic), x.copy(), x.nbytes
    plain.bind({X: own, ("y", ()): y})(0.5)
    expected = [x, own.copy()]
    plain.bind({X: own, ("y", ()): y})(0.25)
    expected.append(own.copy())

    buffers = {X: x.copy(), ("y", ()): y}
    first = Launcher(copying(plain, [None], [None]), buffers)
    second = Launcher(copying(plain, [], [None, None]), buffers)
    memory = np.full(6 * size + 256, 0xEE, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    table = LaunchTable([(first, (0.5, size, 3 * size)), (second, (0.25, 0, 4 * size))])
    table.run(memory.ctypes.data + begin)
    rows = [memory[begin + n * size :][:size].tobytes() for n in range(5)]
    assert buffers[X].tobytes() == expected[2].tobytes()
    assert rows[1] == expected[0].tobytes()
    assert rows[3] == expected[1].tobytes()
    assert rows[0] == rows[4] == expected[2].tobytes()
    assert (memory[:begin] == 0xEE).all()
    assert (memory[begin + 2 * size : begin + 3 * size] == 0xEE).all()
    assert (memory[begin + 5 * size :] == 0xEE).all()


def test_another_run_of_the_table_finds_the_rows_elsewhere() -> None:
    x, rows = RANDOM.normal(size=N), np.zeros((2, N))
    buffers = {X: x, ("y", ()): np.zeros(N)}
    table = LaunchTable([(Launcher(copying(machine(grown()), [None]), buffers), (0.5, 0))])
    begin = x.copy()
    for row in rows:
        table.run(row.ctypes.data)
    assert np.array_equal(rows, [begin, 0.5 * begin])


def test_the_stores_are_non_temporal() -> None:
    assert "dsim_stream" in copying(machine(grown()), [None]).llvm
    assert "dsim_stream" not in machine(grown()).llvm


@pytest.mark.parametrize("offset", [0, 8, 40])
@pytest.mark.parametrize("shape", [(N,), (501, 40), (20, 5_000), (2, 7)])
def test_two_kernels_copy_half_of_a_row_each(shape: tuple[int, ...], offset: int) -> None:
    """Neither writes to the half of the other, and both together copy all."""
    x = RANDOM.normal(size=shape)
    buffers, size = {X: x.copy(), ("y", ()): np.zeros(shape)}, x.nbytes
    memory = np.full((3, size + 128), 0xEE, np.uint8)
    begins = [-row.ctypes.data % 64 + offset for row in memory]
    places = [row.ctypes.data + begin - memory.ctypes.data for row, begin in zip(memory, begins, strict=True)]
    plain = machine(grown(shape))
    first, second = Launcher(copying(plain, [0, 0]), buffers), Launcher(copying(plain, [1], [1]), buffers)
    table = LaunchTable([(first, (1.0, places[0], places[1])), (second, (0.5, places[0], places[2]))])
    table.run(memory.ctypes.data)
    assert memory[0][begins[0] :][:size].tobytes() == x.tobytes()
    low, high = (row[begin:][:size] for row, begin in zip(memory[1:], begins[1:], strict=True))
    expected = [x.view(np.uint8).ravel(), (0.5 * x).view(np.uint8).ravel()]
    written = [np.repeat((half.reshape(-1, 8) != 0xEE).any(1), 8) for half in (low, high)]
    for half, whole, where in zip((low, high), expected, written, strict=True):
        assert np.array_equal(half[where], whole[where])
    if size > 4096:
        assert all(0.3 < where.mean() < 0.7 for where in written)


def reaching(what: str, rows: int, columns: int) -> KernelIR:
    """Kernels whose iterations touch other rows of `x` than that of their number, or of `y` beside it."""
    k = Building(float_type=f64)
    x, y = k.field("x", rows, columns), k.field("y", rows, columns)
    if what == "beside":
        with k.loop("i", 1, rows - 1) as loop, k.loop("j", 0, columns) as inner:
            i, j = loop.i, inner.i
            k.store(x, i, j, k.load(x, i, j) * 0.5)
            for offset in (-1, 0, 1):
                k.accumulate(y, i + offset, j, k.load(x, i, j))
        return marked_parallel(k.kernel())
    if what == "guarded":  # where it would be outside of the memory
        with k.loop("i", 0, rows) as loop, k.loop("j", 0, columns) as inner:
            i, j = loop.i, inner.i
            k.branch(i > 5, lambda: k.accumulate(x, i - 6, j, k.load(y, i, j)))
        return marked_parallel(k.kernel())
    start, stop, adds, reads = {
        "inside": (2, rows - 1, [0], []),
        "neighbours": (1, rows - 1, [-1, 0, 1], []),
        "one side": (0, rows - 3, [1, 3], []),
        "shifted": (3, rows, [-3], []),
        "nothing": (5, rows - 5, [], [-5, 0, 4]),
        "a part": (rows // 2, rows // 2 + 5, [-1, 1], []),
    }[what]
    with k.loop("i", start, stop) as loop, k.loop("j", 0, columns) as inner:
        i, j = loop.i, inner.i
        for offset in adds:
            k.accumulate(x, i + offset, j, k.load(y, i, j) * (offset + 2))
        for offset in reads:
            k.accumulate(y, i, j, k.load(x, i + offset, j))
    return marked_parallel(k.kernel())


REACHES = ["inside", "neighbours", "one side", "shifted", "nothing", "a part", "beside", "guarded"]


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(300, 100), (41, 1_000), (12, 3), (5_000, 3)])
@pytest.mark.parametrize("what", REACHES)
def test_what_reaches_other_rows(what: str, rows: int, columns: int, deterministic: bool) -> None:
    x, y = (RANDOM.normal(size=(rows, columns)) for _ in range(2))
    plain, own, other = (
        machine(reaching(what, rows, columns), deterministic=deterministic),
        x.copy(),
        y.copy(),
    )
    plain.bind({X: own, ("y", ()): other})()
    reach = plain.reach(X)
    assert reach is not None
    buffers = {X: x.copy(), ("y", ()): y.copy()}
    settled = [None] if reach.settled else []
    copies = Launcher(copying(plain, [None, 0, 1], settled), buffers)
    memory = np.full((5, *x.shape), 7.25)
    places = [row.ctypes.data - memory.ctypes.data for row in memory[1:4]]
    table = LaunchTable([(copies, (places[0], places[1], places[1], *places[2 : 2 + len(settled)]))])
    table.run(memory.ctypes.data)
    assert buffers[X].tobytes() == own.tobytes()
    assert buffers["y", ()].tobytes() == other.tobytes()
    assert memory[1].tobytes() == memory[2].tobytes() == x.tobytes()
    assert memory[3].tobytes() == (own if settled else memory[0]).tobytes()
    assert (memory[[0, 4]] == 7.25).all()


def test_what_neighbours_share_is_ready_too_late_to_be_copied_after() -> None:
    reaches = {what: machine(reaching(what, 300, 100)).reach(X) for what in REACHES}
    assert reaches == {
        "inside": (2, 2, True),
        "neighbours": (0, 2, False),
        "one side": (1, 3, False),
        "shifted": (0, 0, True),
        "nothing": (5, 5, True),
        "a part": (149, 151, False),
        "beside": (1, 1, False),
        "guarded": (-6, -6, True),
    }


def unfit(what: str) -> KernelIR:
    """Kernels that touch x backwards, or twice, or sum something, also in a register."""
    k = Building(float_type=f64)
    x, y, s = k.field("x", N), k.field("y", N), k.field("s")
    with k.loop("i", 1, N - 1) as loop:
        i = loop.i
        if what == "a sum":
            k.accumulate(s, k.load(x, i))
        elif what == "neighbours":
            for offset in (-1, 0, 1):
                k.accumulate(x, i + offset, k.load(y, i))
        elif what == "of another one, and shared ones":
            for at in (i - 1, i, i + 1, 5):
                k.accumulate(y, at, k.load(x, i))
        elif what == "of another one":
            for offset in (-1, 0, 1):
                k.accumulate(y, i + offset, k.load(x, i))
        else:
            k.store(y, i, k.load(x, N - 1 - i if what == "backwards" else i))
    if what == "two loops":
        with k.loop("j", 0, N) as loop:
            k.store(x, loop.i, k.load(y, loop.i))
    if what == "an element":
        k.store(y, 0, k.load(x, 5))
    return marked_parallel(k.kernel())


@pytest.mark.parametrize(
    "what",
    [
        "backwards",
        "a sum",
        "neighbours",
        "of another one",
        "of another one, and shared ones",
        "two loops",
        "an element",
    ],
)
def test_what_does_not_fit(what: str) -> None:
    assert machine(unfit(what)).reach(X) is None


def test_another_part_of_a_row_that_another_iteration_reads_does_not_fit() -> None:
    """It could be changed before that chunk copies it."""
    k = Building(float_type=f64)
    x = k.field("x", 300, 2, 200)
    with k.loop("i", 0, 299) as loop, k.loop("j", 0, 200) as inner:
        k.store(x, loop.i, 0, inner.i, k.load(x, loop.i + 1, 1, inner.i))
    assert machine(marked_parallel(k.kernel())).reach(X) is None


def test_what_else_does_not_fit() -> None:
    assert machine(grown()).reach(("y", ())) == (0, 0, True)
    assert machine(unfit("")).reach(X) == (1, 1, True)
    assert machine(grown()).reach(("z", ())) is None
    assert compile_kernel(grown(), threads=1).reach(X) is None  # there is no parallel task
    assert compile_kernel(grown(), threads=2, strides={X: (2,)}).reach(X) is None
