"""Captured numbers that have changed, and so are passed by each launch: bit for bit what constants give.

No two factors of a kernel are equal: of equal constants one is left, which changes the order of sums in
gradients.
"""

from __future__ import annotations

import enum
import inspect
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.state import settings


@pytest.fixture(params=["cpu", "reference"], autouse=True)
def backend(request):
    ds.init(default_fp=ds.f32, fast_math=False)
    settings.change(replace(settings.current(), backend=request.param))


class Fields:
    """What the kernels of this file read and write: floats and integers of two widths."""

    def __init__(self) -> None:
        self.x, self.y = (ds.field(ds.f32, shape=8, needs_grad=True) for _ in "xy")
        self.a, self.b = (ds.field(ds.f64, shape=8, needs_grad=True) for _ in "ab")
        self.n, self.m = ds.field(ds.i32, shape=8), ds.field(ds.i64, shape=8)
        self.loss = ds.field(ds.f64, shape=(), needs_grad=True)
        self.reset()

    def reset(self) -> None:
        self.x.from_numpy(np.linspace(0.3, 2.9, 8, dtype=np.float32))
        self.a.from_numpy(np.linspace(0.31, 2.91, 8))
        for f in (self.y, self.b, self.n, self.m, self.loss):
            f.fill(0)

    def bits(self) -> list[bytes]:
        values = (self.y, self.b, self.n, self.m, self.loss)
        gradients = (self.x.grad, self.a.grad)
        return [f.to_numpy().tobytes() for f in (*values, *gradients)]


Make = Callable[[Any, Fields], Any]
PROGRAMS: dict[str, tuple[Make, tuple[dict[str, Any], ...]]] = {}


def program(*numbers: dict[str, Any]) -> Callable[[Make], Make]:
    """A kernel that captures `numbers`, which are set one after the other."""

    def add(make: Make) -> Make:
        PROGRAMS[make.__name__] = (make, numbers)
        return make

    return add


FLOATS = ({"p": 0.5, "q": 2.0}, {"p": 0.1, "q": 0.7}, {"p": -1e-3, "q": 0.37})
INTEGERS = ({"n": 3}, {"n": 7}, {"n": 100_003}, {"n": -5}, {"n": 0}, {"n": 3_000_000_000})
SMALL = ({"n": 1, "q": 0.1}, {"n": 2, "q": 0.3}, {"n": 0, "q": 0.7})


