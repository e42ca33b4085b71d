"""The first backward pass of a tape compiles its adjoints at the same time."""

import math
import threading
from concurrent.futures import thread as futures

import numpy as np
import pytest

import dsim as ds
from dsim.backends.cpu import compiled, images
from dsim.backends.cpu.machine import CpuMachine
from dsim.runtime.sweeping import sweep
from tests.runtime.compiling import compile_anew, compiler_threads, only_threads_compile, watch_threads
from tests.stopping import watched

N, START = 40, 0.25


@pytest.fixture(autouse=True)
def _nothing_compiled(monkeypatch):
    compile_anew(monkeypatch)


@pytest.fixture
def compiled_by(monkeypatch) -> list[str]:
    return watch_threads(monkeypatch)


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
    assert not compiler_threads()


def test_the_thread_of_the_sweep_takes_part(chain, monkeypatch):
    """It compiles the last adjoint while another thread has only come to the first."""
    run, x, loss = chain
    run()
    took_part, found, made = threading.Event(), images.found, images.made

    def waiting(*args):
        assert took_part.wait(60)
        return found(*args)

    def by_itself(*args):
        if threading.current_thread() is threading.main_thread():
            took_part.set()
        return made(*args)

    monkeypatch.setattr(images, "found", waiting)
    monkeypatch.setattr(images, "made", by_itself)
    monkeypatch.setattr(images, "loaded", lambda *_: None)
    loss[None] = 0
    with ds.Tape(loss):
        run()
    assert took_part.is_set()
    np.testing.assert_allclose(x.grad.to_numpy(), _gradient(), rtol=1e-13)


def test_a_fork_of_another_thread_is_not_in_the_way(chain):
    """It has the lock of `concurrent.futures` while it waits for the compile lock, which is held here."""
    run, x, loss = chain
    with watched(), futures._global_shutdown_lock, ds.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), _gradient(), rtol=1e-13)


def test_where_the_system_gives_no_threads_the_sweep_compiles_by_itself(chain, monkeypatch):
    run, x, loss = chain
    run()

    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    loss[None] = 0
    with ds.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), _gradient(), rtol=1e-13)


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
    assert not compiler_threads()
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
        only_threads_compile(patch)
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
