"""A tape that goes backwards again: in other threads and tasks, around other tapes, and once at a time."""

import asyncio
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from tests.runtime.threading_together import aside

SQUARES = [2.0, 4.0, 6.0]


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture(params=["kernel", "function"])
def squares(request):
    """The sum of the squares of 1, 2 and 3, by a kernel or by a function with a gradient of its own."""
    x = ti.field(ti.f64, shape=3, needs_grad=True, name="x")
    loss = ti.field(ti.f64, shape=(), needs_grad=True, name="loss")

    @ti.kernel
    def square():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def square_back():
        for i in x:
            x.grad[i] += loss.grad[None] * 2 * x[i]

    @ti.ad.grad_replaced
    def replaced():
        square()

    @ti.ad.grad_for(replaced)
    def _():
        square_back()

    x.from_numpy(np.array([1.0, 2.0, 3.0]))

    def taped(**options):
        with ti.Tape(loss, **options) as tape:
            square() if request.param == "kernel" else replaced()
        return tape

    return SimpleNamespace(x=x, loss=loss, taped=taped)


def backward(tape, x):
    tape.backward()
    return x.grad.to_numpy()


def profiled(tape, x):
    tape.profile()
    return x.grad.to_numpy()


ASKED = [backward, profiled, lambda tape, x: tape.gradient(x)]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.filterwarnings("ignore:warning.overtaken")
def test_in_another_thread(squares, asked):
    tape = squares.taped()
    assert aside(lambda: asked(tape, squares.x)).tolist() == SQUARES
    assert asked(tape, squares.x).tolist() == SQUARES
    other = aside(squares.taped)
    assert asked(other, squares.x).tolist() == SQUARES
    assert squares.x.grad.to_numpy().tolist() == SQUARES


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.filterwarnings("ignore:warning.overtaken")
def test_in_another_task(squares, asked):
    async def work():
        return squares.taped()

    async def main():
        tape = await asyncio.create_task(work())
        return asked(tape, squares.x)

    assert asyncio.run(main()).tolist() == SQUARES


@pytest.mark.filterwarnings("ignore:warning.overtaken")
def test_another_thread_adds_to_gradients_that_are_kept(squares):
    squares.x.grad.fill(100.0)
    tape = squares.taped(clear_gradients=False)
    assert squares.x.grad[0] == 102.0
    assert aside(lambda: tape.gradient(squares.x)).tolist() == SQUARES
    assert aside(lambda: backward(tape, squares.x)).tolist() == [104.0, 108.0, 112.0]


@pytest.fixture
def held(squares):
    """A program whose backward function calls what stands in `then`."""
    y = ti.field(ti.f64, shape=(), needs_grad=True, name="y")
    z = ti.field(ti.f64, shape=(), needs_grad=True, name="z")

    @ti.kernel
    def copy():
        z[None] = y[None]

    @ti.kernel
    def copy_back():
        y.grad[None] += z.grad[None]

    @ti.ad.grad_replaced
    def copied():
        copy()

    then = []

    @ti.ad.grad_for(copied)
    def _():
        for act in then:
            act()
        copy_back()

    @ti.kernel
    def scaled():
        squares.loss[None] += 3 * z[None]

    with ti.Tape(squares.loss) as tape:
        copied()
        scaled()
    return SimpleNamespace(tape=tape, y=y, z=z, then=then)


@pytest.mark.parametrize("asked", ASKED)
def test_a_tape_in_a_backward_function_leaves_these_gradients(held, asked):
    other = ti.field(ti.f64, shape=(), needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def cube():
        loss[None] += other[None] ** 3

    def inner():
        with ti.Tape(loss):
            cube()

    held.then.append(inner)
    assert asked(held.tape, held.y) == 3.0
    assert held.y.grad[None] == 3.0


@contextmanager
def going_back_elsewhere(held):
    """Another thread is in the middle of a backward pass of the tape, and then comes to a right end."""
    begun, over = threading.Event(), threading.Event()
    held.then += [begun.set, lambda: over.wait(60)]
    found = []
    thread = threading.Thread(target=lambda: found.append(held.tape.gradient(held.y)))
    thread.start()
    assert begun.wait(60)
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert found == [3.0]


def test_from_its_own_backward_function_is_refused(held):
    held.then.append(lambda: held.tape.gradient(held.y))
    with pytest.raises(ti.GradientError, match="this tape is going backwards, in another thread or around"):
        held.tape.backward()
    held.then.clear()
    assert held.tape.gradient(held.y) == 3.0


@pytest.mark.filterwarnings("ignore:warning.overtaken")
def test_twice_at_once_is_refused(held):
    message = r"(?s)this tape is going backwards.*one after the other"
    with going_back_elsewhere(held), pytest.raises(ti.GradientError, match=message):
        held.tape.backward()
    held.then.clear()
    assert held.tape.gradient(held.y) == 3.0


@pytest.mark.filterwarnings("ignore:warning.overtaken")
def test_a_tape_of_another_thread_meanwhile_is_refused(held, squares):
    message = "`loss` has a gradient in a block that is open in another"
    with going_back_elsewhere(held), pytest.raises(ti.GradientError, match=message):
        squares.taped()
