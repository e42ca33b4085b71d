"""Adjoints compile on other threads: large ones while the tape records, the others together at its end."""

import math
import os
import subprocess
import sys
import threading
from weakref import WeakValueDictionary

import numpy as np
import pytest

import dsim as ds
from dsim.backends.cpu import compiled, compiler_threads, images
from dsim.backends.cpu.machine import CpuMachine
from dsim.backends.cpu.runtime import runtime
from dsim.backends.llvm import frame
from dsim.backends.locks import COMPILING
from dsim.runtime.launching import compile_ahead
from dsim.runtime.recording import sweep

N, START = 40, 0.25


@pytest.fixture(autouse=True)
def _nothing_compiled(monkeypatch):
    """Kernels of the same text share machine code: here each test compiles its own."""
    monkeypatch.setattr(compiled, "_CODE", WeakValueDictionary())


@pytest.fixture
def compiled_by(monkeypatch) -> list[str]:
    """The threads that compiled something of a set of kernels."""
    threads, found = [], images.found

    def counting(text, level, cache):
        threads.append(threading.current_thread().name)
        return found(text, level, cache)

    monkeypatch.setattr(images, "found", counting)
    return threads


@pytest.fixture
def chain():
    """Three kernels with different adjoints, the field that they begin with, and what they compute."""
    x, y, z = (ds.field(ds.f64, shape=N, needs_grad=True) for _ in "xyz")
    loss = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def first():
        for i in x:
            y[i] = ds.sin(x[i]) + x[i] ** 3

    @ds.kernel
    def second():
        for i in x:
            z[i] = y[i] * y[(i + 1) % N]

    @ds.kernel
    def third():
        for i in x:
            loss[None] += z[i] ** 2

    def run() -> None:
        first()
        second()
        third()

    x.fill(START)
    return run, x, loss


def _gradient() -> float:
    y, derivative = math.sin(START) + START**3, math.cos(START) + 3 * START**2
    return 4 * y**3 * derivative


def test_on_threads_of_their_own(chain, compiled_by):
    run, x, loss = chain
    for _ in range(2):
        with ds.Tape(loss):
            run()
        np.testing.assert_allclose(x.grad.to_numpy(), _gradient(), rtol=1e-13)
    assert len(compiled_by) == 3
    assert all(name.startswith("dsim-compiler") for name in compiled_by)
    assert not [t for t in threading.enumerate() if t.name.startswith("dsim-compiler")]


def test_what_is_not_reached_from_the_loss_does_not_compile(chain, compiled_by):
    run, x, loss = chain
    aside = ds.field(ds.f64, shape=N, needs_grad=True)

    @ds.kernel
    def beside():
        for i in x:
            aside[i] = ds.exp(x[i])

    with ds.Tape(loss):
        beside()
        run()
    assert len(compiled_by) == 3


def test_an_interrupt_leaves_kernels_that_compile_later(chain, monkeypatch):
    run, x, loss = chain
    run()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CpuMachine, "bind", interrupted)
        loss[None] = 0
        with pytest.raises(KeyboardInterrupt), ds.Tape(loss):
            run()
    assert not [t for t in threading.enumerate() if t.name.startswith("dsim-compiler")]
    loss[None] = 0
    with ds.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), _gradient(), rtol=1e-13)


def test_an_error_of_the_compiler_is_raised_where_the_tape_ends(chain, monkeypatch):
    run, x, loss = chain
    run()

    def broken(text, level, cache):
        raise RuntimeError("LLVM fails")

    with monkeypatch.context() as patch:
        patch.setattr(images, "found", broken)
        loss[None] = 0
        with pytest.raises(RuntimeError, match="LLVM fails"), ds.Tape(loss):
            run()
    loss[None] = 0
    with ds.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), _gradient(), rtol=1e-13)


def test_several_threads_may_do_so_at_once():
    """Each differentiates kernels of its own, none of which is compiled yet."""
    found: dict[int, np.ndarray] = {}

    def work(n: int) -> None:
        x, y, loss = ds.field(ds.f64, N, needs_grad=True), ds.field(ds.f64, N, needs_grad=True), None
        loss = ds.field(ds.f64, shape=(), needs_grad=True)
        x.fill(START)

        @ds.kernel
        def cube():
            for i in x:
                y[i] = (n + 1) * x[i] ** 3

        @ds.kernel
        def total():
            for i in x:
                loss[None] += (n + 2) * y[i]

        with ds.Tape(loss):
            cube()
            total()
        found[n] = x.grad.to_numpy()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for n in range(4):
        np.testing.assert_allclose(found[n], 3 * (n + 1) * (n + 2) * START**2, rtol=1e-13)


