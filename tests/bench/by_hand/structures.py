"""Springs and triangles by hand."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import prange

from tests.bench.by_hand.compiled import parallel
from tests.bench.cases.structures import neighbours, triangulated

STIFFNESS, DT, KEPT = np.float32(200), np.float32(1e-3), np.float32(0.999)


@parallel
def _pull(x: Any, pair: Any, length: Any, copies: Any, f: Any) -> None:
    threads, springs = len(copies), len(pair)
    for c in prange(threads):
        own = copies[c]
        own[:] = 0
        for s in range(c * springs // threads, (c + 1) * springs // threads):
            a, b = pair[s, 0], pair[s, 1]
            dx, dy = x[a, 0] - x[b, 0], x[a, 1] - x[b, 1]
            now = np.sqrt(dx * dx + dy * dy + np.float32(1e-6))
            push = STIFFNESS * (now - length[s]) / now
            own[a, 0] -= push * dx
            own[a, 1] -= push * dy
            own[b, 0] += push * dx
            own[b, 1] += push * dy
    for i in range(len(f)):
        fx, fy = np.float32(0), np.float32(-1)
        for c in range(threads):
            fx += copies[c, i, 0]
            fy += copies[c, i, 1]
        f[i, 0], f[i, 1] = fx, fy


@parallel
def _back(x: Any, pair: Any, length: Any, fb: Any, copies: Any, xb: Any, lb: Any) -> None:
    threads, springs = len(copies), len(pair)
    for c in prange(threads):
        own = copies[c]
        own[:] = 0
        for s in range(c * springs // threads, (c + 1) * springs // threads):
            a, b = pair[s, 0], pair[s, 1]
            dx, dy = x[a, 0] - x[b, 0], x[a, 1] - x[b, 1]
            inverse = np.float32(1) / np.sqrt(dx * dx + dy * dy + np.float32(1e-6))
            px, py = fb[b, 0] - fb[a, 0], fb[b, 1] - fb[a, 1]
            along = dx * px + dy * py
            lb[s] -= STIFFNESS * along * inverse
            k = STIFFNESS * (np.float32(1) - length[s] * inverse)
            m = STIFFNESS * length[s] * inverse * inverse * inverse * along
            gx, gy = k * px + m * dx, k * py + m * dy
            own[a, 0] += gx
            own[a, 1] += gy
            own[b, 0] -= gx
            own[b, 1] -= gy
    for i in range(len(xb)):
        for c in range(threads):
            xb[i, 0] += copies[c, i, 0]
            xb[i, 1] += copies[c, i, 1]


@numba.njit
def _forward(x: Any, v: Any, f: Any, pair: Any, length: Any, copies: Any) -> Any:
    steps, masses = x.shape[0], x.shape[1]
    for t in range(1, steps):
        _pull(x[t - 1], pair, length, copies, f[t - 1])
        for i in range(masses):
            for d in range(2):
                v[t, i, d] = KEPT * v[t - 1, i, d] + DT * f[t - 1, i, d]
                x[t, i, d] = x[t - 1, i, d] + DT * v[t, i, d]
    return (x[-1] ** 2).sum() / masses


@numba.njit
def _backward(x: Any, pair: Any, length: Any, copies: Any, xb: Any, vb: Any, fb: Any, lb: Any) -> None:
    steps, masses = x.shape[0], x.shape[1]
    lb[:] = 0
    vb[:] = 0
    xb[:] = x[-1] * np.float32(2 / masses)
    for t in range(steps - 1, 0, -1):
        for i in range(masses):
            for d in range(2):
                total = vb[i, d] + DT * xb[i, d]
                fb[i, d] = DT * total
                vb[i, d] = KEPT * total
        _back(x[t - 1], pair, length, fb, copies, xb, lb)


def springs(side: int = 24, steps: int = 1024) -> Any:
    masses, pair = side * side, neighbours(side).astype(np.int32)
    grid = (np.stack(np.divmod(np.arange(masses), side), -1) / (side - 1)).astype(np.float32)
    length = (1.05 * np.linalg.norm(grid[pair[:, 0]] - grid[pair[:, 1]], axis=1)).astype(np.float32)
    x, v, f = (np.zeros((steps, masses, 2), np.float32) for _ in range(3))
    x[0] = grid
    xb, vb, fb = (np.zeros((masses, 2), np.float32) for _ in range(3))
    lb = np.zeros_like(length)

    def copies() -> np.ndarray:
        return np.zeros((numba.get_num_threads(), masses, 2), np.float32)

    def gradient() -> tuple[float, np.ndarray]:
        own = copies()
        loss = _forward(x, v, f, pair, length, own)
        _backward(x, pair, length, own, xb, vb, fb, lb)
        return loss, lb

    return lambda: _forward(x, v, f, pair, length, copies()), gradient


@parallel
def _elastic(x: Any, vertex: Any, inverse: Any, area: Any, copies: Any, bar: Any, wanted: bool) -> Any:
    threads, count, total = len(copies), len(vertex), np.float32(0)
    for thread in prange(threads):
        own = copies[thread]
        own[:] = 0
        energy = np.float32(0)
        for t in range(thread * count // threads, (thread + 1) * count // threads):
            a, b, c = vertex[t, 0], vertex[t, 1], vertex[t, 2]
            d00, d10 = x[a, 0] - x[c, 0], x[a, 1] - x[c, 1]
            d01, d11 = x[b, 0] - x[c, 0], x[b, 1] - x[c, 1]
            i00, i01, i10, i11 = inverse[t, 0, 0], inverse[t, 0, 1], inverse[t, 1, 0], inverse[t, 1, 1]
            f00, f01 = d00 * i00 + d01 * i10, d00 * i01 + d01 * i11
            f10, f11 = d10 * i00 + d11 * i10, d10 * i01 + d11 * i11
            J = f00 * f11 - f01 * f10
            log_J = np.log(J)
            size = f00 * f00 + f01 * f01 + f10 * f10 + f11 * f11
            energy += area * (
                np.float32(500) * (size - np.float32(2))
                - np.float32(1000) * log_J
                + np.float32(1000) * log_J * log_J
            )
            if wanted:
                k = area * np.float32(1000)
                m = area * (np.float32(2000) * log_J - np.float32(1000)) / J
                p00, p01 = k * f00 + m * f11, k * f01 - m * f10
                p10, p11 = k * f10 - m * f01, k * f11 + m * f00
                g00, g01 = p00 * i00 + p01 * i01, p00 * i10 + p01 * i11
                g10, g11 = p10 * i00 + p11 * i01, p10 * i10 + p11 * i11
                own[a, 0] += g00
                own[a, 1] += g10
                own[b, 0] += g01
                own[b, 1] += g11
                own[c, 0] -= g00 + g01
                own[c, 1] -= g10 + g11
        total += energy
    if wanted:
        for i in range(len(bar)):
            bx, by = np.float32(0), np.float32(0)
            for c in range(threads):
                bx += copies[c, i, 0]
                by += copies[c, i, 1]
            bar[i, 0], bar[i, 1] = bx, by
    return total


def sheet(side: int = 64) -> Any:
    start, vertex, inverse = triangulated(side)
    x, inverse, vertex = start.astype(np.float32), inverse.astype(np.float32), vertex.astype(np.int32)
    area, bar = np.float32(0.5 / side**2), np.zeros_like(x)

    def run(wanted: bool) -> Any:
        copies = np.zeros((numba.get_num_threads(), *x.shape), np.float32)
        return _elastic(x, vertex, inverse, area, copies, bar, wanted)

    return lambda: run(False), lambda: (run(True), bar)
