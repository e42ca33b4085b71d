"""Fields with and without a path to a loss, and the explanations when their gradients are read."""

import pytest

import dsim as ti
from tests.runtime.taping import single


class Fields:
    """A loss that `square` computes from x; a field w beside it, and kernels for the ways that end."""

    def __init__(self):
        self.x, self.y, self.loss = single("x"), single("y"), single("loss")
        self.w = ti.field(ti.f64, shape=4, needs_grad=True, name="w")
        self.n = ti.field(ti.i32, shape=(), name="n")
        self.x[None] = 3.0
        self.w.fill(2.0)
        x, y, w, loss = self.x, self.y, self.w, self.loss

        @ti.kernel
        def square():
            loss[None] += x[None] ** 2

        @ti.kernel
        def double():
            y[None] = 2.0 * w[1]

        @ti.kernel
        def use():
            loss[None] += y[None]

        @ti.kernel
        def use_value(v: float):
            loss[None] += v

        self.square, self.double, self.use, self.use_value = square, double, use, use_value


def told(look):
    """The one warning that `look` gives, and none when it looks again."""
    with pytest.warns(ti.GradientWarning) as said:
        look()
    look()
    (one,) = said
    return str(one.message)
