"""Programs whose graphs are compared with their plain runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import dsim as ti


def put(program, seed):
    """Random numbers in the fields of a program: floats near 1, and small indices."""
    random = np.random.default_rng(seed)
    for f in program.fields:
        shape = f.to_numpy().shape
        numbers = random.uniform(0.5, 1.5, shape) if f.dtype.is_float else random.integers(0, 3, shape)
        f.from_numpy(numbers)


def fields(names, shape, dtype=ti.f64, **more):
    return [ti.field(dtype, shape=shape, name=name, needs_grad=True, **more) for name in names]


def in_place(n=5, steps=6):
    """State that every step overwrites."""
    q, p, k = fields("qpk", n)
    (loss,) = fields(["loss"], ())

    @ti.kernel
    def step(dt: ti.f64):
        for i in q:
            p[i] -= dt * k[i] * ti.sin(q[i] + q[(i + 1) % n])
        for i in q:
            q[i] += dt * p[i]

    @ti.kernel
    def sum_up():
        for i in q:
            loss[None] += 0.5 * p[i] ** 2 - k[i] * ti.cos(q[i])

    def run():
        for t in range(steps):
            step(0.1 * t)
        sum_up()

    return SimpleNamespace(run=run, loss=loss, wrt=[q, p, k], fields=[q, p, k])


def in_time(n=4, steps=9):
    """An axis for the step, integer fields as indices, and arguments of several types."""
    x, f = fields("xf", (steps, n))
    (stiffness,) = fields(["stiffness"], n)
    (loss,) = fields(["loss"], ())
    pair = ti.field(ti.i32, shape=n, name="pair")

    @ti.kernel
    def push(t: ti.i32, gain: ti.f32, flip: ti.u1):
        for i in range(n):
            sign = -1.0 if flip else 1.0
            f[t, i] = sign * gain * stiffness[i] * (x[t, pair[i]] - x[t, i])

    @ti.kernel
    def move(t: ti.i32):
        for i in range(n):
            x[t + 1, i] = x[t, i] + 0.1 * ti.tanh(f[t, i])

    @ti.kernel
    def measure():
        for i in range(n):
            loss[None] += x[steps - 1, i] ** 2

    def run():
        for t in range(steps - 1):
            push(t, 0.3, t % 2 == 0)
            move(t)
        measure()

    return SimpleNamespace(run=run, loss=loss, wrt=[stiffness, x], fields=[x, stiffness, pair])


def from_python(n=3):
    """Kernels between writes of Python's, copies, constants, and a part without derivatives."""
    a, b, c = fields("abc", n)
    (loss,) = fields(["loss"], ())

    @ti.kernel
    def mix(k: ti.f64):
        for i in a:
            b[i] += k * a[i] * c[i]

    @ti.kernel
    def measure():
        for i in a:
            loss[None] += ti.exp(-b[i]) + c[i] * a[i]

    @ti.ad.no_grad
    def constant():
        mix(0.2)

    def run():
        b.fill(0.5)
        mix(0.7)
        c.copy_from(b)
        a[1] = 2.0
        mix(1.1)
        constant()
        mix(0.4)
        measure()

    return SimpleNamespace(run=run, loss=loss, wrt=[a, c], fields=[a, b, c])


def arrays(n=4):
    """Ndarrays and fields as arguments, vectors, and templates."""
    x = ti.Vector.field(2, ti.f64, shape=n, name="x", needs_grad=True)
    w = ti.ndarray(ti.f64, n, needs_grad=True)
    (loss,) = fields(["loss"], ())

    @ti.kernel
    def turn(v: ti.template(), w: ti.types.ndarray(), angle: ti.types.vector(2, ti.f64)):
        for i in v:
            v[i] = ti.Vector([angle[0] * v[i][0] - angle[1] * v[i][1], angle[1] * v[i][0] + w[i] * v[i][1]])

    @ti.kernel
    def measure(v: ti.template()):
        for i in v:
            loss[None] += v[i].norm_sqr()

    def run():
        for _ in range(4):
            turn(x, w, [0.8, 0.6])
        measure(x)

    return SimpleNamespace(run=run, loss=loss, wrt=[w, x], fields=[x, w])


PROGRAMS = [in_place, in_time, from_python, arrays]
