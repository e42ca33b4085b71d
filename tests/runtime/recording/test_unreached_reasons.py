"""Reasons for a missing path to the loss: its end, an overwrite, a cut or an unused value."""

import pytest

import dsim as ti
from tests.runtime.recording.unreached import Fields, told
from tests.runtime.taping import taped

pytestmark = pytest.mark.filterwarnings("ignore:warning.cut:dsim.DsimWarning")


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_what_it_leads_to_is_not_used():
    f = Fields()
    taped(f.loss, f.square, f.double)
    message = told(lambda: f.w.grad[0])
    assert "is 0: `w` only affects `y`, and no call inside the tape reads it" in message


def test_a_field_that_is_only_written():
    f = Fields()
    x, w = f.x, f.w

    @ti.kernel
    def write():
        for i in w:
            w[i] = x[None]

    taped(f.loss, f.square, write)
    message = told(lambda: f.w.grad[0])
    assert "the calls inside the tape write `w` and never read it" in message
    assert "help: the tape differentiates with respect to the values that fields have on entry" in message


def test_an_intermediate_value_that_the_tape_overwrites_before_it_reads_it():
    f = Fields()
    taped(f.loss, f.double, f.use)
    message = told(lambda: f.y.grad[None])
    assert "the gradient of `y` is 0: the calls inside the tape overwrite `y` before they read it" in message
    assert "help: the tape differentiates with respect to the values that fields have on entry" in message


def ends(f, kernel, *others):
    taped(f.loss, f.square, kernel, *others)
    message = told(lambda: f.w.grad[0])
    assert message.startswith("warning[unreached]: the gradient of `w` is 0: the path to `loss` ends here\n")
    return message


def test_a_way_that_ends_in_an_integer():
    f = Fields()
    x, w, n, loss = f.x, f.w, f.n, f.loss

    @ti.kernel
    def whole():
        n[None] = int(w[0] * 3.0)

    @ti.kernel
    def scale():
        loss[None] += n[None] * x[None]

    message = ends(f, whole, scale)
    assert "n[None] = int(w[0] * 3.0)\n" in message
    assert "^^^^^^^^^^^^^^^ an integer from here on" in message
    assert "help: keep the number a float" in message


def test_a_way_that_ends_in_stop_grad():
    f = Fields()
    x, w, loss = f.x, f.w, f.loss

    @ti.kernel
    def stopped():
        loss[None] += ti.stop_grad(w[1]) * x[None]

    message = ends(f, stopped)
    assert "^^^^^^^^^^^^^^^^^^ cut off here" in message
    assert "help: leave out `stop_grad`, `no_grad` or `needs_grad=False`" in message


def test_a_way_that_ends_in_no_grad():
    f = Fields()
    message = ends(f, ti.ad.no_grad(f.double), f.use)
    assert "y[None] = 2.0 * w[1]\n" in message
    assert "^^^^ cut off here" in message


def test_a_way_that_ends_in_a_comparison():
    f = Fields()
    x, w, loss = f.x, f.w, f.loss

    @ti.kernel
    def compared():
        for i in w:
            if w[i] > 0.5:
                loss[None] += x[None]

    assert "^^^^^^^^^^ only compared here" in ends(f, compared)


def test_a_way_that_ends_in_rounding():
    f = Fields()
    w, loss = f.w, f.loss

    @ti.kernel
    def rounded():
        loss[None] += ti.floor(w[2])

    assert "^^^^^^^^^^^^^^ rounded here" in ends(f, rounded)


def test_a_value_that_was_read_into_python():
    f = Fields()

    def use():
        f.use_value(f.y[None])

    taped(f.loss, f.square, f.double, use)
    assert "is 0: `y`, which depends on `w`, was read into Python" in told(lambda: f.w.grad[0])

    def use_directly():
        f.use_value(f.w[0])

    taped(f.loss, f.square, use_directly)
    assert "is 0: `w` was read into Python" in told(lambda: f.w.grad[0])


def test_a_value_that_a_kernel_returned():
    f = Fields()
    w = f.w

    @ti.kernel
    def total() -> float:
        return w[0] + w[1]

    taped(f.loss, f.square, total)
    assert "`total` returns a value that depends on `w` to Python" in told(lambda: f.w.grad[0])


def test_a_gradient_that_a_person_gives_decides_itself():
    f = Fields()

    @ti.ad.grad_replaced
    def both():
        f.square()
        f.double()

    @ti.ad.grad_for(both)
    def back():
        f.x.grad[None] += 1.0

    taped(f.loss, both)
    assert (f.x.grad[None], f.w.grad[0]) == (1.0, 0.0)