@program(*FLOATS)
def products(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            f.y[i] = f.x[i] * (g.p * g.q) + (g.p + 0.1) * (g.q - 1e-3) - g.p
            f.b[i] = f.a[i] * g.p + f.a[i] * (g.p * 0.3) + g.p / 3 * f.x[i]
            f.loss[None] += f.y[i] * f.b[i]

    return run


@program(*FLOATS)
def mixed_widths(g, f):
    @ds.kernel
    def run():
        w = g.p * g.q
        for i in f.x:
            v = g.q / 7
            f.b[i] = (-g.p * 3 + +g.q) * f.a[i] + w * v
            f.y[i] += g.p // 0.03 + g.q % 0.03 * f.x[i]
            f.loss[None] += f.x[i]
            f.loss[None] += g.p * f.b[i] * f.b[i]

    return run


@program(*INTEGERS)
def integers(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            f.b[i] = f.a[i] * (g.n * g.n * 1e-3) + g.n / 7
            f.y[i] = f.x[i] * g.n + g.n
            f.m[i] = g.n * 1000 + i + g.n // 7 + g.n % 5 - (g.n << 3) + (g.n & 6) + ~g.n
            f.n[i] = g.n * i

    return run


@program({"n": 2**53 + 1}, {"n": 2**60 + 2**7 + 1}, {"n": 2**63 + 2**39 + 1}, {"n": 2**24 + 1})
def large_integers(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            f.b[i] = g.n
            f.y[i] = g.n
            f.m[i] = g.n // 2 + i
            f.b[i] += 0.1 if g.n else 0.3

    return run


@program({"n": 2}, {"n": 3}, {"n": 2.5}, {"n": 0.1}, {"n": 4}, {"n": True}, {"n": 0.1}, {"n": False})
def kinds(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            f.b[i] = f.a[i] * (g.n / 3) + g.n * 0.1 + float(g.n)
            f.m[i] = int(g.n * 2.5) + isinstance(g.n, int) * 10

    return run


@program(*FLOATS)
def functions(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            f.b[i] = f.a[i] * ds.sin(g.p) + ds.exp(g.q * 0.1) + math.sqrt(g.q) + math.tanh(g.p)
            f.b[i] += max(g.p, g.q) * min(g.p, 0.2) + abs(g.p) + ds.floor(g.p * 10) + math.floor(g.q * 10)
            f.b[i] += ds.select(g.p > 0.3, g.p, g.q) * f.a[i] + round(g.q * 10) + ds.math.clamp(g.p, 0.0, 0.3)
            f.y[i] = ds.math.mix(g.p, g.q, 0.3) * f.x[i] + ds.lgamma(g.q) + ds.math.sign(g.p)
            f.b[i] += f.a[i] * ds.atan2(g.p, g.q) + math.hypot(g.p, 3.0)

    return run


@program(*SMALL)
def vectors(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            v = ds.Vector([g.q, 0.2]) * f.a[i]
            f.b[i] = v.sum() + (ds.Vector([g.q, 0.2, 0.3]) * 0.7)[g.n] * f.a[i] + [0.1, f.x[i], f.a[i]][g.n]
            f.b[i] += (ds.Matrix([[g.q, 1], [0.3, g.q]]) @ ds.Vector([g.q, g.n])).norm(g.n * 0.1) * f.a[i]
            f.b[i] += ds.Vector([1.0, 0.1] * g.n + [0.3]).norm() + v[g.n % 2]
            f.loss[None] += v.norm(g.n * 1e-3) * f.x[i]

    return run


@program(*SMALL, {"n": -1, "q": 0.1}, {"n": 1, "q": 0.9})
def branches(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            f.b[i] = f.a[i] * (0.1 if g.q < 0.5 else 0.3)
            f.b[i] += (f.a[i] if g.n == 1 else f.x[i]) * (g.n or 7) / 3
            f.b[i] += (g.n and 2) / 7 * f.a[i] + (0 < g.q < 0.5) * 0.17 * f.a[i] + (not g.n) * 0.3
            c = f.a[i]
            if g.n in (1, 2):
                c = f.x[i] * 0.1
            f.b[i] += c * 0.1
            match g.n:
                case 1:
                    f.m[i] = 5
                case 2:
                    f.m[i] = 7
            f.loss[None] += f.b[i] * f.x[i] * (0.3 if g.q < 0.2 else 1.0)

    return run


@program(*SMALL, {"n": 3, "q": 0.9})
def plain_branches(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            c = f.a[i]
            if g.n > 1 and f.x[i] > g.q:
                c = c * g.q
            elif g.q * g.n < 0.2:
                c += g.n
            j = 0
            while j < g.n:
                c += 0.1
                j += 1
            f.b[i] = c
            f.loss[None] += c * f.x[i]

    return run


@program(
    {"p": 2.0, "n": 5}, {"p": 3.0, "n": 4}, {"p": 0.5, "n": -2}, {"p": -3.0, "n": 0}, {"p": 65.0, "n": 70}
)
def powers(g, f):
    @ds.kernel
    def run():
        for i in f.x:
            f.b[i] = f.a[i] ** g.p + f.a[i] ** g.n + (2.5**g.n) * f.a[i] + (g.n + 0.5) ** 2
            f.y[i] = f.x[i] ** g.p + ds.pow(f.x[i], g.n)
            f.loss[None] += f.b[i] * 1e-3

    return run


@ds.func
def weighted(v, w: ds.f32, u):
    return v * w + v * (u * 0.1)


def plain(v, u):
    w = u * 0.3
    if u < 0.2:
        w = u / 7
    return v * w


@program(*FLOATS)
def functions_of_ones_own(g, f):
    @ds.kernel
    def run():
        def own(u):
            return u * g.p

        for i in f.a:
            f.b[i] = weighted(f.a[i], g.p, g.q) + plain(f.a[i], g.q) + own(0.1) * f.a[i]
            f.b[i] += ds.grad(weighted)(f.a[i], g.p, g.q)[0] + ds.cast(g.p, ds.f32) * ds.f64(g.q)

    return run


@program(*INTEGERS[:2], {"n": 5}, {"n": 0}, {"n": 2})
def loops(g, f):
    @ds.kernel
    def run():
        for i in range(g.n):
            for j in range(-g.n, g.n, 2):
                f.b[i] += f.a[i] * (g.n * 0.1) + j
        for i, j in ds.ndrange(g.n, (g.n // 2, g.n)):
            f.y[i] += j * 0.1
        for i in ds.static(range(g.n)):
            f.m[i] += i * g.n

    return run


class Turn(enum.IntEnum):
    LEFT = 1
    RIGHT = 2


@program(
    {"n": Turn.LEFT}, {"n": Turn.RIGHT}, {"n": np.float32(0.1)}, {"n": np.int64(3)}, {"n": np.float64(0.1)}
)
def numbers_of_other_classes(g, f):
    @ds.kernel
    def run():
        for i in f.a:
            f.b[i] = f.a[i] * (g.n * 0.1) + g.n * g.n

    return run


def left(make: Make, numbers: tuple[dict[str, Any], ...]) -> list[bytes]:
    """What the launch with the last of these numbers leaves, after launches with the others."""
    g, f = SimpleNamespace(), Fields()
    kernel = None
    for given in numbers:
        g.__dict__.update(given)
        f.reset()
        kernel = make(g, f) if kernel is None else kernel
        with ds.Tape(f.loss) if "f.loss" in inspect.getsource(make) else nullcontext():
            kernel()
    return f.bits()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_later_launches_give_what_a_first_one_gives(name):
    make, numbers = PROGRAMS[name]
    for last in range(1, len(numbers)):
        assert left(make, numbers[: last + 1]) == left(make, numbers[last : last + 1]), numbers[last]


@pytest.mark.slow
def test_numbers_of_the_owner_of_a_method():
    f = Fields()

    @ds.data_oriented
    class Law:
        def __init__(self, gain):
            self.gain = gain

        @ds.kernel
        def run(self):
            for i in f.a:
                f.b[i] = f.a[i] * (self.gain * 0.1)

    changed = Law(0.5)
    changed.run()
    for gain in (0.1, 0.7):
        changed.gain = gain
        changed.run()
        found = f.b.to_numpy()
        Law(gain).run()
        assert f.b.to_numpy().tobytes() == found.tobytes()
