"""Launches: error reports, printed output, refused buffers."""

from __future__ import annotations

import ctypes
import io
import sys

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.backends.cpu import variant
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.cpu.target import vector_variants
from dsim.backends.faults import Fault
from dsim.backends.llvm import frame
from dsim.ir.nodes import Accumulate, Alloc, Assert, KernelIR, Load, Memory, Store
from dsim.ir.types import f32, f64, i32, u1
from tests.building import Building, marked_parallel


def gather(parallel: bool = False, n: int = 6) -> KernelIR:
    k = Building()
    x, at, y = k.field("x", 4), k.field("at", n, type=i32), k.field("y", n)
    with k.loop("i", 0, n) as loop:
        k.store(y, loop.i, k.load(x, k.load(at, loop.i)))
    return marked_parallel(k.kernel()) if parallel else k.kernel()


def lengths(m: Memory) -> tuple[int, ...]:
    return tuple(n for n in m.shape if n is not None)


def launch(kernel: KernelIR, *args: object, **given: object) -> dict[str, np.ndarray]:
    arrays = {
        m.name: np.array(given.get(m.name, np.zeros(lengths(m))), m.type.numpy) for m in kernel.memories
    }
    launcher = compile_kernel(kernel, bounds(kernel), threads=2).bind(
        {m.key: arrays[m.name] for m in kernel.memories}
    )
    try:
        launcher(*args)
    except Fault as fault:
        fault.arrays = arrays  # type: ignore[attr-defined]
        raise
    return arrays


@pytest.mark.parametrize("bad", [4, -1, 2**31 - 1, -(2**31)])
def test_a_load_out_of_bounds(bad: int) -> None:
    with pytest.raises(Fault) as caught:
        launch(gather(), x=[1, 2, 3, 4], at=[0, 1, bad, 3, 2, 0])
    assert (caught.value.kind, caught.value.values) == ("bounds", (bad,))
    assert isinstance(caught.value.statement, Load)
    assert caught.value.statement.memory.name == "x"
    clamped = 4 if bad > 0 else 1
    assert caught.value.arrays["y"].tolist() == [1, 2, clamped, 4, 3, 1]  # type: ignore[attr-defined]


def test_the_first_of_several_faults_in_threads() -> None:
    n = 50_000
    with pytest.raises(Fault) as caught:
        launch(gather(True, n), x=[1, 2, 3, 4], at=np.full(n, 9))
    assert caught.value.values == (9,)


def test_stores_and_accumulations_out_of_bounds_are_left_out() -> None:
    k = Building()
    x, at = k.field("x", 3, 2), k.param("at", i32)
    k.store(x, 0, 0, 1.0)
    k.store(x, at, 1, 5.0)
    k.accumulate(x, 1, at, 7.0)
    kernel = k.kernel()
    with pytest.raises(Fault) as caught:
        launch(kernel, 3)
    assert isinstance(caught.value.statement, Store)
    assert caught.value.values == (3, 1)
    assert caught.value.arrays["x"].tolist() == [[1, 0], [0, 0], [0, 0]]  # type: ignore[attr-defined]
    with pytest.raises(Fault) as caught:
        launch(kernel, 2)
    assert isinstance(caught.value.statement, Accumulate)
    assert launch(kernel, 1)["x"].tolist() == [[1, 0], [0, 12], [0, 0]]


def test_conditions_on_the_arguments_choose_the_checked_variant() -> None:
    k = Building()
    x, n = k.field("x", 5), k.param("n", i32)
    with k.loop("i", 0, n) as loop:
        k.store(x, loop.i, 1.0)
    kernel = k.kernel()
    known = bounds(kernel)
    assert set(known.sites.values()) == {"launch"}
    compiled = compile_kernel(kernel, known)
    x_data = np.zeros(5)
    launcher = compiled.bind({x.key: x_data})
    launcher(5)
    assert x_data.all()
    assert list(compiled._variants) == [False]
    with pytest.raises(Fault) as caught:
        launcher(6)
    assert caught.value.values == (5,)
    launcher(4)
    assert list(compiled._variants) == [False, True]


def test_an_assertion_with_its_values() -> None:
    k = Building()
    n, a, flag = k.param("n", i32), k.param("a", f32), k.param("flag", u1)
    k.insist(n > 0, "n is ", n, " and a is ", a, flag)
    kernel = k.kernel()
    launch(kernel, 1, 0.5, True)
    with pytest.raises(Fault) as caught:
        launch(kernel, -3, 0.5, True)
    assert caught.value.kind == "assertion"
    assert caught.value.values == (-3, 0.5, True)
    assert isinstance(caught.value.statement, Assert)


@pytest.mark.parametrize("width", [1 << 10, 1 << 30])
def test_a_buffer_that_is_too_large(width: int) -> None:
    k = Building()
    x, n = k.field("x", 4), k.param("n", i32)
    with k.loop("i", 0, 4) as loop:
        big = k.buffer("big", n, n, width)
        k.store(big, 0, 0, 0, 1.0)
        k.store(x, loop.i, k.load(big, 0, 0, 0))
    kernel = k.kernel()
    if width == 1 << 10:
        assert launch(kernel, 1)["x"].tolist() == [1] * 4
    with pytest.raises(Fault) as caught:
        launch(kernel, 2**31 - 1)
    assert caught.value.kind == "memory"
    assert caught.value.values == (2**31 - 1, 2**31 - 1, width)
    assert isinstance(caught.value.statement, Alloc)


