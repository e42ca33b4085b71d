"""A tape compiles large kernels and their adjoints on other threads while it records."""

import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dsim as ds
from dsim.backends.cpu import first_touch, images
from dsim.backends.cpu.compiler_threads import CompilerThreads
from dsim.backends.cpu.runtime import runtime
from dsim.backends.llvm import frame
from dsim.backends.locks import COMPILING
from dsim.runtime.launching import compile_ahead
from tests.runtime.compiling import compile_anew, compiler_threads, only_threads_compile, watch_threads

N, START = 40, 0.25


@pytest.fixture(autouse=True)
def _nothing_compiled(monkeypatch):
    compile_anew(monkeypatch)


@pytest.fixture
def compiled_by(monkeypatch) -> list[str]:
    return watch_threads(monkeypatch)


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


def test_a_large_adjoint_begins_before_the_launch_that_it_is_of(large, compiled_by, monkeypatch):
    energy, x, loss = large
    given, begin = [], CompilerThreads.begin

    def watched(self, kernel):
        given.append(kernel)
        begin(self, kernel)

    monkeypatch.setattr(CompilerThreads, "begin", watched)
    with ds.Tape(loss):
        energy()
        assert len(given) == 2  # the kernel's own code, too
    assert len(compiled_by) == 2
    assert not compiler_threads()
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
    assert not compiler_threads()
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
    assert not compiler_threads()
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
        only_threads_compile(patch)
        patch.setattr(images, "found", broken)
        with pytest.raises(RuntimeError, match="LLVM fails"), ds.Tape(loss):
            run()
    assert ended
    with ds.Tape(loss):
        energy()
    _holds(x)


def test_launches_have_one_thread_less_while_a_kernel_compiles(large, monkeypatch):
    energy, _, loss = large
    only_threads_compile(monkeypatch)
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


@pytest.fixture
def touched(monkeypatch) -> list[int]:
    """The addresses of the memory that threads touch, as it comes; whoever begins that waits for it."""
    monkeypatch.setattr(compile_ahead, "_LEAST", 8 * N)
    addresses: list[int] = []
    done, begin = threading.Semaphore(0), CompilerThreads.touch

    def touch(memory, _):
        addresses.append(memory.ctypes.data)
        done.release()

    def begin_and_wait(self, memory):
        begin(self, memory)
        assert done.acquire(timeout=60)

    monkeypatch.setattr(first_touch, "touch", touch)
    monkeypatch.setattr(CompilerThreads, "touch", begin_and_wait)
    return addresses


def test_new_memory_of_adjoints_is_touched_while_the_block_runs(large, touched):
    energy, x, loss = large
    with ds.Tape(loss):
        energy()
    assert touched == [x.grad.array.ctypes.data]  # the loss has a single number
    _holds(x)
    with ds.Tape(loss):
        energy()
    assert len(touched) == 1  # it is there


def test_the_adjoint_of_a_small_kernel_begins_where_there_is_something_else_to_do(touched, compiled_by):
    x, y = (ds.field(ds.f64, shape=N, needs_grad=True) for _ in range(2))
    loss = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def squares():
        for i in x:
            y[i] = x[i] ** 2

    @ds.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    x.fill(3.0)
    with ds.Tape(loss):
        squares()
        total()
    assert x.grad.array.ctypes.data in touched
    assert compiled_by
    np.testing.assert_array_equal(x.grad.to_numpy(), 6.0)


def test_small_memory_and_small_kernels_take_no_thread(compiled_by):
    x, loss = ds.field(ds.f64, shape=N, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def squares():
        for i in x:
            loss[None] += x[i] ** 2

    x.fill(3.0)
    with ds.Tape(loss):
        squares()
        assert not compiler_threads()
    assert not compiled_by
    np.testing.assert_array_equal(x.grad.to_numpy(), 6.0)


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
    assert not compiler_threads()


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
    held, begin = [], CompilerThreads.__init__

    def watched(self, count):
        held.append(COMPILING._is_owned())
        begin(self, count)

    monkeypatch.setattr(CompilerThreads, "__init__", watched)
    with ds.Tape(loss):
        energy()
    assert held
    assert all(held)
    _holds(x)


def test_threads_keep_nothing_of_llvm(large, monkeypatch):
    """Else they would free it when they end, perhaps while another thread forks."""
    energy, _, loss = large
    only_threads_compile(monkeypatch)
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
