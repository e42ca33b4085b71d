"""Gradients by hand: `kernel.grad()` without a tape."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_gradients_by_hand():
    x = ti.field(ti.f64, shape=2, needs_grad=True)
    a, b = single("a"), single("b")

    @ti.kernel
    def both():
        for i in x:
            a[None] += x[i] ** 2
            b[None] += x[i]

    x.from_numpy(np.array([3.0, 4.0]))
    a.grad[None], b.grad[None] = 1.0, 10.0
    both()
    both.grad()
    assert x.grad.to_numpy().tolist() == [16.0, 18.0]
    both.grad()
    assert x.grad.to_numpy().tolist() == [32.0, 36.0]
    ti.ad.clear_all_gradients()
    assert x.grad.to_numpy().tolist() == [0.0, 0.0]
    assert a.grad[None] == 0.0


def test_by_hand_what_has_no_gradient_counts_as_one_of_zero():
    x, loss, between = single("x"), single("loss"), single("between", needs_grad=False)
    last = ti.field(ti.f64, shape=2, name="last")

    @ti.kernel
    def run():
        between[None] = x[None] ** 2
        last[0] += 5.0 * x[None]
        loss[None] += 3.0 * between[None]  # what goes through a field inside of the kernel counts

    x[None] = 2.0
    loss.grad[None] = 1.0
    with ti.Tape(loss):  # it leaves gradients of `between` and `last`, which are not read
        run()
    for _ in range(2):
        x.grad[None], loss.grad[None] = 0.0, 1.0
        with pytest.warns(ti.GradientWarning) as said:
            run.grad()
        assert x.grad[None] == 12.0
        messages = [str(w.message) for w in said]
        assert len(messages) == 2
        for name, message in zip(("between", "last"), messages, strict=True):
            assert (
                f"`run` writes `{name}` from values with gradients, but it has none itself: it counts as 0"
                in (message)
            )
            assert f"help: declare `{name}` with `needs_grad=True` if the loss depends on it" in message
    assert not between.needs_grad


def test_by_hand_a_numpy_array_would_need_a_gradient():
    x = single("x")

    @ti.kernel
    def square(a: ti.types.ndarray()):
        a[0] = x[None] ** 2

    with pytest.raises(ti.GradientError, match="`square` writes `a` from values with gradients") as error:
        square.grad(np.zeros(1))
    assert "help: a NumPy array has no gradient: pass an `ndarray`" in str(error.value)


def test_gradients_by_hand_that_cannot_be():
    x, y = single("x"), single("y", needs_grad=False)

    @ti.kernel
    def nothing():
        y[None] = 2.0

    with pytest.raises(ti.GradientError, match="no field of `nothing` has a gradient"):
        nothing.grad()

    @ti.kernel
    def in_place():
        x[None] = ti.sin(x[None])

    with pytest.raises(ti.AccessRuleError, match=r"x\[None\] = ti.sin\(x\[None\]\)"):
        in_place.grad()

    @ti.kernel
    def with_gradient():
        x[None] += 2 * x.grad[None]

    with pytest.raises(ti.GradientError, match="uses gradients as values"):
        with_gradient.grad()
