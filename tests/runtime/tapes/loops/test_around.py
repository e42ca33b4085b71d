"""Loops with checkpoints beside other calls, left early, in other blocks, and used in wrong places."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single, swings
from tests.runtime.walking import Walk, taped

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


@pytest.fixture
def walk():
    return Walk()


@pytest.mark.parametrize("slots", [1, 2, 4, 50])
def test_two_loops_with_calls_before_between_and_after(walk, slots):
    plain = walk.plain()
    tape = walk.recorded(slots)
    assert walk.state() == plain
    tape.backward(1.0)
    assert walk.state() == plain
    tape.backward(1.0)
    assert walk.state() == plain
    assert [call.kernel for call in tape.calls] == ["before", "7 steps", "between", "12 steps", "between"]


def test_gradients_in_the_middle_around_a_loop(walk):
    plain = walk.recorded()
    want = [plain.gradient(walk.x, after=n) for n in (0, 7, 8, 20)]
    tape = walk.recorded(3)
    found = [tape.gradient(walk.x, after=n) for n in (0, 1, 2, 3)]
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(tape.gradient(walk.k), walk.k.grad.to_numpy())


@pytest.mark.parametrize("length", [True, False])
def test_a_loop_that_is_left_early(walk, length):
    def run(items):
        walk.start()
        with ti.Tape(walk.loss) as tape:
            for t in items(tape):
                walk.ahead(0.1 * t)
                if t == 8:
                    walk.between()
                    break
                walk.ahead(0.2)
            walk.between()
        return walk.state()

    plain = run(lambda tape: range(20))
    assert run(lambda tape: tape.steps(range(20) if length else None, slots=2)) == plain


def test_calls_after_a_loop_whose_iterator_lives_on(walk):
    walk.start()
    with ti.Tape(walk.loss) as tape:
        for t in range(5):
            walk.ahead(0.1 * t)
        walk.between()
    plain = walk.state()
    walk.start()
    with ti.Tape(walk.loss) as tape:
        steps = tape.steps(range(20), slots=2)
        for t in steps:
            walk.ahead(0.1 * t)
            if t == 4:
                break
        walk.between()
    assert walk.state() == plain
    assert list(tape.calls)[-1].kernel == "5 steps"


def test_an_exception_in_a_step_that_the_block_catches(walk):
    def run(items):
        walk.start()
        with ti.Tape(walk.loss) as tape:
            try:
                for t in items(tape):
                    walk.ahead(0.1 * t)
                    if t == 5:
                        raise KeyError
                    walk.ahead(0.2)
            except KeyError:
                walk.ahead(0.7)
            walk.between()
        return walk.state()

    assert run(lambda tape: tape.steps(range(20), slots=2)) == run(lambda tape: range(20))


def test_an_exception_that_leaves_the_block(walk):
    walk.start()
    for t in range(5):
        walk.ahead(0.1 * t)
    want = walk.x.to_numpy()
    walk.start()

    def run(tape):
        for t in tape.steps(range(20), slots=2):
            walk.ahead(0.1 * t)
            if t == 4:
                raise KeyError

    with pytest.raises(KeyError):
        taped(walk.loss, run)
    np.testing.assert_array_equal(walk.x.to_numpy(), want)
    assert not walk.x.grad.to_numpy().any()


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_an_interruption_on_the_way_back(walk, error):
    walk.plain()
    end = walk.x.to_numpy(), walk.k.to_numpy()
    calls = []

    @ti.ad.grad_replaced
    def ahead(t):
        walk.ahead(t)

    @ti.ad.grad_for(ahead)
    def back(t):
        calls.append(t)
        if len(calls) == 5:
            raise error

    tapes = []

    def run(tape):
        tapes.append(tape)
        walk.before()
        for t in tape.steps(range(7), slots=2):
            ahead(0.1 * t)
        walk.between()
        for t in tape.steps(range(12), slots=2):
            ahead(0.05 * t)
        walk.between()

    walk.start()
    with pytest.raises(error):
        taped(walk.loss, run)
    np.testing.assert_array_equal(walk.x.to_numpy(), end[0])
    np.testing.assert_array_equal(walk.k.to_numpy(), end[1])
    assert not walk.x.grad.to_numpy().any()
    calls += [0.0] * 10
    tapes[0].backward(1.0)
    np.testing.assert_array_equal(walk.x.to_numpy(), end[0])


def test_a_while_loop(walk):
    def run(step):
        walk.start()
        with ti.Tape(walk.loss) as tape:
            walk.before()
            t = 0
            while t < 11:
                step(tape)
                walk.ahead(0.1 * t)
                t += 1
            walk.between()
        return walk.state()

    assert run(lambda tape: tape.step(slots=3)) == run(lambda tape: None)


def test_checkpoint_is_sugar(walk):
    plain = walk.plain()

    def both(n, dt):
        ti.ad.checkpoint(lambda t: walk.ahead(dt * t), n, slots=3)

    def run():
        walk.before()
        both(7, 0.1)
        walk.between()
        both(12, 0.05)
        walk.between()

    walk.start()
    with ti.Tape(walk.loss):
        run()
    assert walk.state() == plain
    walk.start()
    walk.loss[None] = 0.0
    run()  # without a tape, too
    assert walk.x.to_numpy().tobytes() == plain[0]


# -- other blocks


@pytest.mark.parametrize("slots", [1, 3])
def test_forward_over_reverse(walk, slots):
    def second(slots):
        walk.start()
        seed = [1.0, -0.5, 2.0]
        with ti.ad.FwdMode(param=walk.k, seed=seed), ti.Tape(walk.loss) as tape:
            walk.run(range if slots is None else lambda n: tape.steps(range(n), slots=slots))
        return walk.x.grad.dual.to_numpy(), walk.k.grad.dual.to_numpy(), walk.x.dual.to_numpy()

    np.testing.assert_allclose(second(slots), second(None), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("slots", [1, 3])
def test_reverse_over_reverse(walk, slots):
    def second(inner):
        walk.start()
        with ti.Tape(walk.second):
            with ti.Tape(walk.loss) as tape:
                walk.run(range if inner is None else lambda n: tape.steps(range(n), slots=inner))
            walk.weigh()
        return walk.x.grad.to_numpy(), walk.k.grad.to_numpy()

    np.testing.assert_allclose(second(slots), second(None), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("slots", [1, 3])
def test_reverse_over_forward(walk, slots):
    def second(slots):
        walk.start()
        with ti.Tape(walk.second) as tape:
            for t in range(4) if slots is None else tape.steps(range(4), slots=slots):
                walk.ahead(0.1 * t)
            with ti.ad.FwdMode(loss=walk.loss, param=walk.k, seed=[1.0, 2.0, -1.0]):
                for t in range(6) if slots is None else tape.steps(range(6), slots=slots):
                    walk.ahead(0.3 * t)
                walk.between()
            walk.second.copy_from(walk.loss.dual)
        return walk.x.grad.to_numpy(), walk.k.grad.to_numpy()

    np.testing.assert_allclose(second(slots), second(None), rtol=1e-12, atol=1e-13)


def test_steps_of_an_outer_tape_with_a_tape_in_each():
    q, p, loss, run = swings(steps=2)
    second = single("second")

    @ti.kernel
    def descend():
        for i in q:
            q[i] -= 0.01 * q.grad[i]

    @ti.kernel
    def end():
        for i in q:
            second[None] += q[i] ** 2

    def outer(slots):
        q.from_numpy(np.linspace(0.5, 2.5, 5))
        p.from_numpy(np.linspace(-1.0, 1.0, 5))
        with ti.Tape(second) as tape:
            for _ in range(6) if slots is None else tape.steps(range(6), slots=slots):
                with ti.Tape(loss):
                    run()
                descend()
            end()
        return q.grad.to_numpy(), p.grad.to_numpy()

    np.testing.assert_allclose(outer(2), outer(None), rtol=1e-12)


def test_gradients_agree_with_differences(walk):
    walk.start()

    def run():
        walk.before()
        ti.ad.checkpoint(lambda t: walk.ahead(0.1 * t), 7, slots=2)
        walk.between()

    assert ti.check_grad(run, wrt=[walk.x, walk.k], loss=walk.loss, order=2)


def test_a_tape_that_checks_its_gradient(walk):
    walk.start()
    with ti.Tape(walk.loss, grad_check=[walk.x]) as tape:
        for t in tape.steps(range(9), slots=2):
            walk.x[1] = 0.3 * t
            walk.ahead(0.1 * t)
        walk.between()
    assert tape.check


class Told:
    """Ten items that say that there are another number of them."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(range(10))


@pytest.mark.parametrize("slots", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("length", [0, 1, 3, 9, 11, 30])
def test_a_length_that_is_wrong(walk, slots, length):
    def run(items, most):
        walk.start()
        with ti.Tape(walk.loss) as tape:
            for t in items(tape):
                walk.ahead(0.1 * t)
                if t == most:
                    break
            walk.between()
        return walk.state()

    for most in (3, 4, 20):  # left early, too
        found = run(lambda tape: tape.steps(Told(length), slots=slots), most)
        assert found == run(lambda tape: range(10), most)


def test_a_list_that_grows(walk):
    def run(items):
        walk.start()
        given = [0.1, 0.2, 0.3]
        with ti.Tape(walk.loss) as tape:
            for dt in items(tape, given):
                walk.ahead(dt)
                if len(given) < 9:
                    given.append(1.1 * dt)
            walk.between()
        return walk.state()

    plain = run(lambda tape, given: given)
    assert run(lambda tape, given: tape.steps(given, slots=2)) == plain


def test_numbers_of_numpy_as_options(walk):
    plain = walk.plain()
    walk.recorded(np.int64(3))
    assert walk.state() == plain
