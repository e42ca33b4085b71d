"""Small programs under a tape."""

import numpy as np

import dsim as ti


def single(name, needs_grad=True):
    return ti.field(ti.f64, shape=(), needs_grad=needs_grad, name=name)


def taped(loss, *calls, **options):
    with ti.Tape(loss, **options):
        for call in calls:
            call()


def cubed():
    """x, y and a kernel ``y = x³``."""
    x, y = single("x"), single("y")
    x[None] = 2.0

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    return x, y, cube


def swings(n=5, steps=7):
    """A program that changes its state in place, and a function that runs it."""
    q, p = (ti.field(ti.f64, shape=n, needs_grad=True, name=name) for name in "qp")
    loss = single("loss")

    @ti.kernel
    def swing(dt: float):
        for i in q:
            p[i] -= dt * ti.sin(q[i])
            q[i] += dt * p[i]

    @ti.kernel
    def total():
        for i in q:
            loss[None] += q[i] ** 3

    def run():
        for _ in range(steps):
            swing(0.3)
        total()

    q.from_numpy(np.linspace(0.5, 2.5, n))
    p.from_numpy(np.linspace(-1.0, 1.0, n))
    return q, p, loss, run


def state(*fields):
    return [f.to_numpy() for f in fields] + [f.grad.to_numpy() for f in fields]


def same(left, right):
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))
