"""`tape.trajectory`: states of a field and their adjoints, against closed forms and `tape.gradients`."""

import contextlib

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

H = 0.1
STEP = np.array([[1 - H * H, H], [-H, 1.0]])  # a symplectic Euler step of a spring, for (x, v)


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Spring:
    """A linear oscillator in place; its loss is the last `x`, so its adjoints are powers of a matrix."""

    def __init__(self, dtype=ti.f64):
        self.x, self.v = (ti.field(dtype, shape=(), needs_grad=True, name=name) for name in "xv")
        x, v = self.x, self.v
        loss = self.loss = ti.field(dtype, shape=(), needs_grad=True, name="loss")

        @ti.kernel
        def step():
            v[None] -= 0.1 * x[None]
            x[None] += 0.1 * v[None]

        @ti.kernel
        def end():
            loss[None] = x[None]

        self.step, self.end = step, end

    def run(self, n=40, every=1, loop=lambda tape, n: range(n), **options):
        self.x[None], self.v[None] = 1.0, 0.0
        with ti.Tape(self.loss, **options) as tape:
            found = [tape.trajectory(field, every=every) for field in (self.x, self.v)]
            for _ in loop(tape, n):
                self.step()
            self.end()
        return tape, found


def powers(n):
    """States from (1, 0), and adjoints back from (1, 0), after 0 to n steps."""
    states, adjoints = [np.array([1.0, 0.0])], [np.array([1.0, 0.0])]
    for _ in range(n):
        states.append(STEP @ states[-1])
        adjoints.append(STEP.T @ adjoints[-1])
    return np.array(states), np.array(adjoints[::-1])


