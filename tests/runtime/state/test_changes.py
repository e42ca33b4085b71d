"""Restored values do not count as changed; all other writes do."""

import gc

import numpy as np
import pytest

import dsim as ti
from dsim.notebook.running.state import gradients_kept, kept
from dsim.runtime.launching.forms import FORMS
from tests.runtime.taping import cubed, single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def recorded(loss, *calls):
    with ti.Tape(loss) as tape:
        for call in calls:
            call()
    return tape


def mover(field, by=1.0):
    @ti.kernel
    def move():
        field[None] += by

    return move


def test_a_tape_of_before_goes_backwards_after_what_was_undone():
    x, y, cube = cubed()
    move = mover(x)
    move()
    before = recorded(y, cube)
    gradient = x.grad[None]
    for undo in (lambda: kept([x, y]), lambda: kept([y, x])):
        with undo():
            move()
            x[None] = 7.0
            cube()
        before.backward()
        assert x.grad[None] == gradient
    move()
    with pytest.raises(ti.GradientError, match="`x` was changed by `move`"):
        before.backward()


@pytest.mark.parametrize("write", ["kernel", "python"])
def test_what_was_written_before_and_after_still_counts(write):
    x, y, cube = cubed()
    move = mover(x)
    change = move if write == "kernel" else lambda: x.fill(3.0)
    before = recorded(y, cube)
    change()
    with kept([x, y]):
        change()
    with pytest.raises(ti.GradientError, match="`x` was changed"):
        before.backward()
    after = recorded(y, cube)
    with kept([x, y]):
        change()
    after.backward()
    assert x.grad[None] == 3 * x[None] ** 2
    change()
    with pytest.raises(ti.GradientError, match="`x` was changed"):
        after.backward()


def test_a_tape_that_ended_in_between_has_lost_what_was_put_back():
    x, y, cube = cubed()
    move = mover(x)
    with kept([x, y]):
        first = recorded(y, cube)
        move()
        second = recorded(y, cube)
    for tape in (first, second):
        with pytest.raises(ti.GradientError, match="`x` was restored after the tape's block") as error:
            tape.backward()
        assert str(error.value).endswith("help: run the block again")


def test_a_tape_that_ended_in_between_keeps_what_nobody_wrote():
    x, y, cube = cubed()
    with kept([x, y]):
        tape = recorded(y, cube)
    tape.backward(2.0)
    assert x.grad[None] == 2 * 3 * x[None] ** 2
    with kept([x, y]):
        x[None] = 9.0
    tape.backward()
    assert x.grad[None] == 3 * x[None] ** 2


def test_what_is_not_put_back_has_changed():
    x, y, cube = cubed()
    z = single("z")
    move = mover(x)
    before = recorded(y, cube)
    with kept([z, y]):
        move()
    with pytest.raises(ti.GradientError, match="`x` was changed from Python"):
        before.backward()


def test_trials_inside_of_trials():
    x, y, cube = cubed()
    move = mover(x)
    before = recorded(y, cube)
    with kept([x, y]):
        move()
        inner = recorded(y, cube)
        with kept([x]):
            move()
        inner.backward()
        assert x.grad[None] == 3 * 3.0**2
    before.backward()
    assert x.grad[None] == 3 * 2.0**2
    with pytest.raises(ti.GradientError, match="`x` was restored"):
        inner.backward()


def test_gradients_are_put_back_with_their_notes():
    x, y, cube = cubed()
    z, loss = single("z"), single("loss")

    @ti.kernel
    def use():
        loss[None] += z[None] * x.grad[None] ** 2

    cube()
    x.grad[None] = 3.0
    z[None] = 2.0
    with ti.Tape(loss, clear_gradients=False) as tape:
        use()
    with kept([x, y]), gradients_kept():
        recorded(y, cube)
        assert x.grad[None] == 12.0
    tape.backward()
    with kept([x, y]), gradients_kept(on_error=True):
        recorded(y, cube)
    with pytest.raises(ti.GradientError, match=r"`x\.grad` was changed"):
        tape.backward()


def test_after_an_error_everything_is_put_back_with_its_notes():
    x, y, cube = cubed()
    move = mover(x)
    before = recorded(y, cube)

    def fail():
        with kept([x, y]), gradients_kept(on_error=True):
            move()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    before.backward()
    assert x.grad[None] == 3 * 2.0**2


def test_notes_of_what_could_not_be_put_back():
    """Then nobody knows what is there."""
    x, y, cube = cubed()
    before = recorded(y, cube)
    given = np.zeros(3)

    def fail():
        with kept([given, x, y]):
            x[None] = 5.0
            given.flags.writeable = False

    with pytest.raises(ValueError, match="read-only"):
        fail()
    with pytest.raises(ti.GradientError, match="`x` was changed"):
        before.backward()


