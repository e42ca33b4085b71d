"""The material point method with moving least squares (Hu et al. 2018), and an axis for time."""

import numpy as np

import dsim as ds
from tests.bench.cases.fields import Case, fill, matrices, random, scalars, vectors


def mpm(particles: int = 4096, n: int = 64, steps: int = 64) -> Case:  # noqa: C901 (its kernels)
    """A neo-Hookean block that falls: particles to grid, forces, grid to particles."""
    dx, dt, E = 1 / n, 1e-4, 400.0
    mass, volume = 1.0, 1e-4
    x, v = vectors(steps, particles), vectors(steps, particles)
    C, F = matrices(steps, particles), matrices(steps, particles)
    momentum, velocity = vectors(steps, n, n), vectors(steps, n, n)
    m, v0, loss = scalars(steps, n, n), vectors(), scalars()
    start = np.zeros((steps, particles, 2))
    start[0] = 0.3 + 0.4 * random(particles, 2)
    fill(x, start)
    whole = np.zeros((steps, particles, 2, 2))
    whole[0] = np.eye(2)
    fill(F, whole)
    v0.from_numpy(np.array([0.5, -1.0]).astype(v0.to_numpy().dtype))

    @ds.kernel
    def clear():
        for t, i, j in m:
            m[t, i, j] = 0
            momentum[t, i, j] = [0, 0]

    @ds.kernel
    def begin():
        for p in range(particles):
            v[0, p] = v0[None]

    @ds.kernel
    def to_grid(t: ds.i32):
        for p in range(particles):
            base = ds.cast(x[t, p] * n - 0.5, ds.i32)
            f = x[t, p] * n - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            now = (ds.Matrix.identity(float, 2) + dt * C[t, p]) @ F[t, p]
            F[t + 1, p] = now
            log_J = ds.log(now.determinant())
            stress = E * (now @ now.transpose()) + E * (0.5 * log_J - 1) * ds.Matrix.identity(float, 2)
            affine = -(dt * volume * 4 * n * n) * stress + mass * C[t, p]
            for i, j in ds.static(ds.ndrange(3, 3)):
                offset = ds.Vector([i, j])
                weight = w[i][0] * w[j][1]
                momentum[t, base + offset] += weight * (mass * v[t, p] + affine @ ((offset - f) * dx))
                m[t, base + offset] += weight * mass

    @ds.kernel
    def forces(t: ds.i32):
        for i, j in ds.ndrange(n, n):
            out = momentum[t, i, j] / (m[t, i, j] + 1e-10)
            out[1] -= dt * 9.8
            if (i < 3 and out[0] < 0) or (i > n - 3 and out[0] > 0):
                out[0] = 0
            if (j < 3 and out[1] < 0) or (j > n - 3 and out[1] > 0):
                out[1] = 0
            velocity[t, i, j] = out

    @ds.kernel
    def to_particles(t: ds.i32):
        for p in range(particles):
            base = ds.cast(x[t, p] * n - 0.5, ds.i32)
            f = x[t, p] * n - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            new_v = ds.Vector([0.0, 0.0])
            new_C = ds.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ds.static(ds.ndrange(3, 3)):
                g = velocity[t, base[0] + i, base[1] + j]
                weight = w[i][0] * w[j][1]
                new_v += weight * g
                new_C += 4 * n * weight * g.outer_product(ds.Vector([i, j]) - f)
            v[t + 1, p] = new_v
            x[t + 1, p] = x[t, p] + dt * new_v
            C[t + 1, p] = new_C

    @ds.kernel
    def measure():
        for p in range(particles):
            loss[None] += x[steps - 1, p].norm_sqr() / particles

    def run() -> None:
        clear()
        begin()
        for t in range(steps - 1):
            to_grid(t)
            forces(t)
            to_particles(t)
        measure()

    return run, loss, v0
