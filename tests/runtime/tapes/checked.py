"""Programs for gradient checks."""

import numpy as np

import dsim as ti
from tests.runtime.taping import single


def pendulums(dtype=ti.f64, steps=10):
    """Fields, loss and a program that changes its state in place."""
    q, p = (ti.field(dtype, shape=5, needs_grad=True, name=name) for name in "qp")
    loss = ti.field(dtype, shape=(), needs_grad=True, name="loss")

    @ti.kernel
    def swing(dt: float):
        for i in q:
            p[i] -= dt * ti.sin(q[i])
            q[i] += dt * p[i]

    @ti.kernel
    def total():
        for i in q:
            loss[None] += q[i] ** 2 + ti.cos(p[i])

    def run():
        for _ in range(steps):
            swing(0.1)
        total()

    q.from_numpy(np.linspace(0.5, 2.5, 5))
    p.from_numpy(np.linspace(-1.0, 1.0, 5))
    return (q, p), loss, run


def wrong_square(slope):
    """x, loss and a kernel for x², whose func says that its derivative is `slope` times x."""
    x, loss = single("x"), single("loss")

    @ti.func
    def square(a):
        return a * a

    @ti.func
    def square_jvp(a, a_dot):
        return slope * a * a_dot

    square.derivative(jvp=square_jvp, check=False)

    @ti.kernel
    def run():
        loss[None] += square(x[None])

    x[None] = 3.0
    return x, loss, run
