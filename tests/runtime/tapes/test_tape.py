"""The tape: clearing, recording, errors, and the state after it."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import cubed, single, taped


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_the_loss_starts_at_zero():
    x, y = single("x"), single("y")

    @ti.kernel
    def add():
        y[None] += 3 * x[None]

    x[None], y[None] = 2.0, 100.0
    with ti.Tape(y):
        assert y[None] == 0.0
        add()
    assert (y[None], x.grad[None]) == (6.0, 3.0)


def test_gradients_are_cleared_on_entry():
    x, y, cube = cubed()
    x.grad[None] = 100.0
    with ti.Tape(y):
        cube()
    assert x.grad[None] == 12.0
    with ti.Tape(y):
        cube()
    assert x.grad[None] == 12.0


def test_gradients_that_are_kept_are_added_to():
    x, y, cube = cubed()
    x.grad[None] = 100.0
    with ti.Tape(y, clear_gradients=False):
        cube()
    assert x.grad[None] == 112.0
    with ti.Tape(y, clear_gradients=False):
        cube()
    assert x.grad[None] == 124.0


def test_gradients_written_inside_do_not_disturb():
    x, y, cube = cubed()
    with ti.Tape(y):
        y.grad[None] = 50.0
        cube()
    assert x.grad[None] == 12.0


def test_gradients_left_inside_are_added_to():
    x, y, cube = cubed()
    with pytest.warns(ti.GradientWarning, match="the block changed `x.grad`: the gradient of"):
        taped(y, lambda: x.grad.fill(100.0), cube)
    assert x.grad[None] == 112.0


def test_an_exception_leaves_everything():
    x, y, cube = cubed()
    x.grad[None] = 5.0
    with pytest.raises(ZeroDivisionError):
        taped(y, cube, lambda: 1 / 0, clear_gradients=False)
    assert (y[None], x.grad[None]) == (8.0, 5.0)
    with ti.Tape(y):
        cube()
    assert x.grad[None] == 12.0


def test_a_loss_of_one_element():
    w = ti.ndarray(ti.f64, 3, needs_grad=True)
    w.from_numpy(np.array([1.0, 2.0, 3.0]))

    @ti.kernel
    def squares(w: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in w:
            for at in ti.grouped(loss):
                loss[at] += w[i] ** 2

    losses = [ti.ndarray(ti.f64, (1,), needs_grad=True), ti.field(ti.f64, (1, 1), needs_grad=True, name="s")]
    for loss in losses:
        for _ in range(2):
            with ti.Tape(loss) as tape:
                squares(w, loss)
            assert w.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
        assert (loss.array.item(), loss.grad.array.item()) == (14.0, 1.0)
        tape.backward(seed=3.0)
        assert w.grad.to_numpy().tolist() == [6.0, 12.0, 18.0]
        assert tape.gradient(w).tolist() == [2.0, 4.0, 6.0]
        with ti.ad.FwdMode(loss=loss, param=w, seed=[1.0, 0.0, 1.0]):
            squares(w, loss)
        assert loss.dual.array.item() == 8.0
        with ti.ad.FwdMode(param=w, seed=[1.0, 0.0, 1.0]), ti.Tape(loss):
            squares(w, loss)
        assert w.grad.dual.to_numpy().tolist() == [2.0, 0.0, 2.0]
        assert ti.check_grad(lambda: squares(w, loss), wrt=w, loss=loss, order=2)  # noqa: B023
        with ti.Tape(loss, grad_check=[w]):
            squares(w, loss)


def test_a_loss_that_is_none():
    n, v = ti.field(ti.i32, shape=(), name="n"), ti.field(ti.f32, shape=3, needs_grad=True, name="v")
    plain, unplaced = single("plain", needs_grad=False), ti.field(ti.f32, needs_grad=True, name="u")
    w = ti.Vector.field(2, ti.f32, shape=(), needs_grad=True, name="w")
    for loss, message in (
        (3.0, "the loss must be a field, not float"),
        (None, "the loss must be a field, not NoneType"),
        (n, "the loss must be a float field, `n` holds i32"),
        (v, r"must be a single number, `v` has shape \(3,\)"),
        (w, r"`w` has shape \(\) of vectors of shape \(2,\)"),
        (plain, "the loss `plain` has no gradient"),
    ):
        with pytest.raises(ti.GradientError, match=message):
            ti.Tape(loss)
    with pytest.raises(RuntimeError, match="`u` has not been placed yet"):
        ti.Tape(unplaced)


def test_options_that_it_does_not_have():
    y = single("y")
    with pytest.raises(ValueError, match="on_overwrite"):
        ti.Tape(y, on_overwrite="ignore")
    with pytest.raises(TypeError):
        ti.Tape(y, clear_gradient=True)


def test_a_loss_that_nothing_wrote():
    _x, _, cube = cubed()
    z = single("z")
    with pytest.warns(ti.GradientWarning, match="no call inside the tape wrote the loss `z`"), ti.Tape(z):
        cube()


def test_a_field_without_gradient_in_between():
    x, z = single("x"), single("z")
    y = single("y", needs_grad=False)

    @ti.kernel
    def first():
        y[None] = x[None] ** 2

    @ti.kernel
    def second():
        z[None] = 3 * y[None]

    x[None] = 5.0
    for _ in range(2):
        with ti.Tape(z):
            first()
            second()
        assert x.grad[None] == 30.0
    with pytest.raises(ti.GradientError, match="`y` has no gradient"):
        y.grad[None]


def test_a_field_that_becomes_active_late():
    """`y` is a constant for the first call, and carries a gradient afterwards."""
    x, z = single("x"), single("z")
    y = single("y", needs_grad=False)

    @ti.kernel
    def use():
        z[None] += 2 * y[None] + x[None]

    @ti.kernel
    def set_y():
        y[None] = 10 * x[None]

    x[None] = 1.0
    with ti.Tape(z):
        use()
        set_y()
        use()
    assert x.grad[None] == 1 + 1 + 20


def test_writes_by_python_are_recorded():
    x, y, w = (ti.field(ti.f64, shape=2, needs_grad=True) for _ in range(3))
    loss = single("loss")

    @ti.kernel
    def weigh():
        for i in x:
            loss[None] += (i + 1) * x[i] + 10 * y[i]

    w.from_numpy(np.array([4.0, 5.0]))
    with ti.Tape(loss):
        x[0] = 100.0
        y.copy_from(w)
        weigh()
    assert loss[None] == 100.0 + 90.0
    assert x.grad.to_numpy().tolist() == [0.0, 2.0]
    with pytest.warns(ti.GradientWarning, match="overwrite `y` before they read it"):
        assert y.grad.to_numpy().tolist() == [0.0, 0.0]
    assert w.grad.to_numpy().tolist() == [10.0, 10.0]
    with ti.Tape(loss):
        x.from_numpy(np.array([1.0, 2.0]))
        y.fill(3.0)
        weigh()
    assert loss[None] == 1.0 + 4.0 + 60.0
    for field, name in ((x, "x"), (y, "y")):
        with pytest.warns(ti.GradientWarning, match=f"overwrite `{name}` before they read it"):
            assert field.grad.to_numpy().tolist() == [0.0, 0.0]


def test_writes_of_vectors_by_python_are_recorded():
    v = ti.Vector.field(2, ti.f64, shape=2, needs_grad=True)
    loss = single("loss")

    @ti.kernel
    def total():
        for i in v:
            loss[None] += v[i].sum()

    with ti.Tape(loss):
        v[0] = [1.0, 2.0]
        v[1][1] = 5.0
        total()
    assert loss[None] == 8.0
    assert v.grad.to_numpy().tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_reading_an_active_value_warns():
    x, y, cube = cubed()
    z = single("z")

    @ti.kernel
    def scaled(s: float):
        z[None] = s * x[None]

    with pytest.warns(ti.GradientWarning, match="`y` is read into Python inside the tape"):
        taped(z, cube, lambda: scaled(y[None]))
    assert (z[None], x.grad[None]) == (16.0, 8.0)


def test_a_launch_that_failed_gives_no_gradient():
    x, y = ti.field(ti.f64, shape=2, needs_grad=True), single("y")

    @ti.kernel
    def read(i: ti.i32):
        y[None] += x[i]

    def survive():
        with pytest.raises(ti.BoundsError):
            read(5)

    with pytest.raises(ti.GradientError, match="a launch inside the tape failed"):
        taped(y, lambda: read(0), survive)


def test_a_tape_is_used_once():
    _, y, cube = cubed()
    tape = ti.Tape(y)
    with tape:
        cube()
    with pytest.raises(RuntimeError, match="can be used once"), tape:
        cube()


def test_a_tape_that_is_left_twice_says_so():
    x, y, cube = cubed()
    with ti.Tape(y) as tape:
        cube()
    with pytest.raises(RuntimeError, match="is not open"):
        tape.__exit__(None, None, None)
    assert x.grad[None] == 12.0


@pytest.mark.filterwarnings("ignore:warning.cut:dsim.DsimWarning")
def test_what_is_inside_cannot_outlast_what_is_around():
    x, y, cube = cubed()
    other, around = single("other"), single("around")
    outer, inner, forward = ti.Tape(around), ti.Tape(y), ti.ad.FwdMode(loss=y, param=x)
    outer.__enter__()
    inner.__enter__()
    cube()
    forward.__enter__()
    outer.__exit__(None, None, None)
    cube()
    for context in (forward, inner):
        with pytest.raises(RuntimeError, match="ended first"):
            context.__exit__(None, None, None)
    with ti.Tape(other):
        with pytest.raises(RuntimeError, match="ended first"):
            inner.__exit__(None, None, None)
        other[None] += 1.0
    with ti.Tape(y):
        cube()
    assert x.grad[None] == 12.0


def test_a_backward_pass_skips_what_does_not_reach_the_loss():
    x, y, cube = cubed()
    z = single("z")

    @ti.kernel
    def aside():
        z[None] = ti.log(x[None] - 2.0)  # its derivative is infinite

    with ti.Tape(y):
        cube()
        aside()
    assert x.grad[None] == 12.0


def test_a_returned_value_is_cut():
    x, y = single("x"), single("y")

    @ti.kernel
    def squared() -> float:
        return x[None] ** 2

    x[None] = 3.0
    with pytest.warns(ti.GradientWarning) as said, ti.Tape(y):
        y[None] = squared()
    assert "`squared` returns a value that depends on fields: its gradient is cut" in str(said[0].message)
    assert "help: write the value to a 0-D field" in str(said[0].message)
    assert y[None] == 9.0
    with pytest.warns(ti.GradientWarning, match="`squared` returns a value that depends on `x` to Python"):
        assert x.grad[None] == 0.0


def test_warnings_point_to_the_persons_line():
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def square() -> ti.f64:
        return x[None] ** 2

    @ti.kernel
    def linear():
        loss[None] += x[None]

    def record():
        with ti.ad.Tape(loss):
            linear()
            assert square() == 0.0

    with pytest.warns(ti.GradientWarning, match="its gradient is cut") as told:
        record()
    assert told[0].filename == __file__


@pytest.mark.parametrize("given", [3, "adjoint", None, ["bar"]], ids=repr)
def test_clear_all_gradients_takes_no_field(given):
    x, y, cube = cubed()
    taped(y, cube)
    with pytest.raises(ti.GradientError) as caught:
        ti.ad.clear_all_gradients(given)
    message = str(caught.value)
    assert message.startswith(
        "error[argument]: `clear_all_gradients` sets the gradients of all fields to 0, and takes no "
    )
    assert message.endswith("help: write `clear_all_gradients()`, or for one field `x.grad.fill(0)`")
    assert x.grad[None] == 12.0


def test_completion_offers_what_is_for_people():
    x, y, _ = cubed()
    assert [n for n in dir(ti.Tape(y)) if not n.startswith("_")] == [
        "backward",
        "calls",
        "check",
        "gradient",
        "gradients",
        "loss",
        "not_finite",
        "profile",
        "saved",
        "saved_bytes",
        "step",
        "steps",
        "trajectory",
    ]
    assert [n for n in dir(ti.ad.FwdMode(y, x)) if not n.startswith("_")] == ["losses", "params"]


def test_a_plain_tape_has_few_attributes_of_its_own():
    """More than 30 make each tape slower: Python keeps the names of so many with the class."""
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    with ti.ad.Tape(y) as tape:
        square()
    assert len(vars(tape)) <= 30