def test_no_thread_begins_for_a_single_adjoint(chain, monkeypatch):
    _, x, loss = chain

    @ds.kernel
    def energy():
        for i in x:
            loss[None] += x[i] ** 2

    monkeypatch.setattr(sweep, "compile_together", None)
    with ds.Tape(loss):
        energy()
        energy()
    np.testing.assert_allclose(x.grad.to_numpy(), 4 * START, rtol=1e-15)


def test_launches_on_many_arrays_compile_one_program(compiled_by, monkeypatch):
    """A tape has a form for each combination of arrays, and all of them have the same code."""
    emitted, emit = [], compiled.emit.emit

    def counting(*args):
        emitted.append(args[0].name)
        return emit(*args)

    monkeypatch.setattr(compiled.emit, "emit", counting)
    weights, loss = ds.ndarray(ds.f64, 8, needs_grad=True), ds.ndarray(ds.f64, (), needs_grad=True)
    weights.fill(1.0)

    @ds.kernel
    def fit(w: ds.types.ndarray(), row: ds.types.ndarray(), out: ds.types.ndarray()):
        for i in w:
            out[None] += (w[i] - row[i]) ** 2

    rows = [np.full(8, float(n)) for n in range(5)]
    with ds.Tape(loss):
        for row in rows:
            fit(weights, row, loss)
    np.testing.assert_allclose(weights.grad.to_numpy(), sum(2 * (1.0 - n) for n in range(5)))
    assert len(emitted) <= 2
    assert not compiled_by


# -- large ones, while the tape records


def _threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("dsim-compiler")]


@pytest.fixture
def large():
    """A kernel of many statements, the field that it begins with, and what it computes."""
    x, loss = ds.field(ds.f64, shape=N, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def energy():
        for i in x:
            a = ds.Matrix([[x[i], 1.0, x[i] ** 2], [x[i] + 1, x[i], 2.0], [x[i], 3.0, ds.sin(x[i])]])
            loss[None] += (a @ a @ a).trace()

    x.fill(START)
    return energy, x, loss


def _energy(x: float) -> float:
    a = np.array([[x, 1.0, x**2], [x + 1, x, 2.0], [x, 3.0, math.sin(x)]])
    return float(np.trace(a @ a @ a))


def _holds(x: ds.Field) -> None:
    h = 1e-5
    expected = (_energy(START + h) - _energy(START - h)) / (2 * h)
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-8)


def test_a_large_adjoint_begins_before_the_launch_that_it_is_of(large, compiled_by):
    energy, x, loss = large
    with ds.Tape(loss):
        energy()
        begun = len(compiled_by)
    assert begun == 2  # the kernel's own code, too
    assert len(compiled_by) == 2
    assert not _threads()
    _holds(x)


def test_nothing_begins_where_nothing_goes_backwards_at_once(large, compiled_by):
    energy, x, loss = large
    energy()
    forward = ds.ad.FwdMode(loss=loss, param=x, seed=[1.0] * N)
    with forward:
        energy()
    assert not compiled_by
    ds.linearize(energy, wrt=[x], out=loss)
    assert not compiled_by


def test_a_tape_inside_a_tape(large):
    """The outer one decides what runs."""
    energy, x, loss = large
    outer = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def total():
        for i in x:
            outer[None] += x.grad[i]

    with ds.Tape(outer):
        with ds.Tape(loss):
            energy()
        total()
    assert not _threads()
    h = 1e-4
    expected = (_energy(START + h) - 2 * _energy(START) + _energy(START - h)) / h**2
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-5)


def test_one_processor_has_no_thread_to_spare(large, compiled_by, monkeypatch):
    energy, x, loss = large
    monkeypatch.setattr(compile_ahead, "thread_count", lambda: 1)
    with ds.Tape(loss):
        energy()
    assert not compiled_by
    _holds(x)


def test_a_block_that_fails_leaves_no_thread_and_a_kernel_that_compiles_later(large):
    energy, x, loss = large

    def fails() -> None:
        energy()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), ds.Tape(loss):
        fails()
    assert not _threads()
    with ds.Tape(loss):
        energy()
    _holds(x)


def test_its_errors_are_raised_where_it_runs(large, monkeypatch):
    energy, x, loss = large

    def broken(text, level, cache):
        raise RuntimeError("LLVM fails")

    ended = []

    def run() -> None:
        energy()
        ended.append(True)

    energy()
    with monkeypatch.context() as patch:
        patch.setattr(images, "found", broken)
        with pytest.raises(RuntimeError, match="LLVM fails"), ds.Tape(loss):
            run()
    assert ended
    with ds.Tape(loss):
        energy()
    _holds(x)


