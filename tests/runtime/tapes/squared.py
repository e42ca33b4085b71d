"""A program with a function under `grad_replaced`."""

import numpy as np

import dsim as ti
from tests.runtime.taping import single

N = 5
SEEDS = np.arange(1.0, N + 1)


class Squared:
    """``y = x² + c·w`` by a function with a backward pass, after which all four may be overwritten."""

    def __init__(self, reads=None, linear=False, back=None):
        self.x, self.y, self.w, self.c = (
            ti.field(ti.f64, shape=N, needs_grad=True, name=name) for name in "xywc"
        )
        self.loss = single("loss")
        x, y, w, c, loss = self.x, self.y, self.w, self.c, self.loss

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2 + c[i] * w[i]

        @ti.kernel
        def total():
            for i in y:
                loss[None] += y[i] * (i + 1)

        @ti.kernel
        def overwrite(f: ti.template()):
            for i in f:
                f[i] = 100.0

        @ti.ad.grad_replaced
        def ahead():
            square()

        self.square, self.total, self.overwrite, self.ahead = square, total, overwrite, ahead
        self.back = back or square.grad
        chosen = reads(self) if callable(reads) else reads
        ti.ad.grad_for(ahead, reads=chosen, linear=linear)(self._back)
        x.from_numpy(np.arange(1.0, N + 1))
        c.fill(2.0)
        w.fill(3.0)

    def _back(self):
        self.back()

    def gradient(self, *overwritten, **options):
        with ti.Tape(self.loss, **options) as tape:
            self.ahead()
            self.total()
            for f in overwritten:
                self.overwrite(f)
        return tape, self.x.grad.to_numpy()
