"""Programs whose derivatives are compared: in place, with loops, with a tape or a forward mode inside."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import dsim as ti


def oscillators(n=4, steps=5, dtype=ti.f64):
    """State that is overwritten in each step: fields q, p, k and energy, and the function `run`."""
    q, p, k = (ti.field(dtype, shape=n, name=name) for name in "qpk")
    energy = ti.field(dtype, shape=(), name="energy")
    count = ti.field(ti.i32, shape=(), name="count")

    @ti.kernel
    def step(dt: ti.f64):
        for i in q:
            p[i] -= dt * k[i] * ti.sin(q[i] + q[(i + 1) % n])
        for i in q:
            q[i] += dt * p[i]

    @ti.kernel
    def sum_up():
        for i in q:
            energy[None] += 0.5 * p[i] ** 2 - k[i] * ti.cos(q[i])

    def run():
        energy[None] = 0.0
        for _ in range(steps):
            count[None] += 1
            step(0.3)
        sum_up()

    random = np.random.default_rng(5)
    for f in (q, p, k):
        f.from_numpy(random.uniform(0.5, 1.5, n))
    return SimpleNamespace(q=q, p=p, k=k, energy=energy, run=run, fields=(q, p, k, energy))


def differences(program, wrt, out, step=1e-6):
    """The Jacobian by central differences; the fields of the program are put back."""
    kept = [f.to_numpy() for f in program.fields]

    def restore():
        for f, before in zip(program.fields, kept, strict=True):
            f.from_numpy(before)

    def value(at, by, change):
        restore()
        numbers = at.to_numpy()
        numbers.flat[by] += change
        at.from_numpy(numbers)
        program.run()
        return np.concatenate([f.to_numpy().ravel() for f in out])

    columns = [
        (value(f, n, step) - value(f, n, -step)) / (2 * step) for f in wrt for n in range(f.to_numpy().size)
    ]
    restore()
    return np.stack(columns, axis=1)