def test_launches_have_one_thread_less_while_a_kernel_compiles(large, monkeypatch):
    energy, _, loss = large
    block, left = runtime()._block, []
    runtime().start_threads()
    before, found = block[frame.THREADS], images.found

    def watched(text, level, cache):
        left.append(block[frame.THREADS])
        return found(text, level, cache)

    monkeypatch.setattr(images, "found", watched)
    with ds.Tape(loss):
        energy()
    assert left
    assert all(n < max(before, 2) for n in left)
    assert block[frame.THREADS] == before


def test_two_threads_that_record_the_same_kernel():
    """The first to end has begun what the other one needs."""
    found: dict[int, np.ndarray] = {}
    fields = [(ds.field(ds.f64, N, needs_grad=True), ds.field(ds.f64, (), needs_grad=True)) for _ in range(3)]

    @ds.kernel
    def cubes(a: ds.template(), out: ds.template()):
        for i in a:
            m = ds.Matrix([[a[i], 1.0], [2.0, a[i]]])
            out[None] += (m @ m @ m @ m).trace()

    def work(n: int) -> None:
        a, out = fields[n]
        a.fill(START)
        with ds.Tape(out):
            cubes(a, out)
        found[n] = a.grad.to_numpy()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    def trace(v: float) -> float:
        return float(np.trace(np.linalg.matrix_power(np.array([[v, 1.0], [2.0, v]]), 4)))

    h = 1e-5
    for n in range(3):
        np.testing.assert_allclose(found[n], (trace(START + h) - trace(START - h)) / (2 * h), rtol=1e-8)
    assert not _threads()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no other way to have a child")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer versions of Python warn of any thread
def test_a_child_that_begins_in_the_block_ends_it(large):
    """It has none of the threads, and would wait for them for ever."""
    energy, x, loss = large
    reads, writes = os.pipe()
    with ds.Tape(loss) as tape:
        energy()
        child = os.fork()
        if child == 0:  # the process of the tests goes on in the parent alone
            try:
                tape.__exit__(None, None, None)
                os.write(writes, x.grad.to_numpy().tobytes())
            finally:
                os._exit(0)
    _holds(x)
    os.close(writes)
    with os.fdopen(reads, "rb") as told:
        assert np.array_equal(np.frombuffer(told.read()), x.grad.to_numpy())
    assert os.waitpid(child, 0)[1] == 0


def test_threads_are_made_by_one_thread_at_a_time(large, monkeypatch):
    """What Numba makes then needs two locks, in an order that only the compile lock keeps."""
    energy, x, loss = large
    held, begin = [], compiler_threads.CompilerThreads.__init__

    def watched(self):
        held.append(COMPILING._held)
        begin(self)

    monkeypatch.setattr(compiler_threads.CompilerThreads, "__init__", watched)
    with ds.Tape(loss):
        energy()
    assert held
    assert all(held)
    _holds(x)


def test_threads_keep_nothing_of_llvm(large, monkeypatch):
    """Else they would free it when they end, perhaps while another thread forks."""
    energy, _, loss = large
    left = []
    forget = images.forget_targets

    def watched():
        forget()
        left.append((threading.current_thread().name[:13], dict(images._TARGETS.made)))

    monkeypatch.setattr(images, "forget_targets", watched)
    with ds.Tape(loss):
        energy()
    assert left == [("dsim-compiler", {})] * 2


_FIRST = """
import dsim as ds
x, loss = ds.field(ds.f64, shape=40, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)

@ds.kernel
def energy():
    for i in x:
        a = ds.Matrix([[x[i], 1.0, x[i] ** 2], [x[i] + 1, x[i], 2.0], [x[i], 3.0, 4.0]])
        loss[None] += (a @ a @ a).trace()

with ds.Tape(loss):
    energy()
print(x.grad[0])
"""


@pytest.mark.slow
def test_nothing_was_compiled_before_in_the_process(tmp_path):
    """What the process needs once is needed then by two threads at the same time."""
    program = tmp_path / "first.py"
    program.write_text(_FIRST)
    run, environment = [sys.executable, str(program)], {**os.environ, "DSIM_CACHE_DIR": str(tmp_path)}
    for _ in ("compiled", "read from disk"):
        ended = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=100, check=True)
        assert ended.stdout == "30.0\n"
