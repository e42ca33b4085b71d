"""Copies that are fused into a parallel loop: each row has the values before the loop, or after it."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.cpu.launch import Launcher
from dsim.backends.cpu.machine import CpuMachine, compile_kernel
from dsim.backends.cpu.replay import LaunchTable
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

    assert plain.copied(X)
    buffers = {X: x.copy(), ("y", ()): y}
    first = Launcher(plain.copying(X, 1, 1), buffers)
    second = Launcher(plain.copying(X, 0, 2), buffers)
    memory = np.full(6 * size + 256, 0xEE, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    table = LaunchTable([(first, (0.5, size, 3, 3 * size, 3)), (second, (0.25, 0, 3, 4 * size, 3))])
    table.run(memory.ctypes.data + begin)
    rows = [memory[begin + n * size :][:size].tobytes() for n in range(5)]
    assert buffers[X].tobytes() == expected[2].tobytes()
    assert rows[1] == expected[0].tobytes()
    assert rows[3] == expected[1].tobytes()
    assert rows[0] == rows[4] == expected[2].tobytes()
    assert (memory[:begin] == 0xEE).all()
    assert (memory[begin + 2 * size : begin + 3 * size] == 0xEE).all()
    assert (memory[begin + 5 * size :] == 0xEE).all()


def scattered(how: str, shape: tuple[int, ...] = (N,)) -> KernelIR:
    """Each iteration touches parts of x that others touch, or leaves out parts at the ends.

    - "sums": adds to both neighbours and itself; "sums behind": to two that come later.
    - "shifted": writes to the next part only.
    - "reads": reads both neighbours, and adds to those of y, too: x's part runs in two phases.
    """
    k = Building(float_type=f64)
    x, y = k.field("x", *shape), k.field("y", *shape)
    with k.loop("i", 2, shape[0] - 3) as loop, k.loop("j", 0, shape[1] if shape[1:] else 1) as inner:
        i, more = loop.i, (inner.i,) * len(shape[1:])
        for d in {"sums": (-1, 0, 1), "sums behind": (2, 3), "shifted": (1,), "reads": (-1, 1)}[how]:
            if how == "reads":
                k.accumulate(y, i + d, *more, k.load(x, i - d, *more))
            else:
                k.accumulate(x, i + d, *more, k.load(y, i, *more) * d)
    return marked_parallel(k.kernel())


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("offset", [0, 8, 56])
@pytest.mark.parametrize("shape", [(N,), (300, 301), (100, 1024), (41, 5000), (48, 9000), (20_000, 3)])
@pytest.mark.parametrize("how", ["sums", "sums behind", "shifted", "reads"])
def test_a_loop_copies_ahead_of_its_reach(
    how: str, shape: tuple[int, ...], offset: int, threads: int
) -> None:
    kernel = scattered(how, shape)
    x, y = (RANDOM.normal(size=shape) for _ in range(2))
    plain, own, other = compile_kernel(kernel, threads=threads), x.copy(), y.copy()
    plain.bind({X: own, ("y", ()): other})()

    reach = plain.copied(X)
    assert reach is not None
    assert not reach.once
    buffers = {X: x.copy(), ("y", ()): y.copy()}
    size = -(-x.nbytes // 64) * 64  # rows of one position in their cache lines: pieces end at equal places
    memory = np.full(4 * size + 256, 0xEE, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    args = (0, 3, size, 1, 2 * size, 2)
    LaunchTable([(Launcher(plain.copying(X, 3, 0), buffers), args)]).run(memory.ctypes.data + begin)
    assert np.allclose(buffers[X], own, rtol=1e-14, atol=1e-14)
    assert np.allclose(buffers[("y", ())], other, rtol=1e-14, atol=1e-14)
    rows = [memory[begin + n * size :][: x.nbytes] for n in range(3)]
    assert rows[0].tobytes() == x.tobytes()
    made = [row == x.reshape(-1).view(np.uint8) for row in rows[1:]]
    assert (made[0] | made[1]).all()
    assert 0.4 < made[0].mean() < 0.6 or x.nbytes < 16_384
    assert (memory[:begin] == 0xEE).all()
    assert (memory[begin + 2 * size + x.nbytes :] == 0xEE).all()


@pytest.mark.parametrize("offset", [0, 8, 16, 56])
@pytest.mark.parametrize("shape", [(N,), (300, 301), (N, 3), (8, 9_000)])
def test_two_loops_share_a_copy(shape: tuple[int, ...], offset: int) -> None:
    """Whatever their chunks: one is run by two threads, the other one by five."""
    x, y = (RANDOM.normal(size=shape) for _ in range(2))
    before, buffers = x.copy(), {X: x, ("y", ()): y}
    k = Building(float_type=f64)
    a, b = k.field("x", *shape), k.field("y", *shape)
    with k.loop("i", 0, shape[0]) as loop, k.loop("j", 0, shape[1] if shape[1:] else 1) as inner:
        at = loop.i, *(inner.i,) * len(shape[1:])
        k.store(b, *at, k.load(a, *at) * 3.0)
    reads = compile_kernel(marked_parallel(k.kernel()), threads=5).copying(X, 1, 0)
    first, second = Launcher(reads, buffers), Launcher(machine(grown(shape)).copying(X, 1, 0), buffers)
    memory = np.full(3 * x.nbytes + 256, 0xEE, np.uint8)
    begin, size = -memory.ctypes.data % 64 + offset, x.nbytes
    LaunchTable([(first, (0, 1)), (second, (0.5, 0, 2))]).run(memory.ctypes.data + begin)
    between = x.copy()
    LaunchTable([(first, (size, 2)), (second, (0.5, size, 1))]).run(memory.ctypes.data + begin)
    assert memory[begin:][:size].tobytes() == before.tobytes()
    assert memory[begin + size :][:size].tobytes() == between.tobytes()


def test_another_run_of_the_table_finds_the_rows_elsewhere() -> None:
    x, rows = RANDOM.normal(size=N), np.zeros((2, N))
    buffers = {X: x, ("y", ()): np.zeros(N)}
    table = LaunchTable([(Launcher(machine(grown()).copying(X, 1, 0), buffers), (0.5, 0, 3))])
    begin = x.copy()
    for row in rows:
        table.run(row.ctypes.data)
    assert np.array_equal(rows, [begin, 0.5 * begin])


def test_the_stores_are_non_temporal() -> None:
    assert "dsim_stream" in machine(grown()).copying(X, 1, 0).llvm
    assert "dsim_stream" not in machine(grown()).llvm


def unfit(what: str) -> KernelIR:
    """Kernels that touch half of x only, an element, more than their own part, or twice, or sum something."""
    k = Building(float_type=f64)
    x, y, s = k.field("x", N), k.field("y", N), k.field("s")
    with k.loop("i", 0, N // 2 if what == "a half" else N) as loop:
        i = loop.i
        at = {"neighbours": i + 1, "backwards": N - 1 - i}.get(what, i)
        if what == "a sum":
            k.accumulate(s, k.load(x, i))
        else:
            k.store(y, i, k.load(x, at))
    if what == "two loops":
        with k.loop("j", 0, N) as loop:
            k.store(x, loop.i, k.load(y, loop.i))
    if what == "an element":
        k.store(y, 0, k.load(x, 5))
    return marked_parallel(k.kernel())


@pytest.mark.parametrize("what", ["a half", "neighbours", "backwards", "a sum", "two loops", "an element"])
def test_what_does_not_fit(what: str) -> None:
    assert not machine(unfit(what)).copied(X)


def test_what_else_does_not_fit() -> None:
    assert machine(grown()).copied(("y", ()))
    assert not machine(grown()).copied(("z", ()))
    assert not machine(unfit("a sum")).copied(("s", ()))  # it has no axis
    assert not compile_kernel(grown(), threads=1).copied(X)  # there is no parallel task
    assert not compile_kernel(grown(), threads=2, strides={X: (2,)}).copied(X)
