"""Python reads a loss inside a block: a warning when the program goes on, none at the end."""

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def program():
    x = ti.field(ti.f64, shape=4, name="x", needs_grad=True)
    loss = ti.field(ti.f64, shape=(), name="loss", needs_grad=True)
    x.fill(1.0)

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i] ** 2

    return x, loss, add


def warned(block, run, where):
    def all_of_it():
        with block:
            run()

    with pytest.warns(ti.GradientWarning, match=f"`loss` is read into Python inside the {where}"):
        all_of_it()


def test_written_again(program):
    _, loss, add = program

    def run():
        add()
        loss[None] = loss[None] / 4

    warned(ti.ad.Tape(loss), run, "tape")
    assert loss[None] == 1.0


def test_written_to_another_field(program):
    x, loss, add = program

    def run():
        add()
        x[1] = loss[None]
        add()

    warned(ti.ad.Tape(loss), run, "tape")


def test_an_argument(program):
    x, loss, add = program

    @ti.kernel
    def scale(k: ti.f64):
        loss[None] = k * x[0]

    def run():
        add()
        scale(loss[None])

    warned(ti.ad.Tape(loss), run, "tape")


def test_behind_a_graph(program):
    _, loss, add = program
    g = ti.graph(add)

    def run():
        g()
        loss[None] = loss[None] / 4

    for _ in range(3):
        warned(ti.ad.Tape(loss), run, "tape")


def test_before_a_graph(program):
    _, loss, add = program
    g = ti.graph(add)
    with ti.ad.Tape(loss):
        g()

    def run():
        add()
        assert loss[None] == 4.0
        g()

    warned(ti.ad.Tape(loss), run, "tape")


def test_at_the_end_or_before_it_is_computed(program, recwarn):
    x, loss, add = program
    for _ in range(3):
        with ti.ad.Tape(loss):
            assert loss[None] == 0.0
            add()
            assert loss[None] == 4.0
    assert x.grad[0] == 2.0
    assert not recwarn


def test_in_forward_mode(program, recwarn):
    x, loss, add = program
    seed = [1.0, 0.0, 0.0, 0.0]
    with ti.ad.FwdMode(loss=loss, param=x, seed=seed):
        add()
        assert loss[None] == 4.0
    assert loss.dual[None] == 2.0
    assert not recwarn

    def run():
        add()
        loss[None] = loss[None] / 4

    warned(ti.ad.FwdMode(loss=loss, param=x, seed=seed), run, "forward mode")
