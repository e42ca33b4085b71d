"""Fields on grids: waves, shallow water, a fluid, and a heat equation solved implicitly."""

from collections.abc import Callable
from typing import Any

import numpy as np

import dsim as ds
from tests.bench.cases.fields import Case, fill, random, scalars, vectors


def bump(n: int, width: float = 8.0) -> np.ndarray:
    return np.exp(-(((np.indices((n, n)) - n / 2) / width) ** 2).sum(0))


def wave(n: int = 256, steps: int = 256) -> Case:
    """A wave equation with an axis for time: stencils, and nothing but memory traffic."""
    u, goal, misfit = scalars(steps, n, n), fill(scalars(n, n, grad=False), random(n, n)), scalars()
    start = np.zeros((steps, n, n))
    start[:2] = bump(n)
    fill(u, start)

    @ds.kernel
    def step(t: ds.i32):
        for i, j in ds.ndrange((1, n - 1), (1, n - 1)):
            around = u[t - 1, i - 1, j] + u[t - 1, i + 1, j] + u[t - 1, i, j - 1] + u[t - 1, i, j + 1]
            u[t, i, j] = 1.2 * u[t - 1, i, j] - u[t - 2, i, j] + 0.2 * around

    @ds.kernel
    def compare():
        for i, j in goal:
            misfit[None] += (u[steps - 1, i, j] - goal[i, j]) ** 2 / n**2

    def run() -> None:
        for t in range(2, steps):
            step(t)
        compare()

    return run, misfit, u


def wave_graph(n: int = 256, steps: int = 256) -> Case:
    """The same wave, whose launches are recorded once and run again without Python between them."""
    run, misfit, u = wave(n, steps)
    return ds.graph(run), misfit, u


def shallow_water(n: int = 128, steps: int = 200) -> Case:
    """The shallow water equations on a torus, by Lax and Friedrichs; heights and momenta as one vector."""
    s, loss, ratio = vectors(steps + 1, n, n, n=3), scalars(), 0.1
    start = np.zeros((steps + 1, n, n, 3))
    start[0, ..., 0] = 1 + 0.1 * bump(n)
    fill(s, start)

    @ds.func
    def along_x(a):
        return ds.Vector([a[1], a[1] * a[1] / a[0] + 0.5 * a[0] * a[0], a[1] * a[2] / a[0]])

    @ds.func
    def along_y(a):
        return ds.Vector([a[2], a[1] * a[2] / a[0], a[2] * a[2] / a[0] + 0.5 * a[0] * a[0]])

    @ds.kernel
    def step(t: ds.i32):
        for i, j in ds.ndrange(n, n):
            west, east = s[t, (i - 1 + n) % n, j], s[t, (i + 1) % n, j]
            south, north = s[t, i, (j - 1 + n) % n], s[t, i, (j + 1) % n]
            flux = along_x(east) - along_x(west) + along_y(north) - along_y(south)
            s[t + 1, i, j] = 0.25 * (west + east + south + north) - 0.5 * ratio * flux

    @ds.kernel
    def measure():
        for i, j in ds.ndrange(n, n):
            loss[None] += (s[steps, i, j][0] - 1) ** 2

    def run() -> None:
        for t in range(steps):
            step(t)
        measure()

    return run, loss, s


def fluid(n: int = 128, steps: int = 10, sweeps: int = 20, in_place: bool = False) -> Case:
    """An incompressible fluid on a torus: semi-Lagrangian advection, Jacobi's sweeps for the pressure."""
    slots = 1 if in_place else steps
    v, w = vectors(steps + 1, n, n), vectors(slots, n, n)
    div, loss = scalars(slots, n, n), scalars()
    start = np.zeros((steps + 1, n, n, 2))
    angle = 2 * np.pi * np.indices((n, n)) / n
    start[0] = np.stack([np.sin(angle[1]), np.sin(2 * angle[0])], -1) + 0.1 * random(n, n, 2)
    fill(v, start)

    @ds.kernel
    def advect(t: ds.i32, at: ds.i32):
        for i, j in ds.ndrange(n, n):
            back = ds.Vector([i, j]) - v[t, i, j]
            low = ds.floor(back)
            f = back - low
            a, b = (ds.cast(low[0], ds.i32) + n) % n, (ds.cast(low[1], ds.i32) + n) % n
            c, d = (a + 1) % n, (b + 1) % n
            left = (1 - f[1]) * v[t, a, b] + f[1] * v[t, a, d]
            right = (1 - f[1]) * v[t, c, b] + f[1] * v[t, c, d]
            w[at, i, j] = (1 - f[0]) * left + f[0] * right

    @ds.kernel
    def divergence(at: ds.i32):
        for i, j in ds.ndrange(n, n):
            across = w[at, (i + 1) % n, j][0] - w[at, (i - 1 + n) % n, j][0]
            div[at, i, j] = 0.5 * (across + w[at, i, (j + 1) % n][1] - w[at, i, (j - 1 + n) % n][1])

    pressed = (_pressure_in_place if in_place else _pressure)(n, steps, sweeps, v, w, div)

    @ds.kernel
    def measure():
        for i, j in ds.ndrange(n, n):
            loss[None] += (v[steps, i, j] - v[0, j, i]).norm_sqr() / n**2

    def run() -> None:
        for t in range(steps):
            at = 0 if in_place else t
            advect(t, at)
            divergence(at)
            pressed(t)
        measure()

    return run, loss, v


