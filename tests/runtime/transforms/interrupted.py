"""Presses Ctrl-C at many moments of each transform: ``python -m tests.runtime.transforms.interrupted``.

In a process of its own: an interrupt at the very end of a lock, also of Numba's, leaves that taken.
"""

import signal
import sys

import numpy as np

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


def check(name):
    """Nothing of the user's is lost, whenever `name` is interrupted."""
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
        if at and count >= at and not pressed:
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


if __name__ == "__main__":
    for each in TRANSFORMS:
        check(each)
    print(len(TRANSFORMS), "transforms")
