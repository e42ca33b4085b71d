"""A gradient that is zero because nothing leads to the loss says so, and why, when a person looks at it."""

import gc
import weakref

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single, taped

pytestmark = [
    pytest.mark.filterwarnings("ignore:warning.cut:dsim.DsimWarning"),
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
]


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Fields:
    """A loss that `square` computes from x; a field w beside it, and kernels for the ways that end."""

    def __init__(self):
        self.x, self.y, self.loss = single("x"), single("y"), single("loss")
        self.w = ti.field(ti.f64, shape=4, needs_grad=True, name="w")
        self.n = ti.field(ti.i32, shape=(), name="n")
        self.x[None] = 3.0
        self.w.fill(2.0)
        x, y, w, loss = self.x, self.y, self.w, self.loss

        @ti.kernel
        def square():
            loss[None] += x[None] ** 2

        @ti.kernel
        def double():
            y[None] = 2.0 * w[1]

        @ti.kernel
        def use():
            loss[None] += y[None]

        @ti.kernel
        def use_value(v: float):
            loss[None] += v

        self.square, self.double, self.use, self.use_value = square, double, use, use_value


def told(look):
    """The one warning that `look` gives, and none when it looks again."""
    with pytest.warns(ti.GradientWarning) as said:
        look()
    look()
    (one,) = said
    return str(one.message)


def test_a_field_that_no_call_read():
    f = Fields()
    taped(f.loss, f.square)
    message = told(lambda: f.w.grad[0])
    assert message.startswith(
        "warning[unreached]: the gradient of `w` is 0: no call inside the tape reads `w`\n  --> "
    )
    assert "│     message = told(lambda: f.w.grad[0])\n" in message
    assert message.endswith("help: launch what uses it inside the `with` block")


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
    assert grad[0] == 0.0  # nobody can say why any more


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


def test_what_it_leads_to_is_not_used():
    f = Fields()
    taped(f.loss, f.square, f.double)
    message = told(lambda: f.w.grad[0])
    assert "is 0: `w` only leads to `y`, and no call inside the tape reads it" in message


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
    assert "help: the tape differentiates by the values that fields have on entry" in message


def test_an_intermediate_value_that_the_tape_overwrites_before_it_reads_it():
    f = Fields()
    taped(f.loss, f.double, f.use)
    message = told(lambda: f.y.grad[None])
    assert "the gradient of `y` is 0: the calls inside the tape overwrite `y` before they read it" in message
    assert "help: the tape differentiates by the values that fields have on entry" in message


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


def ends(f, kernel, *others):
    taped(f.loss, f.square, kernel, *others)
    message = told(lambda: f.w.grad[0])
    assert message.startswith("warning[unreached]: the gradient of `w` is 0: the way to `loss` ends here\n")
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
    assert "help: leave out `stop_grad` or `no_grad`" in message


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
    assert "`total` returns what depends on `w` to Python" in told(lambda: f.w.grad[0])


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


# ------------------------------------------------------------------ forward mode


def forward(f, *calls, param=None):
    with ti.ad.FwdMode(loss=f.loss, param=param or f.x):
        for call in calls:
            call()


def test_a_tangent_that_no_call_leads_to():
    f = Fields()
    forward(f, f.double, f.use)
    message = told(lambda: f.loss.dual[None])
    assert "the tangent of `loss` along `x` is 0: no call inside the forward mode reads `x`" in message
    forward(f)
    message = told(lambda: f.loss.dual[None])
    assert "the tangent of `loss` along `x` is 0: no call inside the forward mode writes it" in message


def test_a_tangent_that_is_zero_by_its_value():
    f = Fields()
    f.x[None] = 0.0
    forward(f, f.square)
    assert f.loss.dual[None] == 0.0


@pytest.mark.filterwarnings("error")
def test_a_value_read_into_python_in_forward_mode():
    f = Fields()
    x, y = f.x, f.y

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    with pytest.warns(
        ti.GradientWarning, match="`y` is read into Python inside the forward mode: its tangent"
    ):
        forward(f, cube, lambda: f.use_value(y[None]))
    assert "`y`, which depends on `x`, was read into Python" in told(lambda: f.loss.dual[None])


@pytest.mark.filterwarnings("error")
def test_a_value_returned_in_forward_mode():
    f = Fields()
    x, loss = f.x, f.loss

    @ti.kernel
    def cube() -> float:
        return x[None] ** 3

    def run():
        loss[None] = cube()

    with pytest.warns(ti.GradientWarning, match="`cube` returns a value that depends on fields: its tangent"):
        forward(f, run)
    assert "`cube` returns what depends on `x` to Python" in told(lambda: loss.dual[None])


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
