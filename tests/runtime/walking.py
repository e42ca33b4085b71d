"""A program with loops, and calls before, between and after them."""

import numpy as np

import dsim as ti
from tests.runtime.taping import single


def taped(loss, run, **options):
    """The tape of ``run(tape)``."""
    with ti.Tape(loss, **options) as tape:
        run(tape)
    return tape


class Walk:
    """A state in place, a parameter, and calls before, between and after loops that read and write both."""

    def __init__(self, n=3):
        self.n = n
        self.x, self.k, self.y = (
            ti.field(ti.f64, shape=n, needs_grad=True, name=name) for name in ("x", "k", "y")
        )
        self.loss, self.second = single("loss"), single("second")
        x, k, y, loss, second = self.x, self.k, self.y, self.loss, self.second

        @ti.kernel
        def before():
            for i in x:
                y[i] = ti.sin(x[i]) * k[i]
                x[i] = x[i] * y[i]

        @ti.kernel
        def ahead(t: float):
            for i in x:
                y[i] = x[i] * ti.cos(k[i])
            for i in x:
                x[i] += 0.1 * t * y[i] * ti.sin(k[i])

        @ti.kernel
        def between():
            for i in x:
                loss[None] += x[i] ** 2 * y[i]
                k[i] = k[i] * x[i]

        @ti.kernel
        def weigh():
            for i in x:
                second[None] += (i + 1) * x.grad[i] ** 2

        self.before, self.ahead, self.between, self.weigh = before, ahead, between, weigh

    def start(self):
        self.x.from_numpy(np.linspace(0.5, 1.5, self.n))
        self.k.from_numpy(np.linspace(-1.0, 1.0, self.n))
        self.y.fill(0.3)

    def state(self):
        fields = (self.x, self.k, self.loss)
        return [f.to_numpy().tobytes() for f in (*fields, self.y)] + [
            f.grad.to_numpy().tobytes() for f in fields
        ]

    def run(self, loop):
        self.before()
        for t in loop(7):
            self.ahead(0.1 * t)
        self.between()
        for t in loop(12):
            self.ahead(0.05 * t)
        self.between()

    def recorded(self, slots=None):
        self.start()
        with ti.Tape(self.loss) as tape:
            self.run(range if slots is None else lambda n: tape.steps(range(n), slots=slots))
        return tape

    def plain(self):
        self.recorded()
        return self.state()
