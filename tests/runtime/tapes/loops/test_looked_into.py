"""Loops with checkpoints: what a tape tells of them, and wrong uses of them."""

import numpy as np
import pytest

import dsim as ti
from tests.refused import refused
from tests.runtime.taping import single
from tests.runtime.walking import Walk, taped


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


@pytest.fixture
def walk():
    return Walk()


def test_the_first_number_that_is_not_finite(walk):
    def run(tape):
        for _ in tape.steps(range(9), slots=2):
            walk.ahead(0.1)

    walk.start()
    walk.k[1] = np.inf
    with pytest.raises(ti.NonFiniteError, match="becomes nan in"):
        taped(walk.loss, run, find_nan=True)


def test_the_first_gradient_that_is_not_finite():
    x, y = single("x"), single("y")

    @ti.kernel
    def root():
        x[None] = ti.sqrt(x[None])

    @ti.kernel
    def end():
        y[None] += x[None]

    def run(tape):
        for _ in tape.steps(range(9), slots=2):
            root()
        end()

    x[None] = 0.0
    with pytest.raises(ti.NonFiniteError) as error:
        taped(y, run, find_nan=True)
    assert "`x.grad[None]` becomes inf in the backward pass of `root`, call 0" in str(error.value)


def test_a_profile_and_the_table(walk):
    tape = walk.recorded(3)
    profile = tape.profile()
    assert len(profile) == 5
    assert np.isfinite(profile.gradient_norm).all()
    assert (profile.backward_seconds > 0).all()
    assert "12 steps" in str(tape)
    assert set(tape.calls[1].reads) == {"k", "x", "y"}


def test_a_value_that_python_reads_in_a_step_gives_a_warning(walk):
    def run(tape):
        for _ in tape.steps(range(9), slots=2):
            walk.ahead(0.1 * walk.x[1])
        walk.between()

    walk.start()
    with pytest.warns(ti.GradientWarning, match="`x` is read into Python inside the tape"):
        taped(walk.loss, run)


def test_the_report_of_what_was_saved(walk):
    tape = walk.recorded(3)
    rows = [row for row in tape.saved if row.writer.endswith("steps")]
    assert [(row.writer, row.times) for row in rows] == [("7 steps", 7), ("12 steps", 12)]
    assert {name for row in rows for name in row.field.split(", ")} == {"x", "y"}
    assert tape.saved.bytes == tape.saved_bytes
    assert "12 steps" in str(tape.saved)


def test_a_profile_from_the_block(walk):
    def run(tape):
        walk.before()
        for t in tape.steps(range(5), slots=2):
            walk.ahead(0.1 * t)
        walk.between()

    walk.start()
    profile = taped(walk.loss, run, profile=True).profile()
    assert np.isnan(profile.seconds).tolist() == [False, True, False]
    assert (profile.backward_seconds > 0).all()


def test_a_bar_in_both_directions(walk, capsys):
    def run(tape):
        for t in tape.steps(range(5), slots=2, progress=True):
            walk.ahead(0.1 * t)
        walk.between()

    walk.start()
    taped(walk.loss, run)
    shown = capsys.readouterr().err
    assert "forward: 100%" in shown
    assert "backward: 100%" in shown
    assert "5/5" in shown


def test_kernels_print_once(walk, capsys):
    x = walk.x

    @ti.kernel
    def told(t: int):
        for i in x:
            x[i] = ti.sin(x[i]) * x[i]
        print("step", t)

    def run(tape):
        for t in tape.steps(range(5), slots=1):
            told(t)
        walk.between()

    walk.start()
    tape = taped(walk.loss, run)
    tape.backward(1.0)
    assert capsys.readouterr().out == "".join(f"step {t}\n" for t in range(5))


# -- refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slots": 0}, "`slots` is a number of states, at least 1, not 0"),
        ({"slots": 2.5}, "`slots` is a number of states"),
        ({"slots": 2, "budget": 100}, "`slots` and `budget` are two ways to say the same"),
        ({"budget": "lots"}, "a budget is a number of bytes"),
        ({"budget": 10}, "one state takes"),
    ],
)
def test_options_that_mean_nothing(walk, options, message):
    def run(tape):
        for t in tape.steps(iter(range(5)), **options):
            walk.ahead(0.1 * t)

    walk.start()
    with pytest.raises(ti.GradientError, match=message):
        taped(walk.loss, run)


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (2.5, {}, "`n` of `checkpoint` is a number of steps, an integer, not float"),
        (-3, {}, "`n` of `checkpoint` is a number of steps, 0 or more, not -3"),
        (2, {"slots": 0}, "`slots` is a number of states, at least 1, not 0"),
        (2, {"slots": 2, "budget": 100}, "`slots` and `budget` are two ways to say the same"),
        (2, {"budget": "lots"}, "a budget is a number of bytes"),
        (2, {"directory": 3}, "`directory` is the path of a folder, not int"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_checkpoints_refuse_the_same_in_a_tape_and_outside(walk, n, options, message, inside):
    steps = []

    def act():
        if not inside:
            ti.ad.checkpoint(steps.append, n, **options)
            return
        with ti.ad.Tape(walk.loss):
            ti.ad.checkpoint(steps.append, n, **options)

    refused(act, message, __file__)
    assert not steps


def test_a_step_that_is_no_function():
    with pytest.raises(ti.GradientError, match=r"`step` of `checkpoint` is a function of .*, not NoneType"):
        ti.ad.checkpoint(None, 2)


def test_steps_outside_the_block(walk):
    tape = ti.Tape(walk.loss)
    for asked in (lambda: tape.steps(range(3)), tape.step):
        with pytest.raises(ti.GradientError, match="steps belong inside the block of their tape"):
            asked()


def _in_a_function(walk, tape):
    @ti.ad.grad_replaced
    def inside():
        for t in tape.steps(range(3)):
            walk.ahead(t)

    ti.ad.grad_for(inside)(lambda: None)
    inside()


def _marked_twice(walk, tape):
    for _ in tape.steps(range(3)):
        tape.step()


@pytest.mark.parametrize(
    ("run", "options", "message"),
    [
        (lambda walk, tape: tape.steps(range(3)), {"on_overwrite": "error"}, "saves nothing"),
        (lambda walk, tape: tape.steps(12), {}, "takes what a loop goes over, not int"),
        (_in_a_function, {}, "inside a function under `grad_replaced`"),
        (_marked_twice, {}, "begins its steps itself"),
    ],
)
def test_steps_in_wrong_places(walk, run, options, message):
    with pytest.raises(ti.GradientError, match=message):
        taped(walk.loss, lambda tape: run(walk, tape), **options)


@pytest.mark.slow
def test_equations_that_are_solved_in_steps():
    k, u, r, loss = (single(name) for name in ("k", "u", "r", "loss"))

    @ti.kernel
    def equation():
        r[None] = u[None] ** 3 - k[None]

    @ti.kernel
    def newton():
        u[None] -= (u[None] ** 3 - k[None]) / (3 * u[None] ** 2)

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def root():
        u[None] = 1.5
        for _ in range(20):
            newton()

    @ti.kernel
    def move():
        k[None] = k[None] + 0.1 * u[None]

    @ti.kernel
    def end():
        loss[None] += k[None] ** 2

    def gradient(slots):
        def run(tape):
            for _ in range(7) if slots is None else tape.steps(range(7), slots=slots):
                root()
                move()
            end()

        k[None] = 8.0
        taped(loss, run)
        return k.grad[None]

    assert gradient(1) == gradient(2) == gradient(None)
