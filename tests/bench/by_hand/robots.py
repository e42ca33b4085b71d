"""The robot of masses and springs by hand: all steps in one function, what adjoints need kept beside them."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from tests.bench.by_hand.compiled import FAST
from tests.bench.cases import robots
from tests.bench.cases.robots import UNITS, WAVES, weights
from tests.programs.bodies.robots import walker

_F = np.float32
_DT, _GRAVITY, _KEPT, _GROUND = map(_F, (robots.DT, robots.GRAVITY, robots.KEPT, robots.GROUND))
_FREQUENCY, _WAVE, _SCALE = _F(robots.FREQUENCY), _F(2 * np.pi / WAVES), _F(0.05)
_GOAL_X, _GOAL_Y, _ONE, _ZERO = _F(robots.GOAL[0]), _F(robots.GOAL[1]), _F(1), _F(0)
_SOFT, _FALLS = _F(1e-4), _F(-1e-4)


def serial(function: Any) -> Any:
    """Compiled for one thread: a step has work for a microsecond."""
    return numba.njit(fastmath=FAST, error_model="numpy")(function)


@serial
def _inputs(t: int, x: Any, v: Any, q: Any) -> None:
    n = len(x)
    cx, cy = _ZERO, _ZERO
    for k in range(n):
        cx += x[k, 0] / _F(n)
        cy += x[k, 1] / _F(n)
    for j in range(WAVES):
        q[j] = np.sin(_FREQUENCY * _F(t) * _DT + _WAVE * _F(j))
    for k in range(n):
        at = WAVES + 4 * k
        q[at], q[at + 1] = _SCALE * (x[k, 0] - cx), _SCALE * (x[k, 1] - cy)
        q[at + 2], q[at + 3] = _SCALE * v[k, 0], _SCALE * v[k, 1]
    q[WAVES + 4 * n], q[WAVES + 4 * n + 1] = _GOAL_X - cx, _GOAL_Y - cy


@serial
def _layer(w: Any, q: Any, y: Any) -> None:
    for i in range(len(w)):
        s = _ZERO
        for j in range(len(q)):
            s += w[i, j] * q[j]
        y[i] = np.tanh(s)


@serial
def _forward(x: Any, v: Any, f: Any, q: Any, h: Any, act: Any, w1: Any, w2: Any, ends: Any, data: Any) -> Any:
    for t in range(1, len(x)):
        p = t - 1
        _inputs(p, x[p], v[p], q[p])
        _layer(w1, q[p], h[p])
        _layer(w2, h[p], act[p])
        f[p] = _ZERO
        for s in range(len(ends)):
            a, b = ends[s, 0], ends[s, 1]
            dx, dy = x[p, a, 0] - x[p, b, 0], x[p, a, 1] - x[p, b, 1]
            length = np.sqrt(dx * dx + dy * dy) + _SOFT
            push = _DT * (length - data[s, 0] * (_ONE + data[s, 2] * act[p, s])) * data[s, 1] / length
            f[p, a, 0] -= push * dx
            f[p, a, 1] -= push * dy
            f[p, b, 0] += push * dx
            f[p, b, 1] += push * dy
        for k in range(x.shape[1]):
            vx, vy = _KEPT * v[p, k, 0] + f[p, k, 0], _KEPT * v[p, k, 1] + f[p, k, 1] + _DT * _GRAVITY
            if x[p, k, 1] + _DT * vy < _GROUND and vy < _FALLS:
                until = -(x[p, k, 1] - _GROUND) / vy
                v[t, k] = _ZERO
            else:
                until = _DT
                v[t, k, 0], v[t, k, 1] = vx, vy
            x[t, k, 0], x[t, k, 1] = x[p, k, 0] + until * vx, x[p, k, 1] + until * vy
    return -x[-1, 0, 0]


@serial
def _step_back(x: Any, v: Any, f: Any, xb: Any, vb: Any, fb: Any) -> None:
    for k in range(len(x)):
        vx, vy = _KEPT * v[k, 0] + f[k, 0], _KEPT * v[k, 1] + f[k, 1] + _DT * _GRAVITY
        if x[k, 1] + _DT * vy < _GROUND and vy < _FALLS:
            until = -(x[k, 1] - _GROUND) / vy
            bar = vx * xb[k, 0] + vy * xb[k, 1]
            gx, gy = until * xb[k, 0], until * xb[k, 1] - bar * until / vy
            xb[k, 1] -= bar / vy
        else:
            gx, gy = vb[k, 0] + _DT * xb[k, 0], vb[k, 1] + _DT * xb[k, 1]
        fb[k, 0], fb[k, 1] = gx, gy
        vb[k, 0], vb[k, 1] = _KEPT * gx, _KEPT * gy


@serial
def _pull_back(x: Any, act: Any, ends: Any, data: Any, fb: Any, xb: Any, ab: Any) -> None:
    for s in range(len(ends)):
        a, b = ends[s, 0], ends[s, 1]
        dx, dy = x[a, 0] - x[b, 0], x[a, 1] - x[b, 1]
        norm = np.sqrt(dx * dx + dy * dy)
        length, target = norm + _SOFT, data[s, 0] * (_ONE + data[s, 2] * act[s])
        push = _DT * (length - target) * data[s, 1] / length
        gx, gy = fb[b, 0] - fb[a, 0], fb[b, 1] - fb[a, 1]
        bar = (gx * dx + gy * dy) * _DT * data[s, 1] / length
        along = bar * target / (length * norm)
        ex, ey = push * gx + along * dx, push * gy + along * dy
        xb[a, 0] += ex
        xb[a, 1] += ey
        xb[b, 0] -= ex
        xb[b, 1] -= ey
        ab[s] = -bar * data[s, 0] * data[s, 2]


@serial
def _layer_back(w: Any, q: Any, y: Any, yb: Any, wb: Any, bb: Any, qb: Any) -> None:
    qb[:] = _ZERO
    for i in range(len(w)):
        s = yb[i] * (_ONE - y[i] * y[i])
        bb[i] += s
        for j in range(len(q)):
            wb[i, j] += s * q[j]
            qb[j] += s * w[i, j]


@serial
def _inputs_back(qb: Any, xb: Any, vb: Any) -> None:
    n = len(xb)
    cx, cy = -qb[WAVES + 4 * n], -qb[WAVES + 4 * n + 1]
    for k in range(n):
        at = WAVES + 4 * k
        xb[k, 0] += _SCALE * qb[at]
        xb[k, 1] += _SCALE * qb[at + 1]
        cx -= _SCALE * qb[at]
        cy -= _SCALE * qb[at + 1]
        vb[k, 0] += _SCALE * qb[at + 2]
        vb[k, 1] += _SCALE * qb[at + 3]
    for k in range(n):
        xb[k, 0] += cx / _F(n)
        xb[k, 1] += cy / _F(n)


@serial
def _backward(
    x: Any, v: Any, f: Any, q: Any, h: Any, act: Any, w1: Any, w2: Any, ends: Any, data: Any
) -> Any:
    n, m = x.shape[1], len(ends)
    xb, vb, fb = np.zeros((n, 2), _F), np.zeros((n, 2), _F), np.zeros((n, 2), _F)
    w1b, w2b, b1b, b2b = np.zeros_like(w1), np.zeros_like(w2), np.zeros(UNITS, _F), np.zeros(m, _F)
    ab, hb, qb = np.zeros(m, _F), np.zeros(UNITS, _F), np.zeros(q.shape[1], _F)
    xb[0, 0] = -_ONE
    for p in range(len(x) - 2, -1, -1):
        _step_back(x[p], v[p], f[p], xb, vb, fb)
        _pull_back(x[p], act[p], ends, data, fb, xb, ab)
        _layer_back(w2, h[p], act[p], ab, w2b, b2b, hb)
        _layer_back(w1, q[p], h[p], hb, w1b, b1b, qb)
        _inputs_back(qb, xb, vb)
    return w1b


def robot(steps: int = 2000) -> Any:
    """As the case of that name, for one thread."""
    masses, springs = walker()
    n, m = len(masses), len(springs)
    x, v, f = (np.zeros((steps, n, 2), _F) for _ in range(3))
    x[0] = masses
    q, h, act = (np.zeros((steps, k), _F) for k in (WAVES + 4 * n + 2, UNITS, m))
    w1, w2 = weights(UNITS, q.shape[1], 1).astype(_F), weights(m, UNITS, 2).astype(_F)
    ends, data = np.array([s[:2] for s in springs], np.int32), np.array([s[2:] for s in springs], _F)
    given = (x, v, f, q, h, act, w1, w2, ends, data)

    def primal() -> float:
        return float(_forward(*given))

    def gradient() -> tuple[float, np.ndarray]:
        return primal(), _backward(*given)

    return primal, gradient
