"""Ctrl-C at any moment of a transform: the user's fields, gradients and arrays are as they were."""

import signal
import sys

import numpy as np
import pytest

import dsim as ds

MOMENTS = 100  # of each transform


class Program:
    """In-place state, a NumPy array that kernels write, and gradients and tangents of the user's."""

    def __init__(self):
        self.x = x = ds.field(ds.f64, shape=4, needs_grad=True, needs_dual=True)
        self.loss = loss = ds.field(ds.f64, shape=(), needs_grad=True, needs_dual=True)
        self.array = array = np.zeros(4)

        @ds.kernel
        def step(a: ds.types.ndarray()):
            for i in x:
                x[i] = ds.sin(x[i]) + 0.1 * a[i]
                a[i] += x[i]

        @ds.kernel
        def measure():
            for i in x:
                loss[None] += x[i] ** 2

        def run():
            for _ in range(3):
                step(array)
            measure()

        self.run = run

    def begin(self):
        self.x.from_numpy(np.arange(1.0, 5.0))
        self.array[:] = 0.5
        self.loss[None] = 3.0
        for number, f in enumerate((self.x.grad, self.x.dual, self.loss.grad, self.loss.dual)):
            f.fill(5.0 + number)

    def state(self):
        fields = (self.x, self.x.grad, self.x.dual, self.loss, self.loss.grad, self.loss.dual)
        return [f.to_numpy().tolist() for f in fields] + [self.array.tolist()]


TRANSFORMS = {
    "grad": lambda p, J, o: ds.grad(p.run, wrt=p.x, out=p.loss)(),
    "jvp": lambda p, J, o: ds.jvp(p.run, wrt=p.x, out=p.loss, tangents=np.ones(4)),
    "hvp": lambda p, J, o: ds.hvp(p.run, wrt=p.x, out=p.loss, tangents=np.ones(4)),
    "matvec": lambda p, J, o: J.matvec(np.ones(4)),
    "rmatvec": lambda p, J, o: J.rmatvec(np.ones(1)),
    "objective": lambda p, J, o: o(np.linspace(0.1, 0.9, 4)),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pressed in a finalizer
@pytest.mark.parametrize("name", TRANSFORMS)
def test_nothing_of_the_users_is_lost(name):
    ds.init(default_fp=ds.f64)
    p = Program()
    p.begin()
    J = ds.linearize(p.run, wrt=p.x, out=p.loss)
    o = ds.objective(p.run, wrt=p.x, loss=p.loss)

    def transform():
        return TRANSFORMS[name](p, J, o)

    expected = transform()
    before, calls = p.state(), interrupted(transform, at=0)
    for moment in range(1, calls, calls // MOMENTS):
        interrupted(transform, at=moment)
        assert p.state() == before, moment
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    np.testing.assert_equal(transform(), expected)


def interrupted(function, at):
    """Presses Ctrl-C in call number `at` inside of `function`, or never for 0; gives how many there were.

    Not where one returns: a generator that a profiler's error ends there does not clean up.
    """
    count, pressed = 0, False

    def look(frame, event, argument):
        nonlocal count, pressed
        if event not in ("call", "c_call"):
            return
        count += 1
        if at and count >= at and not pressed and not ends_a_lock(frame):
            pressed = True
            signal.raise_signal(signal.SIGINT)

    before = sys.getprofile()
    try:
        sys.setprofile(look)
        function()
        sys.setprofile(before)
    except KeyboardInterrupt:
        assert pressed
    finally:
        sys.setprofile(before)
    return count


def ends_a_lock(frame):
    """Whether the compile lock is just taken or released: interrupted there, it would stay taken."""
    while frame is not None and not frame.f_code.co_filename.endswith("locks.py"):
        frame = frame.f_back
    return frame is not None


def test_the_users_own_code_is_interrupted_at_once():
    p = Program()
    p.begin()
    before, seen = p.state(), []

    def run():
        p.run()
        signal.raise_signal(signal.SIGINT)
        seen.append("after")

    with pytest.raises(KeyboardInterrupt):
        ds.grad(run, wrt=p.x, out=p.loss)()
    assert (seen, p.state()) == ([], before)


def test_a_time_limit_of_the_users_is_a_signal_too():
    p = Program()
    p.begin()
    before, handled = p.state(), signal.getsignal(signal.SIGALRM)

    class TooLongError(Exception):
        pass

    def late(*_):
        raise TooLongError

    def run():
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while True:
            p.run()

    signal.signal(signal.SIGALRM, late)
    try:
        with pytest.raises(TooLongError):
            ds.grad(run, wrt=p.x, out=p.loss)()
        assert signal.getsignal(signal.SIGALRM) is late
    finally:
        signal.signal(signal.SIGALRM, handled)
    assert p.state() == before


def test_handlers_that_the_run_sets_stay():
    p = Program()
    p.begin()
    handled = signal.getsignal(signal.SIGINT)

    def own(*_):
        pass

    def run():
        signal.signal(signal.SIGINT, own)
        p.run()

    try:
        ds.grad(run, wrt=p.x, out=p.loss)()
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, handled)
