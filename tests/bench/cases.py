"""The cases of `make bench`: programs with gradients whose speed matters.

Each case gives a function that launches, the loss, and the field by which the loss is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dsim as ds

Case = tuple[Callable[[], None], Any, Any]
RNG = np.random.default_rng(0)


def scalars(*shape: int, grad: bool = True) -> Any:
    return ds.field(ds.f32, shape=shape, needs_grad=grad)


def vectors(*shape: int) -> Any:
    return ds.Vector.field(2, ds.f32, shape=shape, needs_grad=True)


def gravity(bodies: int = 2048) -> Case:
    """The energy of all pairs of bodies: a scatter that two iterations share, and a sum."""
    x, energy = vectors(bodies), scalars()
    x.from_numpy(RNG.random((bodies, 2)).astype(np.float32))

    @ds.kernel
    def potential():
        for i, j in ds.ndrange(bodies, bodies):
            energy[None] -= 1 / (x[i] - x[j]).norm(1e-3)

    return potential, energy, x


def wave(n: int = 256, steps: int = 256) -> Case:
    """A wave equation with an axis for time: stencils, and nothing but memory traffic."""
    u, goal, misfit = scalars(steps, n, n), scalars(n, n, grad=False), scalars()
    bump = np.exp(-(((np.indices((n, n)) - n / 2) / 8) ** 2).sum(0)).astype(np.float32)
    start = np.zeros((steps, n, n), np.float32)
    start[:2] = bump
    u.from_numpy(start)
    goal.from_numpy(RNG.random((n, n)).astype(np.float32))

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


def neighbours(side: int) -> np.ndarray:
    """Pairs of masses of a square that are next to one another, or at one diagonal."""
    n = np.arange(side * side).reshape(side, side)
    pairs = ((n[1:], n[:-1]), (n[:, 1:], n[:, :-1]), (n[1:, 1:], n[:-1, :-1]))
    return np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])


def springs(side: int = 24, steps: int = 1024) -> Case:  # noqa: C901 (four kernels)
    """Masses on springs: three small launches a step, forces scattered by an integer field."""
    masses = side * side
    ends = neighbours(side)
    x, v, f = (vectors(steps, masses) for _ in range(3))
    length, spread = scalars(len(ends)), scalars()
    pair = ds.field(ds.i32, shape=ends.shape)
    pair.from_numpy(ends.astype(np.int32))
    grid = np.stack(np.divmod(np.arange(masses), side), -1).astype(np.float32) / (side - 1)
    start = np.zeros((steps, masses, 2), np.float32)
    start[0] = grid
    x.from_numpy(start)
    length.from_numpy(1.05 * np.linalg.norm(grid[ends[:, 0]] - grid[ends[:, 1]], axis=1))

    @ds.kernel
    def weigh(t: ds.i32):
        for i in range(masses):
            f[t, i] = [0.0, -1.0]

    @ds.kernel
    def pull(t: ds.i32):
        for s in range(len(ends)):
            a, b = pair[s, 0], pair[s, 1]
            along = x[t, a] - x[t, b]
            now = along.norm(1e-6)
            push = 200.0 * (now - length[s]) / now * along
            f[t, a] -= push
            f[t, b] += push

    @ds.kernel
    def move(t: ds.i32):
        for i in range(masses):
            v[t, i] = 0.999 * v[t - 1, i] + 1e-3 * f[t - 1, i]
            x[t, i] = x[t - 1, i] + 1e-3 * v[t, i]

    @ds.kernel
    def measure():
        for i in range(masses):
            spread[None] += x[steps - 1, i].norm_sqr() / masses

    def run() -> None:
        for t in range(1, steps):
            weigh(t - 1)
            pull(t - 1)
            move(t)
        measure()

    return run, spread, length


def sheet(side: int = 64) -> Case:
    """The energy of a neo-Hookean sheet of triangles: gathers, a determinant, a logarithm."""
    nodes = (side + 1) ** 2
    corner = (np.arange(side)[:, None] * (side + 1) + np.arange(side)).ravel()
    low = np.stack([corner, corner + side + 1, corner + 1], 1)
    high = np.stack([corner + 1, corner + side + 1, corner + side + 2], 1)
    triangles = np.concatenate([low, high]).astype(np.int32)
    rest = np.stack(np.divmod(np.arange(nodes), side + 1), -1) / side
    edges = np.stack([rest[triangles[:, k]] - rest[triangles[:, 2]] for k in (0, 1)], -1)
    x, energy = vectors(nodes), scalars()
    x.from_numpy((rest * [1.1, 0.95] + 1e-3 * RNG.standard_normal(rest.shape)).astype(np.float32))
    vertex = ds.field(ds.i32, shape=triangles.shape)
    vertex.from_numpy(triangles)
    inverse = ds.Matrix.field(2, 2, ds.f32, shape=len(triangles))
    inverse.from_numpy(np.linalg.inv(edges).astype(np.float32))
    area = 0.5 / side**2

    @ds.kernel
    def elastic():
        for t in range(len(triangles)):
            a, b, c = x[vertex[t, 0]], x[vertex[t, 1]], x[vertex[t, 2]]
            F = ds.Matrix.cols([a - c, b - c]) @ inverse[t]
            log_J = ds.log(F.determinant())
            energy[None] += area * (500 * ((F.transpose() @ F).trace() - 2) - 1000 * log_J + 1000 * log_J**2)

    return elastic, energy, x


def launches(count: int = 1000) -> Case:
    """Kernels of one element: what a launch, its record and its adjoint cost."""
    x, last = scalars(count + 1), scalars()
    x[0] = 1.0

    @ds.kernel
    def step(t: ds.i32):
        for _ in range(1):
            x[t + 1] = x[t] * 1.0001

    @ds.kernel
    def measure():
        last[None] += x[count]

    def run() -> None:
        for t in range(count):
            step(t)
        measure()

    return run, last, x


def batches(count: int = 200, size: int = 64) -> Case:
    """Small launches that get their data as NumPy arrays, another one each time."""
    weights, misfit = ds.ndarray(ds.f32, size, needs_grad=True), ds.ndarray(ds.f32, (), needs_grad=True)
    data = RNG.random((count, size)).astype(np.float32)

    @ds.kernel
    def fit(w: ds.types.ndarray(), row: ds.types.ndarray(), out: ds.types.ndarray()):
        for i in w:
            out[None] += (w[i] - row[i]) ** 2

    def run() -> None:
        for row in data:
            fit(weights, row, misfit)

    return run, misfit, weights


CASES: dict[str, Callable[[], Case]] = {
    c.__name__: c for c in (gravity, wave, springs, sheet, launches, batches)
}
