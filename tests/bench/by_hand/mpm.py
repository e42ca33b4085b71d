"""The material point method by hand, two-dimensional, with the adjoints of its three kernels."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import prange

from tests.bench.by_hand.compiled import inlined, parallel
from tests.bench.cases.fields import random

f32 = np.float32
DT, E, MASS, VOLUME = f32(1e-4), f32(400), f32(1), f32(1e-4)


@inlined
def _weights(f: Any, w: Any) -> None:
    for d in range(2):
        w[0, d] = f32(0.5) * (f32(1.5) - f[d]) ** 2
        w[1, d] = f32(0.75) - (f[d] - f32(1)) ** 2
        w[2, d] = f32(0.5) * (f[d] - f32(0.5)) ** 2


@inlined
def _place(x: Any, n: Any, base: Any, f: Any) -> None:
    for d in range(2):
        base[d] = int(x[d] * n - f32(0.5))
        f[d] = x[d] * n - f32(base[d])


@inlined
def _from_weights(f: Any, wb: Any, fb: Any) -> None:
    for d in range(2):
        fb[d] += wb[1, d] * f32(-2) * (f[d] - f32(1)) + wb[2, d] * (f[d] - f32(0.5))
        fb[d] -= wb[0, d] * (f32(1.5) - f[d])


@inlined
def _elastic(C: Any, F: Any, now: Any, affine: Any, n: Any) -> Any:
    """The new deformation and the affine momentum; returns its determinant."""
    for a in range(2):
        for b in range(2):
            now[a, b] = F[a, b] + DT * (C[a, 0] * F[0, b] + C[a, 1] * F[1, b])
    J = now[0, 0] * now[1, 1] - now[0, 1] * now[1, 0]
    k = DT * VOLUME * f32(4) * n * n
    for a in range(2):
        for b in range(2):
            stress = E * (now[a, 0] * now[b, 0] + now[a, 1] * now[b, 1])
            if a == b:
                stress += E * (f32(0.5) * np.log(J) - f32(1))
            affine[a, b] = MASS * C[a, b] - k * stress
    return J


@parallel
def to_grid(x: Any, v: Any, C: Any, F: Any, F1: Any, copies: Any, grid: Any) -> None:
    """`grid` has momenta and masses."""
    threads, count, n = len(copies), len(x), f32(grid.shape[0])
    for c in prange(threads):
        own = copies[c]
        own[:] = 0
        base, f, w = np.empty(2, np.int64), np.empty(2, f32), np.empty((3, 2), f32)
        affine = np.empty((2, 2), f32)
        for p in range(c * count // threads, (c + 1) * count // threads):
            _place(x[p], n, base, f)
            _weights(f, w)
            _elastic(C[p], F[p], F1[p], affine, n)
            for i in range(3):
                for j in range(3):
                    dx, dy = (f32(i) - f[0]) / n, (f32(j) - f[1]) / n
                    weight = w[i, 0] * w[j, 1]
                    a, b = base[0] + i, base[1] + j
                    own[a, b, 0] += weight * (MASS * v[p, 0] + affine[0, 0] * dx + affine[0, 1] * dy)
                    own[a, b, 1] += weight * (MASS * v[p, 1] + affine[1, 0] * dx + affine[1, 1] * dy)
                    own[a, b, 2] += weight * MASS
    for i in prange(grid.shape[0]):
        for j in range(grid.shape[1]):
            for d in range(3):
                total = f32(0)
                for c in range(threads):
                    total += copies[c, i, j, d]
                grid[i, j, d] = total


@parallel
def to_grid_back(
    x: Any, v: Any, C: Any, F: Any, gb: Any, F1b: Any, xb: Any, vb: Any, Cb: Any, Fb: Any
) -> None:
    """Sets `vb`, `Cb` and `Fb`, and adds to `xb`, from those of the grid and of the new deformation."""
    n = f32(gb.shape[0])
    k = DT * VOLUME * f32(4) * n * n
    for p in prange(len(x)):
        base, f, w = np.empty(2, np.int64), np.empty(2, f32), np.empty((3, 2), f32)
        affine, now = np.empty((2, 2), f32), np.empty((2, 2), f32)
        _place(x[p], n, base, f)
        _weights(f, w)
        J = _elastic(C[p], F[p], now, affine, n)
        ab, wb, fb = np.zeros((2, 2), f32), np.zeros((3, 2), f32), np.zeros(2, f32)
        v0, v1 = f32(0), f32(0)
        for i in range(3):
            for j in range(3):
                dx, dy = (f32(i) - f[0]) / n, (f32(j) - f[1]) / n
                g = gb[base[0] + i, base[1] + j]
                q0 = MASS * v[p, 0] + affine[0, 0] * dx + affine[0, 1] * dy
                q1 = MASS * v[p, 1] + affine[1, 0] * dx + affine[1, 1] * dy
                weight = w[i, 0] * w[j, 1]
                b0, b1 = weight * g[0], weight * g[1]
                change = g[0] * q0 + g[1] * q1 + MASS * g[2]
                wb[i, 0] += change * w[j, 1]
                wb[j, 1] += change * w[i, 0]
                v0 += MASS * b0
                v1 += MASS * b1
                ab[0, 0] += b0 * dx
                ab[0, 1] += b0 * dy
                ab[1, 0] += b1 * dx
                ab[1, 1] += b1 * dy
                fb[0] -= (affine[0, 0] * b0 + affine[1, 0] * b1) / n
                fb[1] -= (affine[0, 1] * b0 + affine[1, 1] * b1) / n
        _from_weights(f, wb, fb)
        xb[p, 0] += n * fb[0]
        xb[p, 1] += n * fb[1]
        vb[p, 0], vb[p, 1] = v0, v1
        nb = np.empty((2, 2), f32)
        half = f32(-0.5) * k * E * (ab[0, 0] + ab[1, 1]) / J
        s00, s11, s01 = f32(-2) * k * ab[0, 0], f32(-2) * k * ab[1, 1], -k * (ab[0, 1] + ab[1, 0])
        nb[0, 0] = F1b[p, 0, 0] + E * (s00 * now[0, 0] + s01 * now[1, 0]) + half * now[1, 1]
        nb[0, 1] = F1b[p, 0, 1] + E * (s00 * now[0, 1] + s01 * now[1, 1]) - half * now[1, 0]
        nb[1, 0] = F1b[p, 1, 0] + E * (s01 * now[0, 0] + s11 * now[1, 0]) - half * now[0, 1]
        nb[1, 1] = F1b[p, 1, 1] + E * (s01 * now[0, 1] + s11 * now[1, 1]) + half * now[0, 0]
        for a in range(2):
            for b in range(2):
                Fb[p, a, b] = nb[a, b] + DT * (C[p, 0, a] * nb[0, b] + C[p, 1, a] * nb[1, b])
                Cb[p, a, b] = MASS * ab[a, b] + DT * (nb[a, 0] * F[p, b, 0] + nb[a, 1] * F[p, b, 1])


@inlined
def _wall(i: int, n: int, out: Any) -> bool:
    return (i < 3 and out < 0) or (i > n - 3 and out > 0)


@parallel
def forces(grid: Any, velocity: Any) -> None:
    n = grid.shape[0]
    for i in prange(n):
        for j in range(n):
            m = grid[i, j, 2] + f32(1e-10)
            a, b = grid[i, j, 0] / m, grid[i, j, 1] / m - DT * f32(9.8)
            velocity[i, j, 0] = f32(0) if _wall(i, n, a) else a
            velocity[i, j, 1] = f32(0) if _wall(j, n, b) else b


@parallel
def forces_back(grid: Any, copies: Any, gb: Any) -> None:
    """`copies` are the adjoints of velocities, one of each thread."""
    n = grid.shape[0]
    for i in prange(n):
        for j in range(n):
            m = grid[i, j, 2] + f32(1e-10)
            a, b = grid[i, j, 0] / m, grid[i, j, 1] / m - DT * f32(9.8)
            v0, v1 = f32(0), f32(0)
            for c in range(len(copies)):
                v0 += copies[c, i, j, 0]
                v1 += copies[c, i, j, 1]
            b0 = f32(0) if _wall(i, n, a) else v0
            b1 = f32(0) if _wall(j, n, b) else v1
            gb[i, j, 0], gb[i, j, 1] = b0 / m, b1 / m
            gb[i, j, 2] = -(b0 * grid[i, j, 0] + b1 * grid[i, j, 1]) / (m * m)


@parallel
def to_particles(x: Any, velocity: Any, x1: Any, v1: Any, C1: Any) -> None:
    n = f32(velocity.shape[0])
    for p in prange(len(x)):
        base, f, w = np.empty(2, np.int64), np.empty(2, f32), np.empty((3, 2), f32)
        _place(x[p], n, base, f)
        _weights(f, w)
        a, b = f32(0), f32(0)
        c00, c01, c10, c11 = f32(0), f32(0), f32(0), f32(0)
        for i in range(3):
            for j in range(3):
                g = velocity[base[0] + i, base[1] + j]
                weight = w[i, 0] * w[j, 1]
                a += weight * g[0]
                b += weight * g[1]
                dx, dy = f32(4) * n * weight * (f32(i) - f[0]), f32(4) * n * weight * (f32(j) - f[1])
                c00 += g[0] * dx
                c01 += g[0] * dy
                c10 += g[1] * dx
                c11 += g[1] * dy
        v1[p, 0], v1[p, 1] = a, b
        x1[p, 0], x1[p, 1] = x[p, 0] + DT * a, x[p, 1] + DT * b
        C1[p, 0, 0], C1[p, 0, 1], C1[p, 1, 0], C1[p, 1, 1] = c00, c01, c10, c11


@parallel
def to_particles_back(x: Any, velocity: Any, xb: Any, vb: Any, Cb: Any, copies: Any) -> None:
    """Adds to `xb` in place, and scatters the adjoints of the grid's velocities."""
    threads, count, n = len(copies), len(x), f32(velocity.shape[0])
    for c in prange(threads):
        own = copies[c]
        own[:] = 0
        base, f, w = np.empty(2, np.int64), np.empty(2, f32), np.empty((3, 2), f32)
        wb, fb = np.empty((3, 2), f32), np.empty(2, f32)
        for p in range(c * count // threads, (c + 1) * count // threads):
            _place(x[p], n, base, f)
            _weights(f, w)
            wb[:] = 0
            fb[:] = 0
            a, b = vb[p, 0] + DT * xb[p, 0], vb[p, 1] + DT * xb[p, 1]
            c00, c01 = f32(4) * n * Cb[p, 0, 0], f32(4) * n * Cb[p, 0, 1]
            c10, c11 = f32(4) * n * Cb[p, 1, 0], f32(4) * n * Cb[p, 1, 1]
            for i in range(3):
                for j in range(3):
                    g = velocity[base[0] + i, base[1] + j]
                    weight = w[i, 0] * w[j, 1]
                    dx, dy = f32(i) - f[0], f32(j) - f[1]
                    b0, b1 = a + c00 * dx + c01 * dy, b + c10 * dx + c11 * dy
                    own[base[0] + i, base[1] + j, 0] += weight * b0
                    own[base[0] + i, base[1] + j, 1] += weight * b1
                    change = g[0] * b0 + g[1] * b1
                    wb[i, 0] += change * w[j, 1]
                    wb[j, 1] += change * w[i, 0]
                    fb[0] -= weight * (g[0] * c00 + g[1] * c10)
                    fb[1] -= weight * (g[0] * c01 + g[1] * c11)
            _from_weights(f, wb, fb)
            xb[p, 0] += n * fb[0]
            xb[p, 1] += n * fb[1]


def mpm(particles: int = 4096, n: int = 64, steps: int = 64) -> Any:
    x, v = np.zeros((steps, particles, 2), f32), np.zeros((steps, particles, 2), f32)
    C, F = np.zeros((steps, particles, 2, 2), f32), np.zeros((steps, particles, 2, 2), f32)
    x[0], F[0], v[0] = 0.3 + 0.4 * random(particles, 2), np.eye(2), [0.5, -1.0]
    grid, velocity = np.zeros((steps, n, n, 3), f32), np.zeros((steps, n, n, 2), f32)
    xb, vb = np.zeros((particles, 2), f32), np.zeros((particles, 2), f32)
    Cb, Fb = np.zeros((particles, 2, 2), f32), np.zeros((particles, 2, 2), f32)
    gb = np.zeros((n, n, 3), f32)

    def primal() -> float:
        copies = np.zeros((numba.get_num_threads(), n, n, 3), f32)
        for t in range(steps - 1):
            to_grid(x[t], v[t], C[t], F[t], F[t + 1], copies, grid[t])
            forces(grid[t], velocity[t])
            to_particles(x[t], velocity[t], x[t + 1], v[t + 1], C[t + 1])
        return float((x[-1] ** 2).sum() / particles)

    def gradient() -> tuple[float, np.ndarray]:
        loss = primal()
        copies = np.zeros((numba.get_num_threads(), n, n, 2), f32)
        xb[:] = x[-1] * f32(2 / particles)
        for bar in (vb, Cb, Fb):
            bar[:] = 0
        for t in range(steps - 2, -1, -1):
            to_particles_back(x[t], velocity[t], xb, vb, Cb, copies)
            forces_back(grid[t], copies, gb)
            to_grid_back(x[t], v[t], C[t], F[t], gb, Fb, xb, vb, Cb, Fb)
        return loss, vb.sum(axis=0)

    return primal, gradient
