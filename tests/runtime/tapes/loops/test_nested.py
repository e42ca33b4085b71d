"""Loops with checkpoints in steps of others, and in tapes inside tapes: right gradients, bounded memory."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single, state
from tests.runtime.walking import Walk

N = 50
STATE = 2 * 8 * N


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


@pytest.fixture
def walk():
    return Walk()


class Swing:
    """Two fields in place, of whose steps each saves half a state."""

    def __init__(self):
        self.q, self.p = (ti.field(ti.f64, shape=N, needs_grad=True, name=name) for name in "qp")
        self.loss, self.second = single("loss"), single("second")
        q, p, loss, second = self.q, self.p, self.loss, self.second

        @ti.kernel
        def swing(dt: float):
            for i in q:
                p[i] -= dt * ti.sin(q[i])
                q[i] += dt * p[i]

        @ti.kernel
        def end():
            for i in q:
                loss[None] += q[i] ** 3

        @ti.kernel
        def weigh():
            for i in q:
                second[None] += q.grad[i] ** 2

        self.swing, self.end, self.weigh = swing, end, weigh

    def start(self):
        self.q.from_numpy(np.linspace(0.5, 2.5, N))
        self.p.fill(0.25)


def test_steps_of_a_loop_in_a_step(walk):
    def run(outer, inner):
        walk.start()
        with ti.Tape(walk.loss) as tape:
            for t in outer(tape):
                walk.ahead(0.3)
                if t % 3 == 0:
                    walk.between()
                for s in inner(tape, t):
                    walk.ahead(0.1 * t * s)
                walk.ahead(0.2)
            walk.between()
        return tape, walk.state()

    plain = run(lambda tape: range(6), lambda tape, t: range(t))[1]
    for slots in (1, 2, 5, 40):
        for items in (range(6), iter(range(6))):
            tape, found = run(
                lambda tape, s=slots, i=items: tape.steps(i, slots=s),
                lambda tape, t: tape.steps(range(t), slots=2),
            )
            assert found == plain
            assert tape.calls[0].kernel == "27 steps"  # 15 inner ones, and two pieces of each outer one
            tape.backward(1.0)
            assert walk.state() == plain


def test_the_memory_is_that_of_the_outer_loop():
    program = Swing()

    def run(outer, inner):
        program.start()
        with ti.Tape(program.loss) as tape:
            for _ in outer(tape, 5):
                for _ in inner(tape, 80):
                    program.swing(0.001)
            program.end()
        return tape.saved_bytes, state(program.q, program.p)

    def marked(tape, n):
        return tape.steps(range(n), slots=4)

    def unmarked(tape, n):
        return range(n)

    plain, want = run(unmarked, unmarked)
    assert plain == 200 * STATE
    of_long_steps, found = run(marked, unmarked)
    assert of_long_steps > 40 * STATE
    np.testing.assert_array_equal(found, want)
    of_short_steps, found = run(marked, marked)
    assert of_short_steps <= 6 * STATE
    np.testing.assert_array_equal(found, want)


def test_left_early_and_with_errors_inside(walk):
    def run(loop):
        walk.start()
        with ti.Tape(walk.loss) as tape:
            for t in loop(tape, 5):
                try:
                    for s in loop(tape, 9):
                        walk.ahead(0.1 * s)
                        if s == t + 1:
                            break
                        if s == 3:
                            raise KeyError
                        walk.ahead(0.2)
                except KeyError:
                    walk.ahead(0.7)
                if t == 2:
                    continue
                walk.between()
        return walk.state()

    assert run(lambda tape, n: tape.steps(range(n), slots=2)) == run(lambda tape, n: range(n))


def test_checkpoints_in_checkpoints_and_in_a_while_loop(walk):
    def run(mark, inner):
        walk.start()
        with ti.Tape(walk.loss) as tape:
            t = 0
            while t < 7:
                mark(tape)
                inner(lambda s: walk.ahead(0.1 * s), t)
                t += 1
            walk.between()
        return walk.state()

    def plain(step, n):
        for t in range(n):
            step(t)

    want = run(lambda tape: None, plain)
    assert run(lambda tape: tape.step(slots=3), lambda step, n: ti.ad.checkpoint(step, n, slots=2)) == want


@pytest.mark.slow
def test_a_tape_around_a_tape_with_steps():
    """The outer one saves more than without the steps inside; a budget bounds both."""
    program = Swing()

    def run(slots, **options):
        program.start()
        with ti.Tape(program.second, **options) as outer:
            with ti.Tape(program.loss) as inner:
                for _ in range(60) if slots is None else inner.steps(range(60), slots=slots):
                    program.swing(0.001)
                program.end()
            program.weigh()
        return outer.saved_bytes, inner.saved_bytes, program.q.grad.to_numpy()

    around, inside, want = run(None)
    assert (around, inside) == (90 * STATE, 30 * STATE)
    around, inside, found = run(5)
    assert around == 135 * STATE
    assert inside <= 7 * STATE
    np.testing.assert_allclose(found, want, rtol=1e-11)
    around, inside, found = run(5, budget=40 * STATE)
    assert around <= 40 * STATE
    assert inside <= 7 * STATE
    np.testing.assert_allclose(found, want, rtol=1e-11)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("around", ["forward mode", "tape", "transform"])
def test_a_tape_in_a_step_of_an_inner_tape(around, steps):
    """The memory in which the innermost one saves values is filled again when the steps run again."""
    ti.init(default_fp=ti.f64)
    x, w, innermost, inner, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(5))

    @ti.kernel
    def square():
        x[None] = x[None] ** 2 * w[None]

    @ti.kernel
    def cubed():
        innermost[None] += x[None] ** 3

    @ti.kernel
    def doubled():
        inner[None] += 2 * x[None]

    @ti.kernel
    def measure():
        loss[None] += x[None] ** 2

    def run():
        with ti.Tape(inner) as tape:
            for _ in tape.steps(range(steps), slots=1):
                with ti.Tape(innermost):
                    square()
                    cubed()
            doubled()
        measure()

    x[None], w[None], n = 1.1, 0.7, 2**steps
    expected = (1.1**n * 0.7 ** (n - 1)) ** 2  # its derivative by w is 2 (n - 1) / w times that
    if around == "transform":
        value, slope = ti.value_and_grad(run, wrt=w, out=loss)()
    elif around == "tape":
        with ti.Tape(loss):
            run()
        value, slope = loss[None], w.grad[None]
    else:
        with ti.FwdMode(loss, w):
            run()
        value, slope = loss[None], loss.dual[None]
    np.testing.assert_allclose([value, slope], [expected, 2 * (n - 1) / 0.7 * expected], rtol=1e-12)
