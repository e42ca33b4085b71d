"""Parallel loops give the results of one thread, reproducibly, under every write plan."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np
import pytest

from dsim.analysis.write_plans import write_plan
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.llvm.parallel.plans import chunk_count, schedule
from dsim.ir.nodes import For, KernelIR
from dsim.ir.types import ScalarType, f32, f64, i8, i32, i64
from tests.building import Building, marked_parallel

RANDOM = np.random.default_rng(5)
N = 60_000
Buffers = dict[str, np.ndarray]


def plans(kernel: KernelIR) -> dict[str, str]:
    loop = next(s for s in kernel.body.statements if isinstance(s, For))
    return {key[0]: plan.kind for key, plan in write_plan(kernel, loop).items()}


def launched(kernel: KernelIR, buffers: Buffers, *args: object, threads: int = 1) -> tuple[Buffers, tuple]:
    arrays = {m.name: buffers[m.name].copy() for m in kernel.memories}
    compiled = compile_kernel(kernel, threads=threads)
    returned = compiled.bind({m.key: arrays[m.name] for m in kernel.memories})(*args)
    return arrays, returned


def same(kernel: KernelIR, buffers: Buffers, *args: object, rtol: float = 2e-6, threads: int = 2) -> tuple:
    """Runs serially and in parallel, twice; what the parallel run returns."""
    kernel = marked_parallel(kernel)
    alone, wanted = launched(kernel, buffers, *args)
    once, got = launched(kernel, buffers, *args, threads=threads)
    again, got_again = launched(kernel, buffers, *args, threads=threads)
    np.testing.assert_allclose(np.array(got, float), np.array(wanted, float), rtol=rtol)
    assert got == got_again
    for name in alone:
        np.testing.assert_allclose(once[name], alone[name], rtol=rtol, atol=rtol, err_msg=name)
        assert np.array_equal(once[name], again[name]), f"{name} differs from run to run"
    return got


def test_plain_stores() -> None:
    k = Building(float_type=f32)
    x, y = k.field("x", N), k.field("y", N)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        k.store(y, loop.i, v.op("sin") * v + 1.0)
    same(k.kernel(), {"x": RANDOM.normal(size=N).astype("f"), "y": np.zeros(N, "f")})


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, N, 1), (N - 1, -1, -1), (5, N, 7), (0, 0, 1), (9, 3, 2)]
)
def test_every_iteration_runs_once(start: int, stop: int, step: int) -> None:
    k = Building()
    y, first, last = k.field("y", N), k.param("first", i32), k.param("last", i32)
    with k.loop("i", first, last, step=step) as loop:
        k.accumulate(y, loop.i, 1.0)
    arrays, _ = launched(marked_parallel(k.kernel()), {"y": np.zeros(N)}, start, stop, threads=2)
    wanted = np.zeros(N)
    wanted[np.arange(start, stop, step)] = 1
    assert np.array_equal(arrays["y"], wanted)


@pytest.mark.parametrize("t", [f32, f64, i32, i64], ids=str)
def test_reductions(t) -> None:
    k = Building(float_type=f64)
    x, s = k.field("x", N, type=t), k.field("s", 3, type=t)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        k.accumulate(s, 0, v)
        k.branch(v > k.term(k.value(0, t)), lambda: k.accumulate(s, 2, v * v))
    kernel = k.kernel()
    assert plans(marked_parallel(kernel)) == {"s": "reduce"}
    x_data = (RANDOM.normal(size=N) * 9).astype(t.numpy)
    same(kernel, {"x": x_data, "s": np.full(3, 2, t.numpy)}, rtol=1e-3 if t == f32 else 1e-12)


def test_a_sum_of_floats_is_precise() -> None:
    n = 1_000_000
    k = Building(float_type=f32)
    x, s = k.field("x", n), k.field("s")
    with k.loop("i", 0, n) as loop:
        k.accumulate(s, k.load(x, loop.i))
    x_data = RANDOM.random(n).astype("f")
    arrays, _ = launched(marked_parallel(k.kernel()), {"x": x_data, "s": np.zeros((), "f")}, threads=2)
    assert abs(arrays["s"] - x_data.sum(dtype=np.float64)) < 1e-6 * n


@pytest.mark.parametrize("op", ["add", "mul", "min", "max", "band", "bor", "bxor"])
def test_reductions_of_every_operation(op) -> None:
    k = Building()
    x, s = k.field("x", N, type=i32), k.field("s", type=i32)
    with k.loop("i", 0, N) as loop:
        k.accumulate(s, k.load(x, loop.i), op=op)
    same(k.kernel(), {"x": RANDOM.integers(-9999, 9999, N, dtype=np.int32), "s": np.array(5, np.int32)})


@pytest.mark.parametrize("op", ["min", "max", "mul"])
def test_reductions_of_floats(op) -> None:
    k = Building()
    x, s = k.field("x", N), k.field("s")
    with k.loop("i", 0, N) as loop:
        k.accumulate(s, k.load(x, loop.i), op=op)
    same(k.kernel(), {"x": 1 + RANDOM.normal(size=N) * 1e-3, "s": np.array(1.5)}, rtol=1e-9)


def test_carried_sums() -> None:
    k = Building(float_type=f32)
    x, n = k.field("x", N), k.param("n", i32)
    with k.loop("i", 0, n, s=2.5, c=7, top=-1e9) as loop:
        v = k.load(x, loop.i)
        loop.then(s=loop.s + v, c=loop.c - loop.i, top=loop.top.op("max", v))
    kernel = k.kernel(loop.out("s"), loop.out("c"), loop.out("top"))
    data = {"x": RANDOM.random(N).astype("f")}
    same(kernel, data, N, rtol=1e-5)
    assert same(kernel, data, 0) == (2.5, 7, np.float32(-1e9))


def test_windows() -> None:
    k = Building()
    x, y = k.field("x", N), k.field("y", N + 4)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        for offset in (0, 1, 4):
            k.accumulate(y, loop.i + offset, v * (offset + 1.0))
    kernel = k.kernel()
    assert plans(marked_parallel(kernel)) == {"y": "window"}
    same(kernel, {"x": RANDOM.normal(size=N), "y": np.zeros(N + 4)}, rtol=1e-12)


def test_windows_with_sums() -> None:
    k = Building()
    x, y, s = k.field("x", N), k.field("y", N + 2), k.field("s")
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        k.accumulate(y, loop.i, v)
        k.accumulate(y, loop.i + 2, v)
        k.accumulate(s, v)
    same(k.kernel(), {"x": RANDOM.normal(size=N), "y": np.zeros(N + 2), "s": np.zeros(())}, rtol=1e-10)


def scatter(cells: int, t: ScalarType = f64) -> KernelIR:
    k = Building(float_type=t)
    x, at, y = k.field("x", N), k.field("at", N, type=i32), k.field("y", cells, 2, entries=1)
    with k.loop("i", 0, N) as loop:
        v, j = k.load(x, loop.i), k.load(at, loop.i)
        k.accumulate(y, j, 0, v)
        k.accumulate(y, j, 1, v * v.op("exp"))
    return k.kernel()


def scattered(cells: int, t: ScalarType = f64) -> Buffers:
    return {
        "x": RANDOM.normal(size=N).astype(t.numpy),
        "at": RANDOM.integers(0, cells, N, dtype=np.int32),
        "y": np.ones((cells, 2), t.numpy),
    }


def test_private_copies() -> None:
    kernel = scatter(100)
    assert plans(marked_parallel(kernel)) == {"y": "private"}
    same(kernel, scattered(100), rtol=1e-10)


@pytest.mark.parametrize("what", ["load", "store", "old value", "old value alone"])
def test_sums_that_their_iteration_reads_are_not_in_a_copy(what: str) -> None:
    """Each iteration adds to elements of all, and to one of its own, which it reads or sets as well."""
    n, k = N // 3, Building()
    y, z = k.field("y", n + 2), k.field("z", n)
    with k.loop("i", 0, n) as loop:
        own = loop.i + 2
        k.accumulate(y, loop.i.op("mod", 2), 1.0)
        if what != "old value alone":
            k.accumulate(y, own, 3.0)
        if what == "load":
            k.store(z, loop.i, k.load(y, own))
        elif what == "store":
            k.store(y, own, 5.0)
            k.accumulate(y, own, 1.0)
        else:
            k.store(z, loop.i, k.swap_in(y, own, 2.0))
    assert plans(marked_parallel(k.kernel()))["y"] == "atomic"
    for threads in (2, 16):
        same(k.kernel(), {"y": np.arange(n + 2.0), "z": np.zeros(n)}, threads=threads)


def test_a_private_copy_of_a_part_that_a_parameter_chooses() -> None:
    k = Building()
    x, at, y, t = k.field("x", N), k.field("at", N, type=i32), k.field("y", 5, 50), k.param("t", i32)
    row = t + 1
    with k.loop("i", 0, N) as loop:
        k.accumulate(y, row, k.load(at, loop.i), k.load(x, loop.i))
    kernel = k.kernel()
    assert plans(marked_parallel(kernel)) == {"y": "private"}
    data = {
        "x": RANDOM.normal(size=N),
        "at": RANDOM.integers(0, 50, N, dtype=np.int32),
        "y": np.ones((5, 50)),
    }
    for step in (-1, 0, 3):
        same(kernel, data, step, rtol=1e-10)


@pytest.mark.parametrize("threads", [2, 16])
def test_a_scatter_that_is_too_large_for_copies(threads: int) -> None:
    kernel = marked_parallel(scatter(40_000))
    assert plans(kernel) == {"y": "atomic"}
    data = scattered(40_000)
    alone, _ = launched(kernel, data)
    shared, _ = launched(kernel, data, threads=threads)
    np.testing.assert_allclose(shared["y"], alone["y"], rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["add", "mul", "min", "max", "band", "bor", "bxor"])
@pytest.mark.parametrize("kind", ["i32", "f32", "i8"])
def test_atomics_of_every_operation(op, kind: str) -> None:
    t = {"i32": i32, "f32": f32, "i8": i8}[kind]
    if t.is_float and op[0] == "b":
        return
    k = Building()
    at, x, y = k.field("at", N, type=i32), k.field("x", N, type=t), k.field("y", 300_000, type=t)
    with k.loop("i", 0, N) as loop:
        k.accumulate(y, k.load(at, loop.i), k.load(x, loop.i), op=op)
    kernel = marked_parallel(k.kernel())
    data = {
        "at": RANDOM.integers(0, 20, N, dtype=np.int32),
        "x": RANDOM.integers(1, 3, N).astype(t.numpy) if op != "mul" else np.ones(N, t.numpy),
        "y": np.full(300_000, 2, t.numpy),
    }
    alone, _ = launched(kernel, data)
    shared, _ = launched(kernel, data, threads=16)
    np.testing.assert_allclose(shared["y"], alone["y"], rtol=1e-5)


def test_tasks_in_order_and_values_between_them() -> None:
    k = Building()
    x, s, n = k.field("x", N), k.field("s"), k.param("n", i32)
    scale = k.load(s) * 2.0
    with k.loop("i", 0, n) as first:
        k.store(x, first.i, first.i.cast(f64) * scale)
    with k.loop("i", 0, n) as second:
        k.accumulate(s, k.load(x, second.i))
    total = k.load(s)
    with k.loop("i", 0, n, c=total) as third:
        third.then(c=third.c + k.load(x, third.i) * total)
    same(k.kernel(third.out("c"), total, scale), {"x": np.zeros(N), "s": np.array(3.0)}, N, rtol=1e-12)


def test_buffers_between_tasks_and_inside_them() -> None:
    k = Building()
    x, n = k.field("x", N), k.param("n", i32)
    between = k.buffer("between", n, 2)
    with k.loop("i", 0, n) as first:
        own = k.buffer("own", 600)
        k.accumulate(own, 599, k.load(x, first.i))
        k.store(between, first.i, 1, k.load(own, 599) * 2.0 + k.load(own, 3))
    with k.loop("i", 0, n) as second:
        k.accumulate(x, second.i, k.load(between, second.i, 1) + k.load(between, second.i, 0))
    same(k.kernel(), {"x": RANDOM.normal(size=N)}, N)


def test_two_dimensional_loops_with_an_adjoint_of_both_indices() -> None:
    n = 400
    k = Building(float_type=f32)
    x, g = k.field("x", n), k.field("g", n)
    with k.loop("i", 0, n) as outer:
        with k.loop("j", 0, n, s=0.0) as inner:
            d = k.load(x, outer.i) - k.load(x, inner.i)
            k.accumulate(g, inner.i, -d)
            inner.then(s=inner.s + d)
        k.accumulate(g, outer.i, inner.out("s"))
    kernel = k.kernel()
    assert plans(marked_parallel(kernel)) == {"g": "private"}
    same(kernel, {"x": RANDOM.normal(size=n).astype("f"), "g": np.zeros(n, "f")}, rtol=1e-4)


def _big() -> tuple[KernelIR, Buffers]:
    return marked_parallel(scatter(64)), scattered(64)


def test_two_python_threads_at_once() -> None:
    kernel, data = _big()
    wanted, _ = launched(kernel, data, threads=2)
    found: list[Buffers] = []

    def work() -> None:
        found.extend(launched(kernel, data, threads=2)[0] for _ in range(20))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(found) == 40
    assert all(np.array_equal(f["y"], wanted["y"]) for f in found)


def test_one_launcher_from_two_threads() -> None:
    k = Building()
    a = k.param("a")
    with k.repeat(lambda loop: loop.n < 1000, n=0, s=a) as loop:
        loop.then(n=loop.n + 1, s=loop.s + a)
    launcher = compile_kernel(k.kernel(loop.out("s"))).bind({})
    wrong: list[object] = []

    def work(value: float) -> None:
        wrong.extend(value for _ in range(500) if launcher(value) != (value * 1001,))

    workers = [threading.Thread(target=work, args=(v,)) for v in (1.0, 2.0)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def _in_child(work: Callable[[], bool], answer: Connection) -> None:
    answer.send(work())


def test_a_forked_child_runs_alone() -> None:
    kernel, data = _big()
    wanted, _ = launched(kernel, data, threads=2)

    def work() -> bool:
        return np.array_equal(launched(kernel, data, threads=2)[0]["y"], wanted["y"])

    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_in_child, args=(work, there))
    child.start()
    assert here.poll(60)
    assert here.recv()
    child.join()
    assert child.exitcode == 0


@pytest.mark.parametrize(
    ("private", "trips", "threads", "chunks"),
    [(True, 1 << 20, n, chunks) for n, chunks in ((1, 16), (2, 4), (3, 8), (8, 16), (64, 16))]
    + [(False, 1 << 18, n, chunks) for n, chunks in ((1, 64), (2, 8), (3, 16), (64, 64))]
    + [(False, 1 << 24, 2, 64)],
)
def test_chunks_are_few_in_short_loops(private: bool, trips: int, threads: int, chunks: int) -> None:
    """With one thread: as many as for any number, which deterministic sums need."""
    k = Building()
    x, at, y = k.field("x", trips), k.field("at", trips, type=i32), k.field("y", 64 if private else trips)
    with k.loop("i", 0, trips) as loop:
        k.accumulate(y, k.load(at, loop.i) if private else loop.i, k.load(x, loop.i) * 2.0 + 1.0)
    kernel = marked_parallel(k.kernel())
    (loop,) = (s for s in kernel.body.statements if isinstance(s, For))
    found = schedule(kernel, loop, write_plan(kernel, loop), {}, {}, threads)
    assert found is not None
    assert chunk_count(trips, found) == chunks
