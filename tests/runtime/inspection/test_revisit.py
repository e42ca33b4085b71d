"""A tape after its block: repeated backward sweeps."""

import gc
import warnings

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import cubed, same, single, state, swings


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_backwards_again_gives_the_same():
    q, p, loss, run = swings()
    with ti.Tape(loss) as tape:
        run()
    before = state(q, p, loss)
    for _ in range(3):
        tape.backward()
        assert same(state(q, p, loss), before)
    q.grad.fill(7.0)
    tape.backward()
    assert same(state(q, p, loss), before)


def test_backwards_from_another_seed():
    q, p, loss, run = swings()
    with ti.Tape(loss) as tape:
        run()
    before = q.grad.to_numpy(), p.grad.to_numpy()
    tape.backward(-4.0)
    assert (q.grad.to_numpy() == -4.0 * before[0]).all()
    assert (p.grad.to_numpy() == -4.0 * before[1]).all()
    assert loss.grad[None] == -4.0


def test_backwards_again_adds_to_gradients_that_are_kept():
    x, y, cube = cubed()
    x.grad[None] = 100.0
    with ti.Tape(y, clear_gradients=False) as tape:
        cube()
    assert x.grad[None] == 112.0
    tape.backward()
    assert x.grad[None] == 124.0


def test_gradients_that_the_block_wrote_count_again():
    x, y, cube = cubed()
    with warnings.catch_warnings(action="ignore"), ti.Tape(y) as tape:
        x.grad[None] = 100.0
        cube()
    assert x.grad[None] == 112.0
    for _ in range(2):
        tape.backward()
        assert x.grad[None] == 112.0


def test_several_tapes_at_once():
    x, y, cube = cubed()
    z = single("z")

    @ti.kernel
    def square():
        z[None] = x[None] ** 2

    with ti.Tape(y) as first:
        cube()
    with ti.Tape(z) as second:
        square()
    first.backward()
    assert x.grad[None] == 12.0
    second.backward()
    assert x.grad[None] == 4.0


def test_numpy_arrays_that_nobody_used_since():
    w = ti.ndarray(ti.f64, shape=3, needs_grad=True)
    w.from_numpy(np.array([1.0, 2.0, 3.0]))
    loss = single("loss")

    @ti.kernel
    def weigh(w: ti.types.ndarray(), data: ti.types.ndarray()):
        for i in w:
            loss[None] += data[i] * w[i] ** 2

    data = np.array([1.0, 10.0, 100.0])
    with ti.Tape(loss) as tape:
        weigh(w, data)
    data[:] = 0.0
    w.grad.fill(0.0)
    tape.backward()
    assert w.grad.to_numpy().tolist() == [2.0, 40.0, 600.0]
    with ti.Tape(loss):
        weigh(w, np.array([5.0, 5.0, 5.0]))
    with pytest.raises(
        ti.GradientError, match="a NumPy array that this tape's kernels read may have changed"
    ):
        tape.backward()


def test_gradients_of_a_person_run_again():
    x, y, cube = cubed()

    @ti.ad.grad_replaced
    def whole():
        cube()

    @ti.ad.grad_for(whole)
    def back():
        x.grad[None] += 1000.0 * y.grad[None]

    with ti.Tape(y) as tape:
        whole()
    assert x.grad[None] == 1000.0
    tape.backward(2.0)
    assert x.grad[None] == 2000.0
    assert tape.gradient(x) == 1000.0
    assert x.grad[None] == 2000.0


def test_gradients_of_a_person_that_use_numpy_arrays():
    """The tape shows them the arrays as they were while it is open, and has nothing to show afterwards."""
    w, loss, data = ti.ndarray(ti.f64, shape=3, needs_grad=True), single("loss"), np.ones(3)

    @ti.kernel
    def weigh(w: ti.types.ndarray(), d: ti.types.ndarray()):
        for i in w:
            loss[None] += d[i] * w[i] ** 2

    @ti.ad.grad_replaced
    def whole():
        weigh(w, data)

    @ti.ad.grad_for(whole)
    def back():
        weigh.grad(w, data)

    w.fill(1.0)
    with ti.Tape(loss) as tape:
        whole()
    assert w.grad.to_numpy().tolist() == [2.0] * 3
    data[:] = 5.0
    assert "a tape with NumPy arrays in a function under `grad_replaced`" in refused(tape)


# -- when values have changed


def refused(tape):
    for ask in (tape.backward, lambda: tape.gradient(tape.loss), tape.profile):
        with pytest.raises(ti.GradientError) as error:
            ask()
    return str(error.value)


def test_values_that_a_kernel_changed():
    x, y, cube = cubed()

    @ti.kernel
    def move():
        x[None] += 1.0

    with ti.Tape(y) as tape:
        cube()
    move()
    said = refused(tape)
    assert "`x` was changed by `move` after the tape's block, and its values there are needed" in said
    assert "def move():" in said
    assert said.endswith("help: run the block again")


def test_values_that_a_kernel_changed_which_is_gone():
    x, y, cube = cubed()

    def move_once():
        @ti.kernel
        def move():
            x[None] += 1.0

        move()

    with ti.Tape(y) as tape:
        cube()
    move_once()
    gc.collect()
    assert "`x` was changed" in refused(tape)


