"""A tape's messages about overwritten values."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import cubed, single, taped


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_an_overwritten_input_has_no_gradient():
    x, y = single("x"), single("y")

    @ti.kernel
    def overwrite():
        x[None] = 7.0

    @ti.kernel
    def triple():
        y[None] = 3 * x[None]

    with ti.Tape(y):
        overwrite()
        triple()
    assert y[None] == 21.0
    with pytest.warns(ti.GradientWarning, match="overwrite `x` before they read it"):
        assert x.grad[None] == 0.0


def test_an_overwritten_value_is_refused_before_it_is_lost():
    x, y, cube = cubed()

    def change():
        x[None] = 3.0

    with pytest.raises(ti.AccessRuleError) as error:
        taped(y, cube, change, on_overwrite="error")
    message = str(error.value)
    assert "error[overwritten]: `x[None]` is overwritten from Python after `cube` read it" in message
    assert "y[None] = x[None] ** 3" in message
    assert "read here, in `cube`" in message
    assert "x[None] = 3.0" in message
    assert "help: " in message
    assert x[None] == 2.0


def test_an_overwrite_by_another_kernel_names_field_and_element():
    x = ti.field(ti.f64, shape=(4, 3), needs_grad=True)
    loss = single("loss")

    @ti.kernel
    def collect(i: ti.i32):
        for j in range(3):
            loss[None] += x[i, j] ** 2

    @ti.kernel
    def change(i: ti.i32):
        for j in range(1, 3):
            x[i, j] = 0.0

    with ti.Tape(loss):
        collect(1)
        change(0)
        change(2)
    with pytest.raises(ti.AccessRuleError) as error:
        taped(loss, lambda: collect(0), lambda: collect(1), lambda: change(1), validation=True)
    message = str(error.value)
    assert "`x[1, 1:3]` is overwritten by `change` after `collect` read it" in message
    assert "loss[None] += x[i, j] ** 2" in message
    assert "x[i, j] = 0.0" in message


def test_linear_programs_may_overwrite():
    x, y = single("x"), single("y")

    @ti.kernel
    def double():
        x[None] = 2 * x[None]

    @ti.kernel
    def add():
        y[None] += x[None]

    x[None] = 1.0
    with ti.Tape(y):
        for _ in range(3):
            double()
            add()
    assert (y[None], x.grad[None]) == (14.0, 14.0)


def test_steps_along_an_axis_of_time():
    n = 50
    x, loss = ti.field(ti.f64, shape=n + 1, needs_grad=True), single("loss")

    @ti.kernel
    def step(t: ti.i32):
        x[t + 1] = ti.sin(x[t]) + 0.1

    @ti.kernel
    def last():
        loss[None] = x[n]

    x[0] = 0.3
    with ti.Tape(loss):
        for t in range(n):
            step(t)
        last()
    expected = 1.0
    for t in range(n):
        expected *= np.cos(x[t])
    assert x.grad[0] == pytest.approx(expected, rel=1e-12)


def test_integers_are_data():
    x, y = ti.field(ti.f64, shape=3, needs_grad=True), single("y")
    which = ti.field(ti.i32, shape=())

    @ti.kernel
    def pick():
        y[None] += x[which[None]] ** 2

    x.fill(2.0)
    which[None] = 1
    with ti.Tape(y):
        pick()
    assert x.grad.to_numpy().tolist() == [0.0, 4.0, 0.0]
    with pytest.raises(ti.AccessRuleError, match="`which"):
        taped(y, pick, lambda: which.fill(2), on_overwrite="error")


def test_a_value_that_an_accumulation_replaced_is_told_once():
    x, total, loss = ti.field(ti.f64, shape=3, needs_grad=True), single("total"), single("loss")

    @ti.kernel
    def running():
        for i in range(3):
            before = ti.atomic_add(total[None], x[i])
            loss[None] += before * x[i]

    @ti.kernel
    def multiply():
        ti.atomic_mul(x[1], x[0])

    with pytest.warns(UserWarning, match="runs serially"):
        running()
    with pytest.raises(ti.AccessRuleError) as e:
        taped(loss, running, on_overwrite="error")
    (said,) = e.value.diagnostics
    needs = "the backward pass needs the value of"
    assert said.message == f"{needs} `total[None]` before each `+=`, which is gone"
    assert said.help == "do not use the returned value, or compute it from values that are not overwritten"
    with pytest.raises(ti.AccessRuleError) as e:
        taped(loss, multiply, on_overwrite="error")
    (said,) = e.value.diagnostics
    assert said.message == f"{needs} `x[1]` before each `*=`, which is gone"
    assert said.help == "multiply into a local variable, and write that to the field once"
