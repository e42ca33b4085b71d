"""Kernels launched in signal handlers and finalizers, which may run between any two lines of dsim."""

import subprocess
import sys

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.fields import aliases, holders, storage
from dsim.runtime.launching import contexts
from dsim.runtime.tapes.tape import Tape


class At:
    """Calls `handler` before every line of the functions given, as a signal would, in the same thread."""

    def __init__(self, handler, *functions):
        self._handler = handler
        self._codes = {f.__code__ for f in functions}
        self.calls = 0

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(lambda frame, *_: self._line if frame.f_code in self._codes else None)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)

    def _line(self, frame, event, argument):
        if event == "line":
            self.calls += 1
            self._handler()
        return self._line


@ti.kernel
def double(a: ti.types.ndarray()):
    for i in a:
        a[i] *= 2.0


@ti.kernel
def cubes(x: ti.types.ndarray(), total: ti.types.ndarray()):
    for i in x:
        total[None] += x[i] ** 3


def filled(*values):
    made = ti.ndarray(ti.f64, len(values), needs_grad=True)
    made.from_numpy(np.array(values))
    return made


def test_memory_given_while_memory_is_given():
    def handler():
        made = filled(1.0, 2.0)
        double(made)
        double(made.array.copy())
        assert list(made.to_numpy()) == [2.0, 4.0]

    handler()
    functions = storage.Storage.allocate, storage.Storage._allocate, holders.note, holders.holder
    with At(handler, *functions) as at:
        x = filled(1.0, 2.0, 3.0)
        double(x)
        double(x.array.copy())
    assert at.calls > 10
    assert list(x.to_numpy()) == [2.0, 4.0, 6.0]
    assert holders.holder(x.array[1:]) is x


def test_memory_of_one_field_given_twice_at_once():
    field = ti.field(ti.f64)

    def handler():
        field.allocate((3,))
        field.buffer[0] = 7.0

    with At(handler, storage._zeros):
        ti.root.dense(ti.i, 3).place(field)
    assert list(field.to_numpy()) == [7.0, 0.0, 0.0]
    assert holders.holder(field.array) is field


def test_what_is_launched_while_a_block_is_entered_does_not_close_it():
    x, total, other = filled(1.0, 2.0), ti.ndarray(ti.f64, (), needs_grad=True), filled(1.0)

    with At(lambda: double(other), contexts.Context.push) as at:
        tape = ti.Tape(total)
        tape.__enter__()
    cubes(x, total)
    tape.__exit__(None, None, None)
    assert at.calls > 3
    assert list(x.grad.to_numpy()) == [3.0, 12.0]


@pytest.mark.filterwarnings("ignore:(?s).*`a` is a NumPy array.*no gradient")
def test_an_array_is_taken_up_while_one_is_taken_up():
    x, total = filled(1.0, 2.0), ti.ndarray(ti.f64, (), needs_grad=True)
    arrays, given = [np.ones(9) for _ in range(60)], []

    @ti.kernel
    def copy(a: ti.types.ndarray(), x: ti.types.ndarray()):
        for i in x:
            a[i] = x[i]

    def handler():
        if len(given) < len(arrays):
            given.append(arrays[len(given)])
            double(given[-1][1:])

    both = np.zeros(4)
    with At(handler, aliases.Extents.add), ti.Tape(total):
        copy(both[:2], x)
        copy(both[2:], x)
        cubes(both, total)
    assert given
    assert all(list(a) == [1.0, *[2.0] * 8] for a in given)
    assert list(x.grad.to_numpy()) == [6.0, 24.0]


@pytest.mark.slow
def test_masked_arrays_are_not_imported_to_ask_for_them():
    program = "import sys, numpy, dsim as ti; x = ti.field(ti.f64, 2); x.from_numpy(numpy.ones(2))"
    run = [sys.executable, "-c", f"{program}; print('numpy.ma' in sys.modules)"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("functions", [(Tape.launch,), (Tape._record,), (Tape._watch,)])
def test_what_is_launched_while_a_launch_is_recorded_is_in_order_or_refused(functions):
    x, y, total = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(3))

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    @ti.kernel
    def change():
        x[None] *= 3.0
        y[None] *= y[None]

    @ti.kernel
    def end():
        total[None] += y[None] ** 2 * x[None]

    def program(at, then):
        """The loss, where `change` comes at a moment of `then`."""
        seen = []

        def handler():
            seen.append(0)
            if len(seen) == at:
                change()

        x[None], y[None] = 1.5, 0.5
        with ti.Tape(total):
            change()
            with At(handler, *functions):
                then()
            end()
        return len(seen)

    def twice():
        square()
        square()

    refused = []
    moments = program(0, twice)
    for at in range(1, moments + 1):
        try:
            program(at, twice)
        except ti.GradientError as error:
            refused.append(str(error))
            continue
        # The loss is a multiple of x^5 where `change` came before a `square`, and of x^9 where it came last.
        power = 5.0 if total[None] == pytest.approx(x[None] ** 5) else 9.0
        assert x.grad[None] == pytest.approx(power * total[None] / 1.5), at
    assert refused
    assert all("signal handler" in text for text in refused)
