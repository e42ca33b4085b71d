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

    assert plain.fits_copies(X)
    buffers = {X: x.copy(), ("y", ()): y}
    first = Launcher(plain.copying(X, 1, 1), buffers)
    second = Launcher(plain.copying(X, 0, 2), buffers)
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
    table = LaunchTable([(Launcher(machine(grown()).copying(X, 1, 0), buffers), (0.5, 0))])
    begin = x.copy()
    for row in rows:
        table.run(row.ctypes.data)
    assert np.array_equal(rows, [begin, 0.5 * begin])


def test_the_stores_are_non_temporal() -> None:
    assert "dsim_stream" in machine(grown()).copying(X, 1, 0).llvm
    assert "dsim_stream" not in machine(grown()).llvm


def unfit(what: str) -> KernelIR:
    """Kernels that touch only a part of x, more than their own part, or twice, or sum something."""
    k = Building(float_type=f64)
    x, y, s = k.field("x", N), k.field("y", N), k.field("s")
    start, stop = (1, N) if what == "from 1" else (0, N - 1) if what == "to N - 1" else (0, N)
    with k.loop("i", start, stop) as loop:
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


@pytest.mark.parametrize(
    "what", ["from 1", "to N - 1", "neighbours", "backwards", "a sum", "two loops", "an element"]
)
def test_what_does_not_fit(what: str) -> None:
    assert not machine(unfit(what)).fits_copies(X)


def test_what_else_does_not_fit() -> None:
    assert machine(grown()).fits_copies(("y", ()))
    assert not machine(grown()).fits_copies(("z", ()))
    assert not compile_kernel(grown(), threads=1).fits_copies(X)  # there is no parallel task
    assert not compile_kernel(grown(), threads=2, strides={X: (2,)}).fits_copies(X)
