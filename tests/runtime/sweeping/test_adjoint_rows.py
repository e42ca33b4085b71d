"""Adjoints that a sweep copies on its way: the table's copies are those of a sweep per call."""

import signal
import threading

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cpu.replay import LaunchTable
from dsim.runtime.inspection import result_memory
from dsim.runtime.sweeping import adjoint_rows
from tests.runtime.taping import same


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Oscillators:
    """A linear program of two launches a step: no adjoint reads a value, so nothing is saved."""

    def __init__(self, n=5, trips=6, make=ti.field):
        self.x, self.v = (make(ti.f64, shape=n, needs_grad=True, name=name) for name in "xv")
        self.loss = ti.field(ti.f64, shape=(), needs_grad=True, name="loss")
        self.trips = trips
        x, v, loss = self.x, self.v, self.loss

        @ti.kernel
        def kick(k: ti.f64):
            for i in x:
                v[i] -= k * x[i]

        @ti.kernel
        def drift():
            for i in x:
                x[i] += 0.25 * v[i]

        @ti.kernel
        def total():
            for i in x:
                loss[None] += (i + 1) * x[i]

        self.kernels = kick, drift, total
        x.from_numpy(np.linspace(0.1, 1.0, n))

    def tape(self):
        kick, drift, total = self.kernels
        with ti.Tape(self.loss) as tape:
            for t in range(self.trips):
                kick(0.5 + t)
                drift()
            total()
        return tape


@pytest.mark.parametrize("choice", [{}, {"every": 2}, {"every": 5}, {"after": [7, 2, 11, 2, -1, 12]}])
@pytest.mark.parametrize("of", ["x", "v", "loss"])
def test_copies_of_a_table_are_the_adjoints_after_each_call(tables, choice, of):
    program = Oscillators()
    field, tape = getattr(program, of), program.tape()
    first = tape.gradients(field, **choice)
    assert not tables
    found = tape.gradients(field, **choice)
    assert len(tables) == 1
    assert same(first, found)
    for after, values in zip(found.calls.tolist(), found, strict=True):
        assert same([values], [tape.gradient(field, after=after)])
    program.x.from_numpy(np.ones(5))
    again = program.tape().gradients(field, **choice)
    assert len(tables) == 3  # the block's backward pass, and the rows
    assert same(again, found)  # a linear program


@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("n", [8_192, 10_001])
def test_rows_for_several_threads(monkeypatch, tables, large, n):
    monkeypatch.setattr(adjoint_rows, "LARGE", 0 if large else 1 << 40)
    program = Oscillators(n, 4)
    tape = program.tape()
    tape.gradients(program.x)
    found = tape.gradients(program.x)
    assert len(tables) == 1
    for after, values in zip(found.calls.tolist(), found, strict=True):
        assert same([values], [tape.gradient(program.x, after=after)])


def test_rows_beside_each_other_stay_as_they_were(tables):
    program = Oscillators()
    tape = program.tape()
    room = np.full((9, 5), np.nan)
    expected = tape.gradients(program.x, after=range(1, 8)).values
    tape.gradients(program.x, after=range(1, 8), out=room[1:8])
    assert len(tables) == 1
    assert same(room[1:8], expected)
    assert np.isnan(room[[0, 8]]).all()


def test_rows_and_gradients_with_gaps_are_copied_by_numpy(tables):
    program = Oscillators()
    tape = program.tape()
    expected = tape.gradients(program.x)
    wide = np.full((13, 11), np.nan)
    for _ in range(3):
        tape.gradients(program.x, out=wide[:, 1::2])
    assert not tables
    assert same(wide[:, 1::2], expected)
    assert np.isnan(wide[:, ::2]).all()

    pairs = ti.Struct.field({"x": ti.f64, "v": ti.f64}, shape=5, needs_grad=True)
    gaps = iter((pairs.x, pairs.v))
    program = Oscillators(make=lambda *_, **__: next(gaps))
    tape = program.tape()
    assert all(same(tape.gradients(program.x), expected) for _ in range(3))


def test_results_that_are_kept_hold_their_numbers(monkeypatch):
    monkeypatch.setattr(result_memory, "_KEPT", range(1 << 40))
    program = Oscillators()
    tape = program.tape()
    first = tape.gradients(program.x)
    numbers = first.values.copy()
    second = tape.gradients(program.v)
    assert not np.shares_memory(first.values, second.values)
    assert same(first.values, numbers)
    at = second.values.ctypes.data
    del second
    assert tape.gradients(program.x).values.ctypes.data == at


def test_the_user_s_gradients_are_left_alone():
    program = Oscillators()
    tape = program.tape()
    program.x.grad.from_numpy(np.arange(5.0))
    kept = program.v.grad.to_numpy()
    tape.gradients(program.x)
    assert same([program.x.grad.to_numpy(), program.v.grad.to_numpy()], [np.arange(5.0), kept])


def test_two_threads_fill_rows_of_two_tapes_of_one_program():
    program = Oscillators(trips=40)
    first, second = program.tape(), program.tape()
    expected = first.gradients(program.x).values
    found, failed = [], []

    def fill(tape):
        for _ in range(20):
            try:
                found.append(tape.gradients(program.x).values)
            except ti.GradientError as error:  # the other thread has the fields' gradients
                failed.append(str(error))

    threads = [threading.Thread(target=fill, args=(tape,)) for tape in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) + len(failed) == 40
    assert found
    assert all("thread" in message for message in failed)
    assert all(same(values, expected) for values in found)


def _twice(tape, field):
    for _ in range(2):  # the second time by a table
        tape.gradients(field, every=200)


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, True])
def test_ctrl_c_between_the_copies(monkeypatch, fused):
    monkeypatch.setattr(adjoint_rows, "LARGE", 0 if fused else 1 << 40)
    program = Oscillators(200_000, 2_000)
    tape = program.tape()
    before = [f.grad.to_numpy() for f in (program.x, program.v)]
    main, begun = threading.main_thread().ident, threading.Event()
    run = LaunchTable.run

    def announced(self, *rows):
        begun.set()
        run(self, *rows)

    def interrupt():
        assert begun.wait(60)
        signal.pthread_kill(main, signal.SIGINT)

    monkeypatch.setattr(LaunchTable, "run", announced)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        _twice(tape, program.x)
    thread.join()
    assert same([f.grad.to_numpy() for f in (program.x, program.v)], before)
    assert len(tape.gradients(program.x, every=200)) == 20


@pytest.mark.slow
def test_choices_in_turn_do_not_build_a_table_each_time(monkeypatch):
    built = []
    made = LaunchTable.__init__

    def counted(self, launches, *moving):
        built.append(len(launches))
        made(self, launches, *moving)

    monkeypatch.setattr(LaunchTable, "__init__", counted)
    program = Oscillators()
    tape = program.tape()
    for _ in range(16):
        for every in (1, 2, 3, 4, 5, 6):
            tape.gradients(program.x, every=every)
    assert len(built) <= 6 * 4  # the second, fourth, eighth and sixteenth time
