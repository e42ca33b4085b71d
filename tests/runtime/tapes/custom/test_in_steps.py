"""`grad_for(…, reads=…)` inside loops with checkpoints: the same gradients and refusals as outside."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

N, STEPS = 3, 9
UNDECLARED = r"reads `s\[None\]`, which `reads=` does not name, and `scale`"
LOOPS = {
    "no steps": lambda tape: range(STEPS),
    "1 slot": lambda tape: tape.steps(range(STEPS), slots=1),
    "2 slots": lambda tape: tape.steps(range(STEPS), slots=2),
    "all slots": lambda tape: tape.steps(range(STEPS), slots=50),
    "unknown length": lambda tape: tape.steps(iter(range(STEPS)), slots=2),
}


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


class Pushed:
    """``y = x²·w`` by a function, and ``x += s·y``; ``w`` and ``s`` change in steps or behind them."""

    def __init__(self, reads, scaled=False):
        self.x, self.y, self.w = (ti.field(ti.f64, shape=N, needs_grad=True, name=name) for name in "xyw")
        self.s, self.loss = single("s", needs_grad=False), single("loss")
        x, y, w, s, loss = self.x, self.y, self.w, self.s, self.loss

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2 * w[i]

        @ti.kernel
        def adjoint():
            for i in x:
                x.grad[i] += 2 * x[i] * w[i] * y.grad[i]
                w.grad[i] += x[i] ** 2 * y.grad[i]
                y.grad[i] = 0.0

        @ti.kernel
        def scaled_adjoint():
            for i in x:
                x.grad[i] += s[None] * y.grad[i]
                y.grad[i] = 0.0

        @ti.ad.grad_replaced
        def ahead():
            square()

        chosen = [getattr(self, name) for name in reads]
        ti.ad.grad_for(ahead, reads=chosen)(scaled_adjoint if scaled else adjoint)
        self.ahead = ahead
        self._others(x, y, w, s, loss)

    def _others(self, x, y, w, s, loss):
        @ti.kernel
        def move():
            for i in x:
                x[i] += 0.1 * y[i]

        @ti.kernel
        def change(factor: float):
            for i in w:
                w[i] *= factor

        @ti.kernel
        def scale(factor: float):
            s[None] = s[None] * factor

        @ti.kernel
        def end():
            for i in x:
                loss[None] += x[i] * (i + 1)

        self.move, self.change, self.scale, self.end = move, change, scale, end

    def gradients(self, loop, changes=("w",), after=()):
        """The gradients; `changes` are overwritten in each step, `after` behind the loop."""
        self.x.from_numpy(np.linspace(0.5, 0.7, N))
        self.w.fill(1.0)
        self.s[None] = 1.0
        with ti.Tape(self.loss) as tape:
            for t in LOOPS[loop](tape):
                self.ahead()
                self.move()
                if "w" in changes:
                    self.change(1.0 + 0.1 * (t % 2))
                if "s" in changes:
                    self.scale(1.5)
            if "s" in after:
                self.scale(0.0)
            self.end()
        return np.concatenate([self.x.grad.to_numpy(), self.w.grad.to_numpy()])


@pytest.mark.parametrize("loop", list(LOOPS)[1:])
def test_what_is_named_is_there(loop):
    program = Pushed("xw")
    np.testing.assert_array_equal(program.gradients(loop), program.gradients("no steps"))
    program = Pushed("s", scaled=True)
    want = program.gradients("no steps", "s", "s")
    np.testing.assert_array_equal(program.gradients(loop, "s", "s"), want)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_field_that_the_function_used(loop):
    program = Pushed("x")
    with pytest.raises(ti.AccessRuleError) as error:
        program.gradients(loop)
    said = str(error.value)
    assert (
        "the backward function of `ahead` reads `w[0:3]`, which `reads=` does not name, and `change` "
        "has overwritten it since" in said
    )
    assert "read here" in said
    assert "overwritten here" in said
    assert said.endswith("help: name `w` in `reads=`")


@pytest.mark.parametrize("loop", LOOPS)
def test_a_field_that_the_function_did_not_use(loop):
    program = Pushed("", scaled=True)
    with pytest.raises(ti.AccessRuleError, match=UNDECLARED):
        program.gradients(loop, "s")


@pytest.mark.parametrize("loop", LOOPS)
def test_a_field_that_is_overwritten_behind_the_loop(loop):
    program = Pushed("", scaled=True)
    with pytest.raises(ti.AccessRuleError, match=UNDECLARED):
        program.gradients(loop, "", "s")


@pytest.mark.parametrize("loop", list(LOOPS)[1:])
def test_what_nothing_overwrites_need_not_be_named(loop):
    for program in (Pushed("x"), Pushed("", scaled=True)):
        np.testing.assert_array_equal(program.gradients(loop, ""), program.gradients("no steps", ""))


@pytest.mark.parametrize("further", ["tape", "rmatvec"])
def test_further_derivatives_around_steps_are_refused(further):
    """What Python computes in the function would be a constant to the tape around, when steps run again."""
    x, y, loss, outer = (single(name) for name in ["x", "y", "loss", "outer"])

    @ti.ad.grad_replaced
    def cube():
        y[None] = float(x.to_numpy()) ** 3

    @ti.ad.grad_for(cube)
    def back():
        x.grad[None] += 3 * x[None] ** 2 * y.grad[None]

    @ti.kernel
    def add():
        loss[None] += y[None] ** 2

    @ti.kernel
    def along():
        outer[None] = x.grad[None]

    def run():
        with ti.Tape(loss) as tape:
            for _ in tape.steps(range(3), slots=1):
                cube()
                add()

    def taped():
        with ti.Tape(outer):
            run()
            along()

    x[None] = 1.2
    message = r"(?s)`cube`, under `grad_replaced`, is called in steps with checkpoints, inside of another"
    with pytest.raises(ti.GradientError, match=message + r".*cube\(\)\n.*help: take the loop out of `steps`"):
        taped() if further == "tape" else ti.linearize(run, wrt=x, out=x.grad)


def squares():
    """A field that a kernel squares in place, the same as a function, and the sum of its numbers."""
    x, loss = ti.field(ti.f64, shape=2, needs_grad=True), single("loss")

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] ** 2

    @ti.kernel
    def adjoint():
        for i in x:
            x.grad[i] = 2 * ti.sqrt(x[i]) * x.grad[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    @ti.ad.grad_replaced
    def replaced():
        square()

    ti.ad.grad_for(replaced)(adjoint)
    return x, loss, square, replaced, total


def test_a_kernel_that_steps_also_launch_themselves():
    x, loss, square, replaced, total = squares()
    for order in ([square, replaced], [replaced, square], [square, replaced, replaced, square]):
        power = 2.0 ** (3 * len(order))
        for slots in (1, 2, 50):
            x.from_numpy(np.array([0.9, 0.95]))
            with ti.ad.Tape(loss) as tape:
                for _ in tape.steps(range(3), slots=slots):
                    for launch in order:
                        launch()
                total()
            expected = power * np.array([0.9, 0.95]) ** (power - 1)
            np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-9)


def test_a_function_whose_input_varies_from_its_second_call_on():
    x, y, z, loss = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in "xyzl")

    @ti.kernel
    def copy():
        y[None] = 3.0 * z[None]

    @ti.kernel
    def adjoint():
        z.grad[None] += 3.0 * y.grad[None]
        y.grad[None] = 0.0

    @ti.kernel
    def use():
        z[None] = x[None] ** 2

    @ti.kernel
    def end():
        loss[None] += y[None]

    @ti.ad.grad_replaced
    def copied():
        copy()

    ti.ad.grad_for(copied)(adjoint)

    def run():
        for launch in (copied, use, copied, end):
            launch()

    x[None] = 0.7
    assert ti.grad(run, wrt=x, out=loss)() == pytest.approx(6 * 0.7)
    with ti.ad.Tape(loss):
        run()
    assert x.grad[None] == pytest.approx(6 * 0.7)