def test_a_large_buffer_can_be_made_again_and_again() -> None:
    k = Building()
    x, n = k.field("x", 1), k.param("n", i32)
    with k.loop("i", 0, 3) as loop:
        big = k.buffer("big", n + loop.i)
        k.accumulate(x, 0, k.load(big, n - 1))
    kernel = k.kernel()
    for _ in range(3):
        launch(kernel, 10_000_000)


def test_prints(capsys: pytest.CaptureFixture[str]) -> None:
    k = Building()
    a, flag = k.param("a", f32), k.param("flag", u1)
    with k.loop("i", 0, 3) as loop:
        k.say("i = ", loop.i, ", a = ", a, " ", flag)
    launch(k.kernel(), 0.1, True)
    assert capsys.readouterr().out == "".join(f"i = {i}, a = 0.1 True\n" for i in range(3))


def test_prints_of_threads_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    k = Building()
    with k.loop("i", 0, 100) as loop:
        k.say("a", loop.i, "b")
    launch(marked_parallel(k.kernel()))
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"a{i}b" for i in range(100))


def test_an_exception_while_printing_comes_out_after_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.StringIO):
        def write(self, s: str) -> int:
            raise KeyboardInterrupt

    k = Building()
    x = k.field("x", 1)
    k.say("hello")
    k.store(x, 0, 1.0)
    kernel = k.kernel()
    x_data = np.zeros(1)
    launcher = compile_kernel(kernel).bind({x.key: x_data})
    with monkeypatch.context() as m:
        m.setattr(sys, "stdout", Broken())
        with pytest.raises(KeyboardInterrupt):
            launcher()
    assert x_data[0] == 1
    launcher()


def test_buffers_that_do_not_fit() -> None:
    k = Building()
    x, y = k.field("x", 4), k.field("y", 4)
    k.store(y, 0, k.load(x, 1))
    compiled = compile_kernel(k.kernel())
    good = np.zeros(4)
    with pytest.raises(ValueError, match="x is float64"):
        compiled.bind({x.key: np.zeros(4, np.float32), y.key: good})
    with pytest.raises(ValueError, match=r"\(4,\)"):
        compiled.bind({x.key: np.zeros(5), y.key: good})
    with pytest.raises(ValueError, match="overlap"):
        compiled.bind({x.key: good, y.key: good})
    both = np.zeros(6)
    with pytest.raises(ValueError, match="overlap"):
        compiled.bind({x.key: both[:4], y.key: both[2:]})
    k = Building()
    x, y, z = k.field("x", 9), k.field("y", 2), k.field("z", 2)
    k.store(z, 0, k.load(x, 1) + k.load(y, 1))
    long, three = np.zeros(9), compile_kernel(k.kernel())
    with pytest.raises(ValueError, match="x and z overlap"):  # with another one that is read in between
        three.bind({x.key: long, y.key: long[2:4], z.key: long[5:7]})
    three.bind({x.key: long, y.key: long[2:4], z.key: np.zeros(2)})()
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled.bind({x.key: good, y.key: frozen})
    compiled.bind({x.key: frozen, y.key: good})()


def test_arguments_are_converted_or_refused() -> None:
    k = Building()
    n, a = k.param("n", i32), k.param("a", f32)
    launcher = compile_kernel(k.kernel(n, a.cast(f64))).bind({})
    assert launcher(3, 2) == (3, 2.0)
    assert launcher(np.int64(3), np.float32(0.5)) == (3, 0.5)
    assert launcher(2**32 + 5, 1e300) == (5, np.inf)
    with pytest.raises(TypeError, match="i32"):
        launcher(0.5, 1.0)
    with pytest.raises(TypeError, match=r"k\(\) missing 1 required"):
        launcher(1)


def test_equal_kernels_share_machine_code() -> None:
    def make() -> KernelIR:
        k = Building()
        a = k.param("a")
        return k.kernel(a * 2.0)

    first, second = compile_kernel(make()), compile_kernel(make())
    assert first.variant(checked=False).code is second.variant(checked=False).code
    assert "define" in first.llvm
    assert "ret" in first.asm


def test_sines_in_a_loop_are_vectors() -> None:
    k = Building(float_type=f32)
    x = k.field("x", 1024)
    with k.loop("i", 0, 1024) as loop:
        k.store(x, loop.i, k.load(x, loop.i).op("sin").op("exp"))
    compiled = compile_kernel(k.kernel())
    if vector_variants("sinf", f32, 1):  # of this machine's glibc
        assert "@_ZGV" in compiled.llvm.split("define", 1)[1]


def test_a_frame_that_outlives_its_module_is_freed_quietly(monkeypatch):
    """When Python ends, it sets the variables of modules to None before it deletes the last objects."""
    noticed = []
    monkeypatch.setattr(sys, "unraisablehook", noticed.append)
    slots = (ctypes.c_int64 * (frame.SCRATCH_SIZE + 1))()
    made = variant.LaunchFrame(slots, [])
    monkeypatch.setattr(frame, "SCRATCH", None)
    monkeypatch.setattr(variant, "_free", None)
    del made
    assert noticed == []
