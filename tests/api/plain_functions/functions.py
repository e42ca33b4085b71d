"""Plain Python functions that tests call in kernels."""

from __future__ import annotations

import functools

import dsim as ds

gain = 2.0


def of(function, *more):
    """What a kernel gives that calls `function`, at 3."""

    @ds.kernel
    def k(v: float, g: ds.template()) -> float:
        return g(v)

    return k(3.0, functools.partial(function, *more) if more else function)


def bent(a, power=2, *, offset=0.0):
    if a > 2.5:
        return gain * a**power + offset
    return ds.sin(a)


def amplified(v):
    return gain * v


def summed(*args, **named):
    s = 0
    for a in args:
        s += a
    return s * named["scale"]


def passed_on(function, *args, **named):
    return function(*args, **named)


class Spring:
    def __init__(self, k):
        self.k = k
        self.law = lambda q: -self.k * q

    def energy(self, q):
        return self.half(self.k) * q * q

    def half(self, v):
        return v / 2

    def __call__(self, q):
        return self.k + q

    @staticmethod
    def less(q):
        return q - 1.0

    @classmethod
    def named(cls, q):
        return q - 2.0

    @property
    def fresh(self):
        k = self.k
        return lambda q: q * k

    @ds.kernel
    def run(self, q: float) -> float:
        return self.energy(q)
