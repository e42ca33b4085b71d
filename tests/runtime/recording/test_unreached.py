"""A zero gradient without a path to the loss is explained when it is read, and only then.

The reasons that it gives are in ``test_unreached_reasons.py``, tangents in ``test_unreached_tangents.py``.
"""

import gc
import weakref

import numpy as np
import pytest

import dsim as ti
from tests.runtime.recording.unreached import Fields, told
from tests.runtime.taping import taped

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_a_field_that_no_call_read():
    f = Fields()
    taped(f.loss, f.square)
    message = told(lambda: f.w.grad[0])
    assert message.startswith(
        "warning[unreached]: the gradient of `w` is 0: no call inside the tape reads `w`\n  --> "
    )
    assert "│     message = told(lambda: f.w.grad[0])\n" in message
    assert message.endswith("help: launch the kernel that uses it inside the `with` block")


@pytest.mark.parametrize(
    "look",
    [
        lambda grad: grad[2],
        lambda grad: grad.to_numpy(),
        lambda grad: grad.array,
        np.asarray,
        str,
        lambda grad: ti.field(ti.f64, shape=4).copy_from(grad),
    ],
    ids=["element", "to_numpy", "array", "asarray", "print", "copy_from"],
)
def test_every_way_to_look(look):
    f = Fields()
    taped(f.loss, f.square)
    assert "no call inside the tape reads `w`" in told(lambda: look(f.w.grad))


def test_a_kernel_that_uses_it_looks_at_it():
    f = Fields()
    w = f.w

    @ti.kernel
    def descend():
        for i in w:
            w[i] -= 0.1 * w.grad[i]

    taped(f.loss, f.square)
    assert "no call inside the tape reads `w`" in told(descend)


def test_vectors_are_looked_at_when_their_numbers_are():
    f = Fields()
    v = ti.Vector.field(2, ti.f64, shape=3, needs_grad=True, name="v")
    taped(f.loss, f.square)
    element = v.grad[1]
    assert "no call inside the tape reads `v`" in told(lambda: element[0])


def test_nothing_is_said_of_what_the_loss_depends_on_nor_of_what_nobody_looks_at():
    f = Fields()
    f.w.fill(0.0)
    taped(f.loss, f.square, f.double, f.use)
    assert f.w.grad.to_numpy().tolist() == [0.0, 2.0, 0.0, 0.0]
    taped(f.loss, f.square)


def test_nothing_is_said_once_a_person_has_set_it():
    f = Fields()
    taped(f.loss, f.square)
    f.w.grad[0] = 1.0
    assert f.w.grad[0] == 1.0


def test_nothing_is_said_once_a_person_has_cleared_all():
    f = Fields()
    taped(f.loss, f.square)
    ti.ad.clear_all_gradients()
    assert f.w.grad[0] == 0.0


def test_nothing_is_said_of_a_field_that_was_made_later():
    f = Fields()
    taped(f.loss, f.square)
    later = ti.field(ti.f64, shape=4, needs_grad=True)
    assert later.grad[0] == 0.0


def test_what_is_remembered_keeps_no_field_alive():
    grad = ti.field(ti.f64, shape=4, needs_grad=True).grad
    f = Fields()
    taped(f.loss, f.square, f.double)
    gone = weakref.ref(f.y)
    del f
    gc.collect()
    assert gone() is None
    assert grad[0] == 0.0  # the reason is no longer known


def test_nothing_is_said_after_an_exception():
    f = Fields()
    taped(f.loss, f.square)

    def failing():
        with ti.Tape(f.loss):
            f.square()
            raise KeyError("a person's own")

    with pytest.raises(KeyError):
        failing()
    assert f.w.grad[0] == 0.0


def test_each_tape_says_it_once():
    f = Fields()
    for _ in range(2):
        taped(f.loss, f.square)
        assert "no call inside the tape reads `w`" in told(lambda: f.w.grad[0])


def test_nothing_is_said_of_the_loss_itself():
    f = Fields()
    x, loss = f.x, f.loss

    @ti.kernel
    def store():
        loss[None] = x[None] ** 2

    taped(loss, store)
    assert loss.grad[None] == 0.0


def test_nothing_is_said_of_a_field_that_is_overwritten_in_part():
    f = Fields()
    w, loss = f.w, f.loss

    @ti.kernel
    def run():
        for t in range(3):
            w[t + 1] = ti.sin(w[t])
        loss[None] += w[3]

    taped(loss, run)
    assert w.grad[1] == 0.0
    assert w.grad[0] != 0.0


def test_nothing_is_said_of_state_in_place_at_a_stationary_point():
    f = Fields()
    w, loss = f.w, f.loss
    w.fill(0.0)

    @ti.kernel
    def halve():
        for i in w:
            w[i] = 0.5 * w[i]

    @ti.kernel
    def total():
        for i in w:
            loss[None] += w[i] ** 2

    taped(loss, halve, total)
    assert not w.grad.to_numpy().any()