def fluid_in_place(n: int = 128, steps: int = 10, sweeps: int = 20) -> Case:
    """The same fluid, in fields that each step uses again; the sweeps go between two."""
    return fluid(n, steps, sweeps, in_place=True)


def _pressure(n: int, steps: int, sweeps: int, v: Any, w: Any, div: Any) -> Callable[[int], None]:
    """What removes the divergence of a step, with an axis for steps and one for sweeps."""
    p = scalars(steps, sweeps + 1, n, n)

    @ds.kernel
    def relax(t: ds.i32, k: ds.i32):
        for i, j in ds.ndrange(n, n):
            around = p[t, k, (i - 1 + n) % n, j] + p[t, k, (i + 1) % n, j]
            around += p[t, k, i, (j - 1 + n) % n] + p[t, k, i, (j + 1) % n]
            p[t, k + 1, i, j] = 0.25 * (around - div[t, i, j])

    @ds.kernel
    def project(t: ds.i32):
        for i, j in ds.ndrange(n, n):
            slope_x = p[t, sweeps, (i + 1) % n, j] - p[t, sweeps, (i - 1 + n) % n, j]
            slope_y = p[t, sweeps, i, (j + 1) % n] - p[t, sweeps, i, (j - 1 + n) % n]
            v[t + 1, i, j] = w[t, i, j] - 0.5 * ds.Vector([slope_x, slope_y])

    def pressed(t: int) -> None:
        for k in range(sweeps):
            relax(t, k)
        project(t)

    return pressed


def _pressure_in_place(n: int, _: int, sweeps: int, v: Any, w: Any, div: Any) -> Callable[[int], None]:
    """What removes the divergence of a step: sweeps from one field to another and back."""
    p, q = scalars(n, n), scalars(n, n)

    @ds.kernel
    def begin():
        for i, j in p:
            p[i, j] = 0.0

    @ds.kernel
    def relax(old: ds.template(), new: ds.template()):
        for i, j in ds.ndrange(n, n):
            around = old[(i - 1 + n) % n, j] + old[(i + 1) % n, j]
            around += old[i, (j - 1 + n) % n] + old[i, (j + 1) % n]
            new[i, j] = 0.25 * (around - div[0, i, j])

    @ds.kernel
    def project(t: ds.i32, last: ds.template()):
        for i, j in ds.ndrange(n, n):
            slope_x = last[(i + 1) % n, j] - last[(i - 1 + n) % n, j]
            slope_y = last[i, (j + 1) % n] - last[i, (j - 1 + n) % n]
            v[t + 1, i, j] = w[0, i, j] - 0.5 * ds.Vector([slope_x, slope_y])

    def pressed(t: int) -> None:
        begin()
        old, new = p, q
        for _ in range(sweeps):
            relax(old, new)
            old, new = new, old
        project(t, old)

    return pressed


def implicit_heat(n: int = 4096, steps: int = 4) -> Case:  # noqa: C901 (its kernels)
    """A heat equation whose conductivity grows with temperature, by implicit steps."""
    dt = 0.1
    k, u, before = fill(scalars(n), 1 + random(n)), scalars(n), scalars(n)
    r, d, loss = scalars(n), scalars(n), scalars()

    @ds.kernel
    def begin():
        for i in u:
            u[i] = ds.sin(2 * np.pi * i / n)

    @ds.kernel
    def keep():
        for i in u:
            before[i] = u[i]

    @ds.kernel
    def residual():
        for i in u:
            left, right = u[ds.max(i - 1, 0)], u[ds.min(i + 1, n - 1)]
            grown = k[i] * (u[i] + 0.1 * u[i] ** 3)
            r[i] = u[i] - before[i] - dt * (left - 2 * grown + right)

    @ds.kernel
    def newton():
        """A step by the tridiagonal Jacobian, which is eliminated row by row."""
        for i in range(n):
            d[i] = 1 + 2 * dt * k[i] * (1 + 0.3 * u[i] ** 2) - dt * ((i == 0) + (i == n - 1))
        ds.loop_config(serialize=True)
        for i in range(1, n):
            m = -dt / d[i - 1]
            d[i] += m * dt
            r[i] -= m * r[i - 1]
        r[n - 1] /= d[n - 1]
        ds.loop_config(serialize=True)
        for e in range(1, n):
            i = n - 1 - e
            r[i] = (r[i] + dt * r[i + 1]) / d[i]
        for i in range(n):
            u[i] -= r[i]

    @ds.implicit(residual=(residual, r), unknown=u, wrt=[k, before], solver="sparse")
    def solve():
        for _ in range(6):
            residual()
            newton()

    @ds.kernel
    def measure():
        for i in u:
            loss[None] += u[i] ** 2

    def run() -> None:
        begin()
        for _ in range(steps):
            keep()
            solve()
        measure()

    return run, loss, k