def test_a_gradient_that_its_own_backward_pass_changed():
    x, y = single("x"), single("y")

    @ti.kernel
    def add():
        y[None] += x[None] ** 2

    with ti.Tape(y) as tape, ti.Tape(y):
        add()
    said = refused(tape)
    assert "the backward pass of this block changed `y.grad`, which a tape inside it reads" in said
    assert "help: use the gradients that it left in the fields" in said


def test_a_gradient_of_an_inner_loss_that_its_own_backward_pass_changed():
    x, y, z = single("x"), single("y"), single("z")
    x[None] = 2.0

    @ti.kernel
    def square():
        y[None] += x[None] ** 2

    @ti.kernel
    def cube():
        z[None] += x[None] ** 3

    with ti.Tape(y) as tape, ti.Tape(z):
        square()
        cube()
    said = refused(tape)
    assert "the backward pass of this block changed `z.grad`, which a tape inside it reads" in said
    z.grad[None] = 5.0
    assert "`z.grad` was changed from Python after the tape's block" in refused(tape)


def test_values_that_python_changed():
    for change in (
        lambda x: x.fill(1.0),
        lambda x: x.from_numpy(np.array(3.0)),
        lambda x: x.copy_from(single("other")),
        lambda x: x.__setitem__(None, 2.0),
    ):
        x, y, cube = cubed()
        with ti.Tape(y) as tape:
            cube()
        change(x)
        assert "`x` was changed from Python after the tape's block" in refused(tape)


def test_values_that_another_tape_changed():
    x, y, cube = cubed()

    @ti.kernel
    def shift():
        x[None] = x[None] + 1.0

    with ti.Tape(y) as tape:
        cube()
    with ti.Tape(y):
        shift()
        cube()
    assert "`x` was changed by `shift`" in refused(tape)


def test_values_that_a_launch_on_arrays_changed():
    x, y, cube = cubed()

    @ti.kernel
    def clear(a: ti.types.ndarray()):
        for i in ti.grouped(a):
            a[i] = 0.0

    with ti.Tape(y) as tape:
        cube()
    clear(x)
    assert "`x` was changed from Python" in refused(tape)


def test_values_that_nobody_needs_may_change():
    """The adjoint of a linear kernel reads nothing; of the others only what they read."""
    x, y = single("x"), single("y")

    @ti.kernel
    def double():
        y[None] += 2.0 * x[None]

    with ti.Tape(y) as tape:
        double()
    x[None], y[None] = 5.0, 6.0
    tape.backward()
    assert (x[None], y[None], x.grad[None]) == (5.0, 6.0, 2.0)


# -- where it cannot be


def within(context, *calls):
    with context:
        for call in calls:
            call()


def test_inside_of_its_block():
    _, y, cube = cubed()
    tape = ti.Tape(y)
    with pytest.raises(ti.GradientError, match="has not ended"):
        tape.backward()
    with pytest.raises(ti.GradientError, match="has not ended"):
        within(tape, cube, tape.backward)


def test_after_an_exception():
    _, y, cube = cubed()
    tape = ti.Tape(y)
    with pytest.raises(ZeroDivisionError):
        within(tape, cube, lambda: 1 / 0)
    assert len(tape.calls) == 1
    with pytest.raises(ti.GradientError, match="block of this tape ended with an error, so"):
        tape.backward()


def test_inside_of_other_blocks():
    x, y, cube = cubed()
    with ti.Tape(y) as tape:
        cube()
    with pytest.raises(ti.GradientError, match="an open `with` block would not see"), ti.ad.FwdMode(y, x):
        tape.backward()
    with ti.ad.FwdMode(y, x), ti.Tape(y) as inner:
        cube()
    with pytest.raises(ti.GradientError, match="inside another `with` block"):
        inner.gradient(x)


def test_gradients_as_values():
    """The result takes the place of what kernels of the block read in `x.grad`."""
    x, y = single("x"), single("y")

    @ti.kernel
    def along():
        y[None] += x[None] ** 2 * x.grad[None]

    def fill():
        x.grad[None] = 5.0

    x[None] = 2.0
    with ti.Tape(y) as tape:
        fill()
        along()
    assert x.grad[None] == 20.0
    with pytest.raises(ti.GradientError, match=r"run backwards only once"):
        tape.backward()


def test_a_loss_that_nothing_wrote():
    x, _y, cube = cubed()
    z = single("z")
    with pytest.warns(ti.GradientWarning, match="no call inside the tape wrote the loss"), ti.Tape(z) as tape:
        cube()
    assert tape.gradient(x, after=-1) == 0.0
    assert tape.profile().gradient_norm.tolist() == [0.0]


@pytest.mark.parametrize("seed", [None, "a", [1, 2], 1j, np.ones(1)])
def test_a_seed_is_a_number(seed):
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def double():
        y[None] = 2 * x[None]

    with ti.ad.Tape(y) as tape:
        double()
    with pytest.raises(ti.GradientError, match="`seed` is the gradient of the loss itself, a number"):
        tape.backward(seed)
    assert x.grad[None] == 2.0
    with pytest.raises(ti.GradientError, match="names calls by their numbers"):
        tape.gradient(x, after=0.0)
    tape.backward(np.float32(3))
    assert x.grad[None] == 6.0
