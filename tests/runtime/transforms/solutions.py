"""Equations whose solutions are differentiated: a chain of nonlinear springs, brought to rest."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import dsim as ti


def numbers(names, shape=(), dtype=ti.f64):
    return [ti.field(dtype, shape=shape, name=name, needs_grad=True) for name in names]


def chain(u, k, load, r):
    """The residual of a chain of nonlinear springs under loads: ``k (u + u³) - neighbours - load``."""
    n = u.shape[0]

    @ti.kernel
    def residual():
        for i in u:
            r[i] = k[i] * (u[i] + u[i] ** 3) - load[i]
            if i > 0:
                r[i] += 0.3 * ti.sin(u[i] - u[i - 1])
            if i < n - 1:
                r[i] += 0.3 * (u[i] - u[i + 1]) * k[i + 1]

    return residual


def springs(n=4, steps=60, solver="auto"):
    """A chain of springs, brought to rest by an iteration; a loss of its state."""
    u, k, load, r = numbers(["u", "k", "load", "r"], n)
    (loss,) = numbers(["loss"])
    residual = chain(u, k, load, r)

    @ti.kernel
    def relax():
        for i in u:
            u[i] -= 0.4 * r[i] / k[i]

    @ti.kernel
    def measure():
        for i in u:
            loss[None] += u[i] ** 2 * (i + 1) + u[i] * k[i]

    def iterate():
        u.fill(0.0)
        for _ in range(steps):
            residual()
            relax()

    solve = ti.implicit(residual=(residual, r), unknown=u, wrt=[k, load], solver=solver)(iterate)

    def run():
        loss[None] = 0.0
        solve()
        measure()

    def unrolled():
        loss[None] = 0.0
        iterate()
        measure()

    k.from_numpy(np.linspace(1.0, 1.4, n))
    load.from_numpy(np.linspace(0.5, 1.0, n))
    return SimpleNamespace(
        u=u, k=k, load=load, r=r, loss=loss, run=run, unrolled=unrolled, solve=solve, iterate=iterate,
        residual=residual, wrt=[k, load],
    )  # fmt: skip
