"""Small problems for optimisers."""

from __future__ import annotations

import threading
import time

import dsim as ds


def rosenbrock(n=2, dtype=ds.f64):
    x, y = ds.field(dtype, shape=n, name="x"), ds.field(dtype, shape=(), name="y")

    @ds.kernel
    def run():
        for i in range(n - 1):
            y[None] += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2

    return x, y, run


def quadratic(n=3):
    """Half the sum of squares with weights 1, 2, 3, …: its gradient is the weight times x."""
    x, y = ds.field(ds.f64, shape=n, name="x"), ds.field(ds.f64, shape=(), name="y")
    x.fill(1.0)

    @ds.kernel
    def run():
        for i in x:
            y[None] += 0.5 * (i + 1) * x[i] ** 2

    return x, y, run


def endless():
    """A run whose launch never ends while `x` is below 0.5, and `n`, which it counts."""
    x, y = ds.field(ds.f64, shape=(), name="x"), ds.field(ds.f64, shape=(), name="y")
    n = ds.field(ds.i32, shape=())

    @ds.kernel
    def wait():
        while n[None] >= 0 and x[None] < 0.5:
            n[None] = 1 - n[None]

    @ds.kernel
    def square():
        y[None] = x[None] ** 2

    def run():
        wait()
        square()

    x[None] = 1.0
    return x, y, run


class Steps:
    """A callback that holds the optimisation in each step until it is let go on."""

    def __init__(self, at):
        self.at, self.there, self.go_on = at, threading.Event(), threading.Event()

    def __call__(self, optimization):
        if optimization.done == self.at:
            self.there.set()
            assert self.go_on.wait(60)


def until(condition):
    """Waits until it holds."""
    for _ in range(60_000):
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError
