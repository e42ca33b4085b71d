"""Machine code is freed when nothing can launch it any more."""

import ctypes
import gc
import weakref
from collections import deque

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cpu import compiled
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.cpu.runtime import runtime
from dsim.ir.nodes import KernelIR
from tests.building import Building

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch):
    monkeypatch.setattr(compiled, "_RECENT", deque(maxlen=2))


def _times(factor: float) -> KernelIR:
    k = Building()
    a = k.param("a")
    return k.kernel(a * factor)


def test_code_goes_with_the_last_that_can_launch_it() -> None:
    first, second = compile_kernel(_times(1.25)), compile_kernel(_times(1.25))
    code = weakref.ref(first.variant(checked=False).code)
    launch = second.bind({})
    compiled._RECENT.clear()
    del first, second
    gc.collect()
    assert code() is not None
    assert launch(4.0) == (5.0,)
    del launch
    gc.collect()
    assert code() is None


def test_code_lives_as_long_as_a_function_that_runs_it() -> None:
    """Of two threads that compile the same at once, one keeps what no cache holds."""
    made = MachineCode("define i64 @dsim_entry(ptr %block) {\n  ret i64 7\n}\n", {})
    function, code = made.function(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)), weakref.ref(made)
    del made
    gc.collect()
    assert function(None) == 7
    del function
    gc.collect()
    assert code() is None


def test_of_many_kernels_the_last_ones_are_kept() -> None:
    gc.collect()
    before = len(compiled._CODE)
    for n in range(12):
        assert compile_kernel(_times(n + 0.125)).bind({})(8.0) == (8 * n + 1.0,)
    gc.collect()
    assert len(compiled._CODE) <= before + 2
    assert compile_kernel(_times(11.125)).variant(checked=False).code is compiled._RECENT[-1]


def test_the_code_of_a_kernel_and_its_derivatives_goes_with_the_kernel() -> None:
    ti.init(default_fp=ti.f64)
    x, y = ti.field(ti.f64, shape=8, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)
    x.from_numpy(np.arange(8.0))

    def run(factor: int) -> list[weakref.ref]:
        before = set(compiled._CODE.values())

        @ti.kernel
        def energy():
            for i in x:
                y[None] += ti.static(factor) * x[i] ** 3

        with ti.Tape(y):
            energy()
        with ti.ad.FwdMode(loss=y, param=x, seed=np.ones(8)):
            energy()
        assert x.grad.to_numpy().tolist() == (3.0 * factor * np.arange(8.0) ** 2).tolist()
        assert y.dual[None] == np.sum(3.0 * factor * np.arange(8.0) ** 2)
        return [weakref.ref(code) for code in set(compiled._CODE.values()) - before]

    found = [code for factor in range(3, 9) for code in run(factor)]
    run(2)
    gc.collect()
    assert len(found) >= 3 * 6
    assert sum(code() is not None for code in found) <= 2


def test_what_a_dropped_kernel_prints_is_forgotten(capsys) -> None:
    ti.init()

    def run() -> None:
        @ti.kernel
        def say():
            print("said once")

        say()

    run()
    gc.collect()
    for _ in range(5):
        run()
        gc.collect()
    assert not runtime()._printing
    assert capsys.readouterr().out == "said once\n" * 6


def test_the_listings_of_machine_code_are_made_when_asked_for() -> None:
    compiled = compile_kernel(_times(3.5))
    assert compiled.bind({})(2.0) == (7.0,)
    assert "define" in compiled.llvm
    assert "ret" in compiled.asm


def test_a_launch_keeps_its_buffers_alive() -> None:
    k = Building()
    x = k.field("x", 3)
    k.store(x, 0, 7.0)
    buffer = np.zeros(3, x.type.numpy)
    kept = weakref.ref(buffer)
    launch = compile_kernel(k.kernel()).bind({x.key: buffer})
    del buffer
    gc.collect()
    launch()
    found = kept()
    assert found is not None
    assert found[0] == 7.0
    del launch, found
    gc.collect()
    assert kept() is None
