"""Backward functions of a person that write to fields: earlier adjoints read what the tape's calls left."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def program(write):
    """y = x², the loss adds y by a function whose backward function also calls ``write(x, beside)``."""
    x, y = (ti.field(ti.f64, shape=3, needs_grad=True, name=name) for name in "xy")
    loss, beside = single("loss"), ti.field(ti.f64, shape=3, name="beside")
    x.from_numpy(np.array([3.0, 1.0, 2.0]))

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    @ti.kernel
    def add():
        for i in y:
            loss[None] += y[i]

    @ti.ad.grad_replaced
    def total():
        add()

    @ti.ad.grad_for(total)
    def total_backwards():
        add.grad()
        write(x, beside)

    def run():
        square()
        total()

    return x, loss, beside, run


@ti.kernel
def double(x: ti.template(), beside: ti.template()):
    for i in x:
        x[i] *= 2.0
        beside[i] = x[i]


def by_kernel(x, beside):
    double(x, beside)
    double(x, beside)


def one_number(x, beside):
    x[1] = 7.0
    beside.fill(1.0)


def all_numbers(x, beside):
    x.fill(7.0)
    x.from_numpy(np.zeros(3))
    beside.copy_from(x)


WRITES = [by_kernel, one_number, all_numbers]


@pytest.mark.parametrize("write", WRITES)
def test_tapes(write):
    x, loss, beside, run = program(write)
    with ti.Tape(loss) as tape:
        run()
    assert x.grad.to_numpy().tolist() == [6, 2, 4]
    assert x.to_numpy().tolist() == [3, 1, 2]
    assert (
        beside.to_numpy().tolist()
        == {by_kernel: [12, 4, 8], one_number: [1] * 3, all_numbers: [0] * 3}[write]
    )
    tape.backward()
    assert x.grad.to_numpy().tolist() == [6, 2, 4]


@pytest.mark.parametrize("write", WRITES)
def test_steps_and_transforms(write):
    x, loss, _, run = program(write)
    with ti.Tape(loss) as tape:
        for _ in tape.steps(range(1), slots=1):
            run()
    assert x.grad.to_numpy().tolist() == [6, 2, 4]
    assert ti.grad(run, wrt=x, out=loss)().tolist() == [6, 2, 4]
    assert ti.vjp(run, wrt=x, out=loss)[1](1.0).tolist() == [6, 2, 4]
    assert x.to_numpy().tolist() == [3, 1, 2]


def test_a_tape_around():
    """What is put back is part of what the outer tape differentiates."""
    x, loss, _, run = program(by_kernel)
    outer = single("outer")

    @ti.kernel
    def norm():
        for i in x:
            outer[None] += x.grad[i] ** 2

    with ti.Tape(outer):
        with ti.Tape(loss):
            run()
        norm()
    assert np.allclose(x.grad.to_numpy(), 8 * x.to_numpy())


def test_an_error_in_the_backward_function():
    x, loss, _, run = program(lambda x, _: (x.fill(9.0), 1 / 0))
    with pytest.raises(ZeroDivisionError), ti.Tape(loss):
        run()
    assert x.to_numpy().tolist() == [3, 1, 2]


def test_a_tape_in_the_backward_function_runs_again():
    """Its launches write to fields of the outer tape, which have their values afterwards."""
    y, inner = ti.field(ti.f64, shape=3, needs_grad=True, name="y"), single("inner")

    @ti.kernel
    def overwrite(x: ti.template()):
        for i in x:
            x[i] = 0.5 * y[i]

    @ti.kernel
    def total(x: ti.template()):
        for i in x:
            inner[None] += x[i] ** 2

    def write(x, _):
        y.fill(2.0)
        with ti.Tape(inner, clear_gradients=False) as tape:
            overwrite(x)
            total(x)
        tape.backward()
        assert y.grad.to_numpy().tolist() == [2, 2, 2]

    x, loss, _, run = program(write)
    with ti.Tape(loss):
        run()
    assert x.to_numpy().tolist() == [3, 1, 2]
    assert x.grad.to_numpy().tolist() == [6, 2, 4]


@ti.kernel
def move(x: ti.template(), y: ti.template()):
    for i in x:
        x[i] = y[i]


def of_functions_alone(write, **reads):
    """x ← c·x² twice, by a function under `grad_replaced` whose backward function also calls ``write(c)``."""
    x, y = (ti.field(ti.f64, shape=3, needs_grad=True, name=name) for name in "xy")
    loss, c = single("loss"), ti.field(ti.f64, shape=3, name="c")
    x.from_numpy(np.array([3.0, 1.0, 2.0]))
    c.fill(2.0)

    @ti.kernel
    def square():
        for i in x:
            y[i] = c[i] * x[i] ** 2

    @ti.kernel
    def add():
        for i in y:
            loss[None] += y[i]

    @ti.ad.grad_replaced
    def squared():
        square()

    @ti.ad.grad_for(squared, **{name: choose(x, c) for name, choose in reads.items()})
    def squared_backwards():
        square.grad()
        write(c)

    def run(steps=range(2)):
        for _ in steps:
            squared()
            move(x, y)
        add()

    return x, loss, c, run


def each_number(c):
    for i in range(3):
        c[i] = 77.0


C_WRITES = [lambda c: c.fill(77.0), each_number, lambda c: double(c, c)]
NAMED = [{}, {"reads": lambda x, c: [x, c]}]


@pytest.mark.parametrize("write", C_WRITES)
@pytest.mark.parametrize("reads", NAMED)
def test_fields_with_which_functions_alone_work(write, reads):
    x, loss, c, run = of_functions_alone(write, **reads)
    right = 32 * x.to_numpy() ** 3
    assert ti.grad(run, wrt=x, out=loss)().tolist() == right.tolist()
    with ti.Tape(loss):
        run()
    assert x.grad.to_numpy().tolist() == right.tolist()
    assert c.to_numpy().tolist() == [2, 2, 2]


@pytest.mark.parametrize("write", C_WRITES)
def test_fields_with_which_functions_in_steps_work(write):
    x, loss, c, run = of_functions_alone(write)
    right = 32 * x.to_numpy() ** 3
    with ti.Tape(loss) as tape:
        run(tape.steps(range(2), slots=1))
    assert x.grad.to_numpy().tolist() == right.tolist()
    assert c.to_numpy().tolist() == [2, 2, 2]


@pytest.mark.slow
def test_many_numbers_one_by_one():
    """More than are kept one by one."""
    x, y = (ti.field(ti.f64, shape=99, needs_grad=True, name=name) for name in "xy")
    loss = single("loss")

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    @ti.ad.grad_replaced
    def total():
        loss[None] = y.to_numpy().sum()

    @ti.ad.grad_for(total)
    def total_backwards():
        y.grad.fill(loss.grad[None])
        for i in [*range(0, 99, 2), *range(99)]:
            x[i] = 7.0
            y[98 - i] = 8.0

    x.from_numpy(np.arange(99.0))
    with ti.Tape(loss):
        square()
        total()
    assert x.grad.to_numpy().tolist() == [2.0 * i for i in range(99)]
    assert y.to_numpy().tolist() == [float(i * i) for i in range(99)]
