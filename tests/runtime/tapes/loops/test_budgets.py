"""Budgets in bytes: they hold whatever steps overwrite, and small ones give a warning."""

import re
import warnings

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

pytestmark = pytest.mark.slow

SIZE = 200
ROW = 8 * SIZE  # bytes of one field
STEPS = 90


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


def oscillate(q, p):
    """A kernel that swings all of them."""

    @ti.kernel
    def swing():
        for i in q:
            p[i] -= 0.01 * ti.sin(q[i])
            q[i] += 0.01 * p[i]

    return swing


def others(q, a, b, rows):
    """Kernels that write to a part of a field, to two other fields, and to a row."""

    @ti.kernel
    def part(low: int):
        for i in range(low, low + 5):
            q[i] = ti.sin(q[i])

    @ti.kernel
    def more():
        for i in q:
            a[i] = ti.sin(a[i]) + 0.1 * q[i]
            b[i] = a[i] * b[i]

    @ti.kernel
    def ahead(t: int):
        for i in range(SIZE):
            rows[t + 1, i] = rows[t, i] + 0.1 * ti.sin(q[i])

    return part, more, ahead


def total(q, p, a, b, rows, loss):
    """A kernel for the loss."""

    @ti.kernel
    def end():
        for i in q:
            loss[None] += q[i] ** 3 + p[i] * a[i] * b[i] + rows[STEPS, i]

    return end


class Program:
    """Fields in place, and steps that overwrite different parts of them."""

    def __init__(self):
        self.fields = {
            name: ti.field(ti.f64, shape=SIZE, needs_grad=True, name=name) for name in ("q", "p", "a", "b")
        }
        self.rows = ti.field(ti.f64, shape=(STEPS + 1, SIZE), needs_grad=True, name="rows")
        self.loss = single("loss")
        q, p, a, b = self.fields.values()
        swing = oscillate(q, p)
        part, more, ahead = others(q, a, b, self.rows)
        self.end = total(q, p, a, b, self.rows, self.loss)

        def growing(t):
            swing()
            if t > 20:
                more()

        def bursts(t):
            part(0)
            if t % 30 == 29:
                swing()
                more()

        self.steps = {
            "same": lambda t: swing(),
            "parts": lambda t: part(5 * (t % 40)),
            "growing": growing,
            "bursts": bursts,
            "rows": lambda t: (ahead(t), swing()),
        }

    def start(self):
        for number, field in enumerate(self.fields.values()):
            field.from_numpy(np.linspace(0.5, 1.5, SIZE) + 0.1 * number)
        self.rows.fill(0.1)

    def gradients(self):
        return [f.grad.to_numpy().tobytes() for f in (*self.fields.values(), self.rows)]

    def run(self, step, loop, **options):
        """The tape of the program, and its gradients."""
        self.start()
        with ti.Tape(self.loss, **options) as tape:
            for t in loop(tape):
                self.steps[step](t)
            self.end()
        return tape, self.gradients()


LOOPS = {
    "known": lambda budget: (lambda tape: tape.steps(range(STEPS), budget=budget), {}),
    "unknown": lambda budget: (lambda tape: tape.steps(iter(range(STEPS)), budget=budget), {}),
    "tape": lambda budget: (lambda tape: range(STEPS), {"budget": budget}),
    "shared": lambda budget: (lambda tape: tape.steps(range(STEPS)), {"budget": budget}),
}


@pytest.mark.filterwarnings("ignore:warning.reruns:dsim.DsimWarning")
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("step", ["same", "parts", "growing", "bursts", "rows"])
def test_a_budget_holds_or_is_refused(step, loop):
    program = Program()
    plain = program.run(step, lambda tape: range(STEPS))[1]
    held = 0
    for states in (2, 2.5, 3, 4, 5, 7, 11, 19, 40):
        budget = int(states * 2 * ROW)
        items, options = LOOPS[loop](budget)
        try:
            tape, found = program.run(step, items, **options)
        except ti.GradientError as error:
            assert "more than the" in str(error)  # noqa: PT017
            continue
        assert found == plain
        assert tape.saved_bytes <= budget
        held += 1
    assert held >= (0 if step == "rows" else 3)


@pytest.mark.filterwarnings("ignore:warning.reruns:dsim.DsimWarning")
def test_a_budget_that_does_not_hold_a_step_beside_a_state():
    program = Program()
    items, _ = LOOPS["known"](2 * ROW + 8)
    with pytest.raises(ti.GradientError) as error:
        program.run("same", items)
    message = str(error.value)
    assert "one state and what a step overwrites take 4,800 bytes: more than the budget of 3,208" in message
    assert "raise `budget`: a gradient needs one state and what one step overwrites" in message


def test_a_refusal_in_a_step_is_the_only_one(capsys):
    program = Program()
    items, _ = LOOPS["unknown"](5 * ROW)
    with pytest.raises(ti.GradientError, match="one state takes"):
        program.run("rows", items)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("loop", ["known", "unknown", "tape"])
def test_a_warning_says_how_often_steps_run_and_what_is_enough(loop):
    program = Program()
    budget = (6 if loop == "tape" else 3) * ROW
    items, options = LOOPS[loop](budget)
    with pytest.warns(ti.DsimWarning, match="reruns") as caught:
        tape, _ = program.run("same", items, **options)
    (warning,) = caught
    text = str(warning.message)
    told = re.search(r"each of the (\d+) steps runs about (\d+) times: the budget of ([\d,]+) bytes", text)
    (steps,) = tape.loops
    assert int(told[1]) == len(steps.log)
    assert int(told[2]) == pytest.approx(steps.runs / len(steps.log), rel=0.1)
    assert int(told[3].replace(",", "")) == budget
    enough = int(re.search(r"help: `budget=([\d_]+)`: then each runs about 5 times", text)[1])
    items, options = LOOPS[loop](enough)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tape, _ = program.run("same", items, **options)
        tape.backward(1.0)
    (steps,) = tape.loops
    assert steps.runs <= 2 * 6 * len(steps.log)
    assert tape.saved_bytes <= enough


@pytest.mark.parametrize("loop", [range, lambda n: iter(range(n))])
def test_a_warning_says_how_many_slots_are_enough(loop):
    program = Program()
    with pytest.warns(ti.DsimWarning, match="reruns") as caught:
        tape, found = program.run("same", lambda tape: tape.steps(loop(60), slots=1))
    (warning,) = caught
    told = re.search(r"each of the 60 steps runs about (\d+) times: `slots=1` holds", str(warning.message))
    assert int(told[1]) == pytest.approx(tape.loops[0].runs / 60, rel=0.1)
    enough = int(re.search(r"help: `slots=(\d+)`: then each runs about 5 times", str(warning.message))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tape, other = program.run("same", lambda tape: tape.steps(loop(60), slots=enough))
    assert other == found
    assert tape.loops[0].runs <= 6 * 60


def test_loops_and_calls_between_them_share_the_budget_of_a_tape():
    program = Program()

    def run(loop, **options):
        program.start()
        held = []
        with ti.Tape(program.loss, **options) as tape:
            for _ in range(3):
                for t in loop(tape):
                    program.steps["same"](t)
                for t in range(30):
                    program.steps["growing"](t)
                held.append(tape.snapshots.bytes + sum(steps.store.bytes for steps in tape.loops))
            program.end()
        return held, program.gradients()

    plain = run(lambda tape: range(30))[1]
    held, found = run(lambda tape: tape.steps(range(30)), budget=80 * ROW)
    assert found == plain
    assert max(held) <= 80 * ROW
