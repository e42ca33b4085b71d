"""`grad_for(…, reads=…)`: reads of overwritten fields that it does not name are refused."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.tapes.squared import SEEDS, N, Squared
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_an_undeclared_read_of_an_overwritten_field():
    s = Squared(lambda s: [s.w, s.c])
    s.back = s.square.grad
    with pytest.raises(ti.AccessRuleError) as error:
        s.gradient(s.x)
    said = str(error.value)
    assert (
        "the backward function of `ahead` reads `x[0:5]`, which `reads=` does not name, and `overwrite` "
        "has overwritten it since" in said
    )
    assert "self.back()" in said
    assert "read here" in said
    assert "overwritten here" in said
    assert said.endswith("help: name `x` in `reads=`")
    assert s.x[0] == 100.0
    _, found = s.gradient(s.c)  # the adjoint of `x²` reads `x`, which nothing overwrites now
    assert found.tolist() == (2 * 100.0 * SEEDS).tolist()


def test_undeclared_reads_from_python():
    def look(s):
        return s.x[1], s.x.to_numpy(), np.sum(s.x)

    s = Squared(linear=True)
    s.back = lambda: look(s)
    s.gradient(s.y)
    with pytest.raises(ti.AccessRuleError, match=r"reads `x\[0:5\]`, which `reads=` does not name"):
        s.gradient(s.x)
    s = Squared(lambda s: [s.x])
    s.back = lambda: seen.append(look(s))
    seen = []
    s.gradient(s.x)
    assert (seen[0][0], seen[0][1].tolist()) == (2.0, [1.0, 2.0, 3.0, 4.0, 5.0])


def test_overwrites_from_python():
    s = Squared(linear=True)
    s.back = s.square.grad

    def run():
        with ti.Tape(s.loss):
            s.ahead()
            s.total()
            s.x[2] = 1.0

    with pytest.raises(ti.AccessRuleError, match=r"reads `x\[0:5\]`.*and Python has overwritten it since"):
        run()


def test_values_saved_too_late_are_not():
    """What the tape restores is from between the function and its reader."""
    s = Squared(linear=True)
    s.back = s.square.grad
    x, loss = s.x, s.loss

    @ti.kernel
    def cube():
        for i in x:
            loss[None] += x[i] ** 3

    def run():
        with ti.Tape(loss):
            s.ahead()
            s.total()
            s.overwrite(x)
            cube()
            s.overwrite(x)

    with pytest.raises(ti.AccessRuleError, match="does not name, and `overwrite`"):
        run()


def test_more_than_the_function_used():
    """It used `z[t]`; its backward pass reads `z[t + 1]`, too."""
    z, y = ti.field(ti.f64, shape=4, needs_grad=True, name="z"), single("y")

    @ti.kernel
    def take(t: int):
        y[None] += z[t]

    @ti.kernel
    def adjoint(t: int):
        z.grad[t] += y.grad[None] * z[t + 1]

    @ti.ad.grad_replaced
    def ahead(t):
        take(t)

    @ti.ad.grad_for(ahead, reads=[z])
    def back(t):
        adjoint(t)

    def run(overwritten):
        z.fill(2.0)
        with ti.Tape(y):
            ahead(0)
            z[overwritten] = 1.0

    run(0)
    assert z.grad[0] == 2.0
    run(3)
    with pytest.raises(
        ti.AccessRuleError, match=r"(?s)reads `z\[1\]`, which `ahead` did not use, and Python"
    ):
        run(1)


def test_adding_to_an_overwritten_field_reads_it():
    s = Squared(linear=True)
    count = ti.field(ti.i32, shape=(), name="count")

    @ti.kernel
    def add():
        count[None] += 1

    s.back = add
    s.gradient()
    assert count[None] == 1
    with pytest.raises(ti.AccessRuleError, match=r"reads `count\[None\]`, which `reads=` does not name"):
        s.gradient(count)


def test_tapes_inside_the_backward_function():
    s = Squared(linear=True)
    energy = single("energy")
    x = s.x

    @ti.kernel
    def cube():
        for i in x:
            energy[None] += x[i] ** 3

    def inside():
        with ti.Tape(energy, clear_gradients=False):
            cube()

    s.back = inside
    _, found = s.gradient(s.y)
    assert found.tolist() == (3 * np.arange(1.0, N + 1) ** 2).tolist()
    with pytest.raises(ti.AccessRuleError, match="does not name"):
        s.gradient(s.x)