LOOPS = {
    "plain": lambda tape, n: range(n),
    "checkpoints": lambda tape, n: tape.steps(range(n), slots=3),
    "all kept": lambda tape, n: tape.steps(range(n), slots=200),
    "unknown length": lambda tape, n: tape.steps((k for k in range(n)), slots=3),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize(("dtype", "digits"), [(ti.f64, 1e-13), (ti.f32, 1e-5)], ids=["f64", "f32"])
def test_an_oscillator_has_powers_of_its_step(loop, dtype, digits):
    spring = Spring(dtype)
    _, found = spring.run(40, loop=loop)
    states, adjoints = powers(40)
    for number, each in enumerate(found):
        assert each.steps.tolist() == list(range(42))
        assert each.states.dtype == each.adjoints.dtype == np.dtype(dtype.numpy)
        assert each.states[:41] == pytest.approx(states[:, number], abs=digits)
        assert each.adjoints[:41] == pytest.approx(adjoints[:, number], abs=digits)
        assert each.adjoints[41] == 0.0
        assert each.norms == pytest.approx(abs(each.adjoints))
    assert found[0].adjoints[0] == spring.x.grad[None]


def test_every_so_many_calls_from_where_it_begins():
    spring = Spring()
    spring.x[None], spring.v[None] = 1.0, 0.0
    with ti.Tape(spring.loss) as tape:
        for _ in range(3):
            spring.step()
        found = tape.trajectory(spring.x, every=4)
        for _ in range(10):
            spring.step()
        spring.end()
    states, adjoints = powers(13)
    assert found.steps.tolist() == [3, 7, 11]
    assert found.states == pytest.approx(states[[3, 7, 11], 0])
    assert found.adjoints == pytest.approx(adjoints[[3, 7, 11], 0])
    assert (found.unit, found.note) == ("call", "")


def test_calls_before_and_after_a_loop_with_checkpoints_count_too():
    spring = Spring()
    spring.x[None], spring.v[None] = 1.0, 0.0
    with ti.Tape(spring.loss) as tape:
        found = tape.trajectory(spring.x)
        spring.step()
        for _ in tape.steps(range(9), slots=2):
            spring.step()
        for _ in tape.steps(range(7), slots=2):
            spring.step()
        spring.step()
        spring.end()
    states, adjoints = powers(18)
    assert found.steps.tolist() == list(range(20))
    assert found.unit == "step"
    assert found.states[:19] == pytest.approx(states[:, 0])
    assert found.adjoints[:19] == pytest.approx(adjoints[:, 0])


def test_a_budget_of_the_tape_makes_each_call_a_step():
    x, y = single("x"), single("y")

    @ti.kernel
    def square():
        x[None] = x[None] ** 2 * 0.9

    @ti.kernel
    def end():
        y[None] = x[None]

    found = []
    for budget in (None, 64):
        x[None] = 1.01
        with ti.Tape(y, budget=budget) as tape:
            found.append(tape.trajectory(x))
            for _ in range(9):
                square()
            end()
    assert len(tape.loops) == 1
    assert found[1].steps.tolist() == found[0].steps.tolist() == list(range(11))
    assert np.array_equal(found[1].states, found[0].states)
    assert np.array_equal(found[1].adjoints, found[0].adjoints)


def test_it_agrees_with_gradients_where_launches_are_recorded_in_parts():
    x = ti.Vector.field(2, ti.f64, shape=(3, 2), needs_grad=True, name="x")
    loss = single("loss")

    @ti.kernel
    def move(dt: float):
        for i, j in x:
            x[i, j] += dt * x[i, j] * x[i, j]
        for i, j in x:
            x[i, j] = ti.cos(x[i, j])

    @ti.kernel
    def total():
        for i, j in x:
            loss[None] += x[i, j].norm_sqr()

    x.from_numpy(np.linspace(0.1, 1.0, 12).reshape(3, 2, 2))
    expected = [x.to_numpy()]
    for _ in range(5):
        move(0.1)
        expected.append(x.to_numpy())
    x.from_numpy(expected[0])
    with ti.Tape(loss) as tape:
        found = tape.trajectory(x)
        for _ in range(5):
            move(0.1)
        total()
    assert len(tape.entries) > len(tape.calls) == 6
    assert found.states[:-1] == pytest.approx(np.array(expected), abs=0)
    assert np.array_equal(found.adjoints[1:], tape.gradients(x).values)
    assert np.array_equal(found.adjoints[0], x.grad.to_numpy())
    assert found.shape == (3, 2)
    assert found.norms_of((2, 1)) == pytest.approx(np.linalg.norm(found.adjoints[:, 2, 1], axis=1))
    with pytest.raises(ti.GradientError, match=r"`x` has no element 5: its shape is \(3, 2\)"):
        found.norms_of(5)


def test_other_observers_of_the_tape_see_the_same():
    tape, (found, _) = Spring().run(12, profile=True, find_nan=True)
    assert found.adjoints[:13] == pytest.approx(powers(12)[1][:, 0])
    assert len(tape.profile()) == 13


def test_writes_from_python_are_calls():
    spring = Spring()
    spring.v[None] = 0.0
    with ti.Tape(spring.loss) as tape:
        found = tape.trajectory(spring.x)
        spring.x[None] = 3.0
        spring.step()
        spring.end()
    assert found.steps.tolist() == [0, 1, 2, 3]
    assert found.adjoints.tolist() == pytest.approx([0.0, STEP[0, 0], 1.0, 0.0])
    assert found.summary[-1] == "0 up to call 0: nothing of it reaches the loss"


def test_states_beyond_the_budget_are_thinned_and_it_says_so():
    _, (found, _) = Spring().run(100)
    spring = Spring()
    spring.x[None], spring.v[None] = 1.0, 0.0
    with ti.Tape(spring.loss) as tape:
        thin = tape.trajectory(spring.x, every=2, budget=8 * 20)
        for _ in range(100):
            spring.step()
        spring.end()
    assert thin.steps.tolist() == list(range(0, 101, 8))
    assert np.array_equal(thin.adjoints, found.adjoints[thin.steps])
    assert np.array_equal(thin.states, found.states[thin.steps])
    assert thin.note == "one in 8 calls: more need over 160 bytes, see `budget=`"
    assert thin.note in repr(thin)


def test_it_begins_where_a_field_without_a_gradient_of_its_own_depends_on_one():
    x, loss = single("x"), single("loss")
    f = ti.field(ti.f64, shape=(), name="f")

    @ti.kernel
    def square():
        f[None] = x[None] ** 2

    @ti.kernel
    def end():
        loss[None] = 5 * f[None]

    x[None] = 3.0
    with ti.Tape(loss) as tape:
        found = tape.trajectory(f)
        square()
        end()
    assert found.steps.tolist() == [1, 2]
    assert found.states.tolist() == [9.0, 9.0]
    assert found.adjoints.tolist() == [5.0, 0.0]
    assert "the first 1 are left out: until then it depends on no field with a gradient" in found.note


def test_arrays_stay_when_the_fields_change_and_the_tape_is_gone():
    spring = Spring()
    tape, (found, _) = spring.run(5)
    before = found.states.copy(), found.adjoints.copy()
    del tape
    spring.run(7)
    assert np.array_equal(found.states, before[0])
    assert np.array_equal(found.adjoints, before[1])


def test_gradients_are_those_of_a_tape_without_it():
    spring = Spring()
    spring.run(20)
    with_it = spring.x.grad[None], spring.v.grad[None]
    spring.x[None], spring.v[None] = 1.0, 0.0
    with ti.Tape(spring.loss):
        for _ in range(20):
            spring.step()
        spring.end()
    assert (spring.x.grad[None], spring.v.grad[None]) == with_it


# -- what it says


def grown(factor, n=30, dtype=ti.f64):
    x, loss = (ti.field(dtype, shape=(), needs_grad=True, name=name) for name in ("x", "loss"))

    @ti.kernel
    def times():
        x[None] *= factor

    @ti.kernel
    def end():
        loss[None] = x[None]

    with ti.Tape(loss) as tape:
        found = tape.trajectory(x)
        for _ in range(n):
            times()
        end()
    return found


def test_growth_is_told_with_its_steps():
    assert grown(2.0).summary[:2] == [
        "grows 1.1e+09-fold from call 30 back to call 0: exploding",
        "largest growth at once: 2-fold from call 30 back to call 29",
    ]
    assert grown(0.5).summary[0] == "shrinks 1.1e+09-fold from call 30 back to call 0: vanishing"
    assert grown(1.0).summary == ["0 from call 31 on: what comes then reads it no more"]
    assert repr(grown(2.0)).startswith(
        "adjoint of `x` over 32 calls, 0 to 31: float64[32]\n  norm 0 at call 31, 1.074e+09 at call 0\n"
    )


def test_infinite_norms_are_told_and_count_for_no_growth():
    found = grown(1e20, n=4, dtype=ti.f32)
    assert np.isnan(found.norms).tolist() == [True, True, True, False, False, False]
    assert "not finite at 3 of 6 calls; the first on the way back is call 2, with 1 number" in found.summary
    assert found.summary[0].startswith("grows 1e+20-fold from call 4 back to call 3")
    assert "not finite at call 0" in repr(found)


def test_all_zero_is_told():
    x, loss = single("x"), single("loss")

    @ti.kernel
    def nothing():
        loss[None] = 0 * x[None]

    with ti.Tape(loss) as tape:
        found = tape.trajectory(x)
        nothing()
    assert found.summary == ["0 everywhere: the loss depends on none of these values"]


@pytest.mark.slow
def test_norms_are_drawn_on_a_logarithmic_axis_with_zeros_and_infinities():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    ax = grown(1e20, n=4, dtype=ti.f32).plot()
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == "call"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "not finite"]
    assert [line.get_xdata().tolist() for line in ax.lines[1:]] == [[5], [0, 1, 2]]
    ax.figure.canvas.draw()
    pyplot.close("all")


