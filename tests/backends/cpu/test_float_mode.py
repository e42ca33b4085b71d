"""Subnormal floats: zeros in launches under ``fast_math``, numbers without, and everywhere outside."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest

import dsim as ds
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.target import FLOAT_MODE
from dsim.backends.llvm.float_mode import AARCH64, X86
from dsim.runtime.state import settings

pytestmark = pytest.mark.skipif(FLOAT_MODE is None, reason="no known register")

N = 1 << 18  # enough for several threads
TINY = {ds.f32: np.float32(1e-40), ds.f64: np.float64(1e-310)}


def _kept() -> bool:
    """Whether this thread computes with subnormal numbers."""
    return bool(np.all(np.full(8, 1e-310) * 0.5 == 5e-311)) and float("1e-310") * 0.5 == 5e-311


def _halved(real):
    x, y = ds.field(real, shape=N), ds.field(real, shape=N)
    x.fill(float(TINY[real]))

    @ds.kernel
    def halve():
        for i in x:
            y[i] = x[i] * 0.5

    for _ in range(8):  # with threads and without
        halve()
    return x.to_numpy(), y.to_numpy()


@pytest.mark.parametrize("real", [ds.f32, ds.f64])
def test_they_are_zeros_under_fast_math(real):
    ds.init(default_fp=real)
    x, y = _halved(real)
    assert (x == TINY[real]).all()  # writes of Python's, and copies, keep them
    assert (y == 0).all()
    assert _kept()


@pytest.mark.parametrize("real", [ds.f32, ds.f64])
def test_they_are_numbers_without(real):
    ds.init(default_fp=real, fast_math=False)
    assert (_halved(real)[1] == TINY[real] * real.numpy.type(0.5)).all()


def test_the_reference_keeps_them():
    settings.change(replace(settings.current(), backend="reference"))
    x, y = ds.field(ds.f32, shape=()), ds.field(ds.f32, shape=())
    x.fill(1e-40)

    @ds.kernel
    def halve():
        y[None] = x[None] * 0.5

    halve()
    assert y[None] == np.float32(1e-40) * np.float32(0.5)


@pytest.mark.parametrize("real", [ds.f32, ds.f64])
def test_functions_of_the_library_take_them_for_zeros_too(real):
    """Its code for subnormal numbers scales by multiplications, which give 0 here, and looks at the bits."""
    ds.init(default_fp=real)
    x, y = ds.field(real, shape=37), ds.field(real, shape=(37, 4))
    x.fill(float(TINY[real]))

    @ds.kernel
    def apply():
        for i in x:
            y[i, 0] = ds.log(x[i])
            y[i, 1] = ds.cbrt(x[i])
            y[i, 2] = x[i] ** 0.3
            y[i, 3] = ds.sqrt(x[i])

    apply()
    assert (y.to_numpy() == [-np.inf, 0, 0, 0]).all()


def test_functions_of_two_numbers_at_a_time():
    """LLVM 22 has no instructions for `llvm.canonicalize` of two 32-bit numbers, and ends the process."""
    A, B = ds.field(ds.f32, shape=(4, 3), needs_grad=True), ds.field(ds.f32, shape=(4, 3))
    x, s = ds.field(ds.f64, shape=4), ds.field(ds.f64, shape=(), needs_grad=True)
    A.fill(1.0)
    x.fill(0.5)

    @ds.kernel
    def first():
        for i, j in A:
            B[i, j] = ds.sin(A[i, j]) * x[i] + A[i, j] ** 2

    @ds.kernel
    def second():
        for i, j in B:
            s[None] += B[i, j] ** 2

    def run():
        first()
        second()

    value, slope, curvature = 0.5 * np.sin(1) + 1, 0.5 * np.cos(1) + 2, 2 - 0.5 * np.sin(1)
    found = ds.hvp(run, wrt=A, out=s, tangents=np.ones((4, 3)))
    np.testing.assert_allclose(found, 2 * (slope**2 + value * curvature), rtol=1e-5)


def test_a_kernel_that_is_always_compiled_as_written_keeps_them():
    ds.init(default_fp=ds.f64)
    x, most = ds.field(ds.f64, shape=4), ds.field(ds.f64, shape=())
    x.fill(1e-310)

    @ds.kernel
    def largest():
        for i in x:
            ds.atomic_max(most[None], x[i] * 0.5)

    largest()
    assert largest.primal.kernel.exact
    assert most[None] == 5e-311


def test_the_gradient_of_a_launch_treats_them_as_the_launch_does():
    ds.init(default_fp=ds.f64)
    x, loss = ds.field(ds.f64, shape=(), needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)
    x[None] = 1e-310

    @ds.kernel
    def square():
        loss[None] += x[None] * 1e200

    with ds.Tape(loss):
        square()
    assert loss[None] == 0.0
    assert x.grad[None] == 1e200
    assert _kept()


def test_the_mode_is_restored_after_errors():
    x, y = ds.field(ds.f32, shape=4), ds.field(ds.f32, shape=4)

    @ds.kernel
    def fail(n: int):
        for i in range(4):
            y[i + n] = x[i] * 0.5
            assert n < 0, "too large"

    for n in (0, 2):
        with pytest.raises((IndexError, AssertionError)):
            fail(n)
        assert _kept()


def test_the_mode_is_restored_after_a_stop():
    n, found = ds.field(ds.i32, shape=()), []

    @ds.kernel
    def forever():
        while n[None] >= 0:
            n[None] = 1 - n[None]

    def work():
        with pytest.raises(KeyboardInterrupt):
            forever()
        found.append(_kept())

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        ds.stop_launch(thread)
    assert found == [True]


def test_python_that_a_launch_calls_has_its_own_mode(monkeypatch):
    x, found = ds.field(ds.f64, shape=1), []
    y = ds.field(ds.f64, shape=1)
    x.fill(1e-310)

    @ds.kernel
    def inner():
        for i in x:
            y[i] = x[i] * 0.5

    @ds.kernel
    def outer():
        for i in x:
            print("now")
            y[i] = x[i] * 0.5

    class Output:
        def write(self, _):
            found.append(_kept())
            inner()
            found.append(_kept())
            y.fill(1.0)

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Output())
    outer()
    monkeypatch.undo()
    assert found
    assert all(found)
    assert y[0] == 0.0  # the rest of the launch is in its own mode again


@pytest.mark.slow
def test_threads_that_helped_are_as_before():
    @numba.vectorize(["f8(f8)"], target="parallel")
    def halve(a):
        return a * 0.5

    a = np.full(N, 1e-310)
    assert (halve(a) == 5e-311).all()
    ds.init(default_fp=ds.f64)
    assert (_halved(ds.f64)[1] == 0).all()
    assert (halve(a) == 5e-311).all()


@contextmanager
def _mode_of_another_library() -> Iterator[None]:
    """This thread in a mode in which subnormal numbers are zeros."""
    mode, names = FLOAT_MODE, iter("abcd")
    text = "\n".join(mode.declarations.values()) + "\ndefine i64 @dsim_entry(ptr %before, ptr %after) {\n"
    for part, at in ((mode.read, "%before"), (mode.write, "%after")):
        text += part.format(at=at, value=f"%{next(names)}") + "\n"
    code = MachineCode(text + "ret i64 0\n}", {})
    change = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(code.entry)
    slots = (ctypes.c_int64 * 3)()
    before, during, after = (ctypes.addressof(slots) + 8 * i for i in range(3))
    change(before, before)
    slots[1] = slots[0] | mode.zeros
    change(after, during)
    try:
        yield
    finally:
        change(after, before)


@pytest.mark.parametrize("fast", [True, False])
def test_a_mode_that_the_user_has_set_holds_in_all_threads_and_stays(fast):
    ds.init(default_fp=ds.f64, fast_math=fast)
    with _mode_of_another_library():
        _, y = _halved(ds.f64)
        stays = not np.any(np.full(8, 1e-310) * 0.5)
    assert (y == 0).all()
    assert stays
    assert _kept()


@pytest.mark.parametrize("mode", [X86, AARCH64])
def test_llvm_has_the_instructions(mode):
    text = "\n".join(mode.declarations.values()) + "\ndefine void @f(ptr %p) {\n"
    text += mode.read.format(at="%p", value="%a") + "\n" + mode.write.format(at="%p", value="%b")
    with llvm.parse_assembly(text + "\nret void\n}") as module:
        module.verify()
