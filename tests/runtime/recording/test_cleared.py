"""A gradient cleared at a tape's entry raises when it is used in the tape's block."""

import pytest

import dsim as ti
from tests.runtime.threading_together import aside


def square():
    x = ti.field(ti.f64, shape=(), needs_grad=True, name="x")
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    x[None] = 3.0

    @ti.kernel
    def run():
        y[None] = x[None] ** 2

    return x, y, run


CLEARED = "`x.grad` is 0 here: the tape has set all gradients to 0 on entry"


def test_python_looks_at_a_cleared_gradient():
    x, y, run = square()
    with ti.ad.Tape(y):
        run()

    def again():
        with ti.ad.Tape(y):
            assert x.grad[None] == 0.0
            assert x.grad[None] == 0.0  # said once
            run()

    with pytest.warns(ti.GradientWarning, match=CLEARED) as caught:
        again()
    assert len(caught) == 1
    assert "help: use it after the tape" in str(caught[0].message)
    assert x.grad[None] == 6.0


def test_a_kernel_of_the_tape_reads_a_cleared_gradient():
    x, y, run = square()

    @ti.kernel
    def descend():
        x[None] -= 0.1 * x.grad[None]

    def again():
        with ti.ad.Tape(y):
            descend()
            run()

    with ti.ad.Tape(y):
        run()
    with pytest.warns(ti.GradientWarning, match=CLEARED):
        again()
    assert x[None] == 3.0


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_without_reason():
    x, y, run = square()
    with ti.ad.Tape(y):  # nothing to be cleared
        assert x.grad[None] == 0.0
        run()
    assert x.grad[None] == 6.0
    with ti.ad.Tape(y, clear_gradients=False):
        assert x.grad[None] == 6.0
        run()
    assert x.grad[None] == 12.0
    said_once = pytest.warns(ti.GradientWarning, match="the block changed `x.grad`")
    with said_once, ti.ad.Tape(y):
        x.grad[None] = 1.0  # it was given a value
        assert x.grad[None] == 1.0
        run()
    with ti.ad.Tape(y):
        run()
    assert x.grad[None] == 6.0


@pytest.mark.filterwarnings("error")
def test_a_gradient_of_a_persons_own_begins_at_0():
    x, y, _ = square()

    @ti.ad.grad_replaced
    def step():
        y[None] = x[None] ** 2

    @ti.ad.grad_for(step)
    def back():
        x.grad[None] += 2.0 * x[None] * y.grad[None]

    for _ in range(2):
        with ti.ad.Tape(y):
            step()
    assert x.grad[None] == 6.0


def test_what_another_thread_cleared_is_not_said_to_be_cleared_on_entry():
    (x, y, run), (_, other, beside), (_, own, mine) = square(), square(), square()

    def work():
        for loss, program in ((y, run), (other, beside)):
            with ti.ad.Tape(loss):
                program()

    with ti.ad.Tape(own):
        mine()
        aside(work)
        with pytest.warns(ti.GradientWarning) as said:
            assert x.grad[None] == 0.0
    assert [w for w in said if "another thread" not in str(w.message)] == []


def test_after_a_block_that_failed_it_says_so():
    x, y, run = square()
    with ti.ad.Tape(y):
        run()
    with pytest.raises(ZeroDivisionError), ti.ad.Tape(y):
        raise ZeroDivisionError
    with pytest.warns(ti.GradientWarning, match="on entry, and its block ended with an error") as heard:
        x.grad.to_numpy()
    assert "run the block again" in str(heard[0].message)