def test_checking_a_gradient_leaves_tapes_of_before_alone():
    x, y, cube = cubed()
    move = mover(x)
    before = recorded(y, cube)
    assert ti.check_grad(lambda: (move(), cube()), [x], y)
    before.backward()
    assert x.grad[None] == 3 * 2.0**2
    with ti.Tape(y, grad_check=[x]):
        cube()
    before.backward()
    with ti.Tape(y, grad_check=[x]) as moved:
        move()
        cube()
    moved.backward()
    assert x.grad[None] == 3 * 3.0**2
    with pytest.raises(ti.GradientError, match="`x` was changed by `move`"):
        before.backward()


def move_and_go(field):
    """A kernel that runs, and of which only references in a cycle are left."""
    mover(field)()


class Random:
    """Writes, tapes and trials in a random order, with a number for each state that `x` was in."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.x, self.y, self.cube = cubed()
        self.move = mover(self.x, 0.5)
        self.states, self.now = 1, 0
        self.trials = []  # those that are open: whether x was written inside
        self.tapes = []

    def wrote(self):
        self.now, self.states = self.states, self.states + 1
        if self.trials:
            self.trials[-1]["wrote"] = True

    def act(self):
        for _ in range(self.random.integers(1, 5)):
            match self.random.integers(0, 7):
                case 0:
                    self.move()
                    self.wrote()
                case 1:
                    self.x[None] = float(self.random.integers(1, 4))
                    self.wrote()
                case 2 | 3:
                    tape = recorded(self.y, self.cube)
                    self.tapes.append((tape, self.now, self.x[None], tuple(self.trials)))
                case 4 if len(self.trials) < 3:
                    state = self.now
                    self.trials.append({"wrote": False})
                    with kept([self.x, self.y]):
                        self.act()
                    self.now = state
                    self.trials.pop()
                case 5:
                    move_and_go(self.x)
                    self.wrote()
                case 6:
                    gc.collect()


@pytest.mark.slow
def test_random_orders_of_writing_undoing_and_going_back():
    """A tape that goes back is right; and it does if its state is there, unless its own trial wrote to it."""
    went = refused = 0
    for seed in range(200):
        made = Random(seed)
        made.act()
        for tape, state, value, trials in made.tapes:
            try:
                tape.backward()
            except ti.GradientError:
                assert state != made.now or any(t["wrote"] for t in trials)
                refused += 1
            else:
                assert state == made.now
                assert (made.x[None], made.x.grad[None]) == (value, 3 * value**2)
                went += 1
    assert went > 50
    assert refused > 50


@pytest.mark.parametrize("of", ["before", "between", "both"])
def test_what_kernels_wrote_is_known_after_they_went(of):
    x, y, cube = cubed()
    x[None] = 2.0
    with kept([x, y]):  # compiles what the others share
        move_and_go(x)
    tape = recorded(y, cube)
    gc.collect()
    if of != "between":
        move_and_go(x)
    with kept([x]):
        if of != "before":
            move_and_go(x)
        gc.collect()
    if of == "between":
        tape.backward()
        assert x.grad[None] == 3 * x[None] ** 2
    else:
        with pytest.raises(ti.GradientError, match="`x` was changed by `move` after the tape's block"):
            tape.backward()


def test_what_a_kernel_that_went_wrote_beside_what_is_restored_counts():
    x, y, cube = cubed()
    other, z, cube_other = cubed()
    tapes = recorded(y, cube), recorded(z, cube_other)
    gc.collect()

    def both():
        @ti.kernel
        def move_both():
            x[None] += 1.0
            other[None] += 1.0

        move_both()

    with kept([x]):
        both()
        gc.collect()
    tapes[0].backward()
    with pytest.raises(ti.GradientError, match="`x` was changed by `move_both`"):  # `cubed` calls it `x`, too
        tapes[1].backward()


def test_trials_in_a_trial_forget_only_what_is_theirs():
    x, y, cube = cubed()
    tape = recorded(y, cube)
    held = [mover(x)]
    held[0]()
    with kept([x]):
        held[0]()
        tape_inside = recorded(y, cube)
        with kept([x]):
            held[0]()
            held.clear()
            gc.collect()
        tape_inside.backward()
        assert x.grad[None] == 3 * x[None] ** 2
    for each, what in ((tape, "changed by `move`"), (tape_inside, "restored")):
        with pytest.raises(ti.GradientError, match=f"`x` was {what} after the tape's block"):
            each.backward()


def test_of_many_kernels_that_went_the_latest_is_known():
    x, y, cube = cubed()
    tape = None
    for n in range(300):
        if n == 299:
            tape = recorded(y, cube)
        move_and_go(x)
        if n % 10 == 0:
            gc.collect()
    gc.collect()
    with pytest.raises(ti.GradientError, match="`x` was changed by `move`"):
        tape.backward()
    assert len(x.writers.since(-1)) < 300


def test_forms_of_before_keep_their_notes():
    x, _, _ = cubed()
    move = mover(x)
    move()
    ran = {form: form.last.moment for form in FORMS}
    with kept([x]):
        move()
    assert all(form.last.moment == ran.get(form, -1) for form in FORMS)
