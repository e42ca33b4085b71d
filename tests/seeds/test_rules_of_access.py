"""Overwritten values that a gradient needs: refused, naming both lines; and the alternatives."""

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def _fields(n=16):
    x = ti.field(dtype=ti.f32, shape=n, needs_grad=True)
    loss = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
    b = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
    for i in range(n):
        x[i] = i
    b[None] = 10
    return x, loss, b


def test_a_value_changed_after_it_was_read_is_refused():
    x, loss, b = _fields()

    @ti.kernel
    def read_then_change():
        loss[None] = x[1] * b[None]
        b[None] += 100

    with pytest.raises(ti.AccessRuleError) as error, ti.Tape(loss, validation=True):
        read_then_change()
    assert isinstance(error.value, AssertionError)
    message = str(error.value)
    assert "loss[None] = x[1] * b[None]" in message
    assert "b[None] += 100" in message
    assert "`b[None]`" in message
    assert "help: " in message


def test_a_value_changed_after_it_was_read_is_saved():
    x, loss, b = _fields()

    @ti.kernel
    def read_then_change():
        loss[None] = x[1] * b[None]
        b[None] += 100

    with ti.Tape(loss) as tape:
        read_then_change()
    assert (x.grad[1], b.grad[None], b[None], tape.saved_bytes) == (10.0, 1.0, 110.0, 4)


def test_the_same_without_the_change_gives_ten():
    x, loss, b = _fields()

    @ti.kernel
    def read_only():
        loss[None] = x[1] * b[None]

    with ti.Tape(loss):
        read_only()
    assert x.grad[1] == 10.0
    assert b.grad[None] == 1.0


def test_a_change_by_the_next_launch_is_refused():
    x, loss, b = _fields()

    @ti.kernel
    def read():
        loss[None] = x[1] * b[None]

    @ti.kernel
    def change():
        b[None] += 100

    def both():
        with ti.Tape(loss, on_overwrite="error"):
            read()
            change()

    with pytest.raises(ti.AccessRuleError) as error:
        both()
    assert "loss[None] = x[1] * b[None]" in str(error.value)
    assert "b[None] += 100" in str(error.value)


def test_a_change_by_python_inside_the_tape_is_refused():
    x, loss, b = _fields()

    @ti.kernel
    def read():
        loss[None] = x[1] * b[None]

    def both():
        with ti.Tape(loss, on_overwrite="error"):
            read()
            b[None] = 110

    with pytest.raises(ti.AccessRuleError, match=r"x\[1\] \* b\[None\]"):
        both()


def test_a_product_after_a_sum_is_refused():
    x, loss, _ = _fields()

    @ti.kernel
    def sum_then_scale():
        loss[None] += x[1] ** 2
        loss[None] *= x[2]

    loss.grad[None] = 1
    loss[None] = 2
    sum_then_scale()
    with pytest.raises(ti.AccessRuleError) as error:
        sum_then_scale.grad()
    assert "loss[None] *= x[2]" in str(error.value)
    with pytest.raises(ti.AccessRuleError, match=r"loss\[None\] \*= x\[2\]"), ti.Tape(loss, validation=True):
        sum_then_scale()


def test_the_same_as_one_store():
    x, loss, _ = _fields()

    @ti.kernel
    def at_once():
        loss[None] = (2 + x[1] ** 2) * x[2]

    loss.grad[None] = 1
    loss[None] = 2
    at_once()
    at_once.grad()
    assert (x.grad[1], x.grad[2]) == (4.0, 3.0)


def test_accumulation_twice_is_allowed():
    x, loss, _ = _fields()

    @ti.kernel
    def twice():
        loss[None] += x[1] ** 2
        ti.atomic_add(loss[None], x[2] * x[3])

    with ti.Tape(loss):
        twice()
        twice()
    assert [x.grad[i] for i in range(4)] == [0.0, 4.0, 6.0, 4.0]