# -- what it refuses


def test_before_the_block_has_ended_there_is_nothing():
    spring = Spring()
    with ti.Tape(spring.loss) as tape:
        found = tape.trajectory(spring.x)
        with pytest.raises(ti.GradientError, match="has not ended, so `x` has no adjoints yet"):
            _ = found.steps
        assert (
            repr(found)
            == "<trajectory of `x`: the block of the tape has not ended, so `x` has no adjoints yet>"
        )
        spring.step()
        spring.end()
    assert len(found.steps) == 3
    with contextlib.suppress(ZeroDivisionError), ti.Tape(spring.loss) as tape:
        found = tape.trajectory(spring.x)
        spring.step()
        raise ZeroDivisionError
    with pytest.raises(ti.GradientError, match="once that has ended without an error"):
        _ = found.norms


def test_a_field_that_no_call_touches_is_refused_when_the_gradients_are_there():
    spring, z = Spring(), single("z")
    spring.x[None], spring.v[None] = 1.0, 0.0
    found = []

    def untouched():
        with ti.Tape(spring.loss) as tape:
            found.append(tape.trajectory(z))
            spring.step()
            spring.end()

    with pytest.raises(ti.GradientError, match="no recorded call of this tape computes with `z`") as caught:
        untouched()
    assert "tape.trajectory(z)" in str(caught.value)
    assert spring.x.grad[None] == pytest.approx(STEP[0, 0])
    assert "computes with `z`" in repr(found[0])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda tape, x: tape.trajectory(x, every=0), "`every` is a number of calls, at least 1, not 0"),
        (lambda tape, x: tape.trajectory(x, every=1.5), "at least 1, not 1.5"),
        (lambda tape, x: tape.trajectory(x, budget=0), "a budget is a number of bytes, not 0"),
        (lambda tape, x: tape.trajectory(np.zeros(3)), "with respect to a field, not to"),
        (lambda tape, x: tape.trajectory(ti.field(ti.i32, shape=3)), "i32"),
    ],
)
def test_what_it_refuses_at_once(ask, message):
    spring = Spring()
    with pytest.raises(ti.DsimError, match=message), ti.Tape(spring.loss) as tape:
        ask(tape, spring.x)


def test_outside_the_block_it_is_refused():
    spring = Spring()
    tape, _ = spring.run(2)
    with pytest.raises(ti.GradientError, match=r"(?s)its block is not open.*before the loop") as caught:
        tape.trajectory(spring.x)
    assert "tape.trajectory(spring.x)" in str(caught.value)
