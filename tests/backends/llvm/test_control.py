"""Control flow, memories and buffers in machine code equal those of the readable Python."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.ir.nodes import AccumulateOp, KernelIR, Memory
from dsim.ir.term import Term
from dsim.ir.types import BY_NAME, f32, f64, i32, i64, u1, u8
from tests.building import Building, Loop, Value

RANDOM = np.random.default_rng(3)


def filled(m: Memory) -> np.ndarray:
    shape = tuple(n or 0 for n in m.shape)
    if m.type.is_float:
        return RANDOM.normal(size=shape).astype(m.type.numpy)
    return RANDOM.integers(0, 2 if m.type == u1 else 5, size=shape).astype(m.type.numpy)


def agree(kernel: KernelIR, *args: object, **given: object) -> tuple:
    """Runs `kernel` both ways on equal buffers, checked and unchecked; what it returns."""
    start = {m.key: np.array(given.get(m.name, filled(m)), m.type.numpy) for m in kernel.memories}
    wanted = {key: a.copy() for key, a in start.items()}
    expected = run(kernel, wanted, args)
    for known in (None, bounds(kernel)):
        arrays = {key: a.copy() for key, a in start.items()}
        returned = compile_kernel(kernel, known).bind(arrays)(*args)
        np.testing.assert_allclose(np.array(returned, float), np.array(expected, float), rtol=1e-6)
        for key, a in arrays.items():
            np.testing.assert_allclose(a, wanted[key], rtol=1e-5, atol=1e-6, err_msg=str(key))
    return expected


def test_straight_line_and_returns() -> None:
    k = Building()
    a, n = k.param("a"), k.param("n", i32)
    x = k.field("x", 3)
    k.store(x, 1, a * 2.0 + n.cast(f64))
    assert agree(k.kernel(a + 1.0, 7, n, True), 2.5, 3) == (3.5, 7, 3, True)


@pytest.mark.parametrize(
    "name", ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u1"]
)
def test_parameters_memories_and_returns_of_every_type(name: str) -> None:
    t = BY_NAME[name]
    k = Building()
    a, x = k.param("a", t), k.field("x", 4, type=t)
    v = k.load(x, 2)
    k.store(x, 0, a)
    agree(k.kernel(v, a), t.numpy.type(1).item())


def test_carried_values_in_nested_loops() -> None:
    k = Building()
    x, n = k.field("x", 6, 5), k.param("n", i32)
    with k.loop("i", 0, n, s=0.0, p=1.0) as outer:
        with k.loop("j", 0, 5, t=outer.s) as inner:
            inner.then(t=inner.t + k.load(x, outer.i, inner.i))
        outer.then(s=inner.out("t") * 0.5, p=outer.p + outer.s)
    kernel = k.kernel(outer.out("s"), outer.out("p"))
    for trips in (0, 1, 6):
        agree(kernel, trips)


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 10, 3), (9, -1, -2), (5, 5, 1), (7, 2, 1), (2, 7, -1)]
)
def test_steps(start: int, stop: int, step: int) -> None:
    k = Building()
    x = k.field("x", 10)
    first, last = k.param("first", i32), k.param("last", i32)
    with k.loop("i", first, last, step=step, n=0) as loop:
        k.store(x, loop.i, loop.n.cast(f64))
        loop.then(n=loop.n + 1)
    assert agree(k.kernel(loop.out("n")), start, stop) == (len(range(start, stop, step)),)


@pytest.mark.parametrize("kind", ["i64", "u8", "u32"])
def test_an_index_of_another_type(kind: str) -> None:
    t = BY_NAME[kind]
    k = Building()
    x, n = k.field("x", 10), k.param("n", t)
    with k.loop("i", k.term(k.value(2, t)), n) as loop:
        k.accumulate(x, loop.i, loop.i.cast(f64))
    agree(k.kernel(), 9)


def test_a_loop_that_stops_early() -> None:
    k = Building()
    x = k.field("x", 10)
    with k.loop("i", 0, 10, goes_on="go", go=True, n=0) as loop:
        k.store(x, loop.i, 1.0)
        loop.then(go=loop.i < 4, n=loop.n + 1)
    assert agree(k.kernel(loop.out("n"))) == (5,)


def test_while() -> None:
    k = Building()
    n = k.param("n", i32)

    def goes(loop: Loop) -> Term:
        return loop.p < 1000

    with k.repeat(goes, p=n, count=0) as loop:
        loop.then(p=loop.p * loop.p, count=loop.count + 1)
    assert agree(k.kernel(loop.out("p"), loop.out("count")), 2) == (65536, 4)


def test_branches_yield_and_write() -> None:
    k = Building()
    x, y = k.field("x", 8), k.field("y", 8)
    with k.loop("i", 0, 8) as loop:
        v = k.load(x, loop.i)

        def then() -> tuple[Value, ...]:
            k.store(y, loop.i, v)
            return (v * 2.0, 1)

        def orelse() -> tuple[Value, ...]:
            inner = k.branch(v < -1.0, lambda: (v,), lambda: (v - 1.0,))
            return (inner[0], 0)

        a, b = k.branch(v > 0.0, then, orelse)
        k.accumulate(y, loop.i, a + b.cast(f64))
    agree(k.kernel())


def test_accumulations_of_all_operations_and_the_value_before() -> None:
    k = Building()
    x = k.field("x", 4, type=i32)
    ops: tuple[AccumulateOp, ...] = ("add", "mul", "min", "max", "band", "bor", "bxor")
    olds = [k.swap_in(x, i % 4, 3 + i, op=op) for i, op in enumerate(ops)]
    agree(k.kernel(*olds))


def test_private_buffers() -> None:
    k = Building()
    x, n = k.field("x", 5), k.param("n", i32)
    with k.loop("i", 0, 5) as loop:
        small = k.buffer("small", 4)
        large = k.buffer("large", 40, 30)
        dynamic = k.buffer("dynamic", n, 2)
        own = k.buffer("own", loop.i + 1)
        k.accumulate(small, 1, k.load(x, loop.i))
        k.accumulate(large, 39, 29, k.load(small, 1) + k.load(small, 2))
        k.accumulate(dynamic, n - 1, 1, k.load(large, 39, 29) + k.load(large, 1, 1))
        k.accumulate(own, loop.i, k.load(dynamic, n - 1, 1))
        k.store(x, loop.i, k.load(own, loop.i) + k.load(dynamic, 0, 0) + k.load(own, 0))
    agree(k.kernel(), 300)


def test_a_large_buffer_is_not_on_the_stack() -> None:
    k = Building(float_type=f32)
    x, n = k.field("x", 1), k.param("n", i32)
    big = k.buffer("big", n, 1024)
    with k.loop("i", 0, n) as loop:
        k.store(big, loop.i, 5, 1.0)
    k.store(x, 0, k.load(big, n - 1, 5) + k.load(big, n - 1, 6))
    kernel = k.kernel()
    out = np.zeros(1, np.float32)
    compile_kernel(kernel).bind({("x", ()): out})(20_000)
    assert out[0] == 1.0


def test_bools_and_bytes_in_memory() -> None:
    k = Building()
    flags, bytes_ = k.field("flags", 6, type=u1), k.field("bytes", 6, type=u8)
    with k.loop("i", 0, 6) as loop:
        flag = k.load(flags, loop.i)
        k.store(flags, loop.i, flag.op("bnot"))
        k.branch(flag, lambda: k.accumulate(bytes_, loop.i, 250))
    agree(k.kernel())


def test_a_field_without_axes_and_vector_entries() -> None:
    k = Building()
    s, x = k.field("s"), k.field("x", 3, 2, entries=1)
    with k.loop("i", 0, 3) as loop:
        k.accumulate(s, k.load(x, loop.i, 0) * k.load(x, loop.i, 1))
    agree(k.kernel())


def test_integers_wrap_and_do_not_trap() -> None:
    k = Building()
    a, b = k.param("a", i32), k.param("b", i32)
    kernel = k.kernel(a + b, a * b, a.op("floordiv", b), a.op("mod", b), -a)
    for pair in ((2**31 - 1, 1), (-(2**31), -1), (5, 0), (-7, 2), (7, -2)):
        agree(kernel, *pair)


def test_wide_indices() -> None:
    k = Building()
    x, n = k.field("x", 4, type=i64), k.param("n", i32)
    with k.loop("i", 0, 4) as loop:
        k.store(x, 3 - loop.i, (loop.i * 2 - n).cast(i64))
        k.accumulate(x, (loop.i + n) * 1 - n, 10)
    agree(k.kernel(), 3)


def test_other_strides() -> None:
    k = Building()
    x = k.field("x", 4, 2)
    with k.loop("i", 0, 4) as loop:
        k.store(x, loop.i, 1, k.load(x, loop.i, 0) + 1.0)
        k.accumulate(x, loop.i, 0, 5.0)
    kernel = k.kernel()
    data = np.asfortranarray(RANDOM.normal(size=(4, 2)))
    wanted = data.copy("C")
    run(kernel, {x.key: wanted})
    compile_kernel(kernel, strides={x.key: (1, 4)}).bind({x.key: data})()
    np.testing.assert_allclose(data, wanted)
    with pytest.raises(ValueError, match="not contiguous"):
        compile_kernel(kernel).bind({x.key: data})


def test_stop_leaves_the_value() -> None:
    k = Building()
    a = k.param("a")
    assert agree(k.kernel(a.op("stop")), 4.0) == (4.0,)


def test_empty_kernel() -> None:
    assert agree(Building().kernel()) == ()
