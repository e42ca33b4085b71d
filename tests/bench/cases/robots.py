"""A robot of masses and springs: ten thousand small launches, a network of 32 units in each step."""

import math

import numpy as np

import dsim as ds
from tests.bench.cases.fields import Case, fill, integers, random, scalars, vectors
from tests.programs.bodies.robots import walker

WAVES, UNITS = 10, 32
DT, GRAVITY, KEPT, GROUND, FREQUENCY = 0.004, -4.8, math.exp(-0.06), 0.1, 10.0
GOAL = (0.9, 0.2)


def weights(outputs: int, inputs: int, seed: int) -> np.ndarray:
    """Those of a layer."""
    return (random(outputs, inputs, seed=seed) - 0.5) * 6 / math.sqrt(inputs + outputs)


def robot_graph(steps: int = 2000) -> Case:  # noqa: C901 (six kernels)
    """What DiffTaichi's robot of masses and springs computes, as a `ds.graph`."""
    masses, springs = walker()
    n, m = len(masses), len(springs)
    inputs = WAVES + 4 * n + 2
    x, v, f = (vectors(steps, n) for _ in range(3))
    center, loss = vectors(steps), scalars()
    a_end, b_end = (integers(np.array([s[k] for s in springs])) for k in (0, 1))
    rest, stiffness, strength = (fill(scalars(m), np.array([s[k] for s in springs])) for k in (2, 3, 4))
    w1, w2 = (
        fill(scalars(UNITS, inputs), weights(UNITS, inputs, 1)),
        fill(scalars(m, UNITS), weights(m, UNITS, 2)),
    )
    b1, b2 = scalars(UNITS), scalars(m)
    hidden, act = scalars(steps, UNITS), scalars(steps, m)
    start = np.zeros((steps, n, 2))
    start[0] = masses
    fill(x, start)

    @ds.kernel
    def prepare(t: ds.i32):
        for _ in range(1):
            total = ds.Vector([0.0, 0.0])
            for k in ds.static(range(n)):
                total += x[t, k] / n
            center[t] = total
        for i in range(n):
            f[t, i] = [0.0, 0.0]

    @ds.kernel
    def sense(t: ds.i32):
        for i in range(UNITS):
            s = b1[i]
            for j in ds.static(range(WAVES)):
                s += w1[i, j] * ds.sin(FREQUENCY * t * DT + 2 * math.pi / WAVES * j)
            for k in ds.static(range(n)):
                offset, speed = 0.05 * (x[t, k] - center[t]), 0.05 * v[t, k]
                for c in ds.static(range(2)):
                    s += w1[i, WAVES + 4 * k + c] * offset[c] + w1[i, WAVES + 4 * k + 2 + c] * speed[c]
            for c in ds.static(range(2)):
                s += w1[i, WAVES + 4 * n + c] * (GOAL[c] - center[t][c])
            hidden[t, i] = ds.tanh(s)

    @ds.kernel
    def drive(t: ds.i32):
        for i in range(m):
            s = b2[i]
            for j in ds.static(range(UNITS)):
                s += w2[i, j] * hidden[t, j]
            act[t, i] = ds.tanh(s)

    @ds.kernel
    def pull(t: ds.i32):
        for i in range(m):
            a, b = a_end[i], b_end[i]
            d = x[t, a] - x[t, b]
            length = d.norm() + 1e-4
            push = DT * (length - rest[i] * (1 + strength[i] * act[t, i])) * stiffness[i] / length * d
            f[t, a] -= push
            f[t, b] += push

    @ds.kernel
    def advance(t: ds.i32):
        for i in range(n):
            speed, at = KEPT * v[t - 1, i] + f[t - 1, i] + ds.Vector([0.0, DT * GRAVITY]), x[t - 1, i]
            v[t, i], x[t, i] = speed, at + DT * speed
            if at[1] + DT * speed[1] < GROUND and speed[1] < -1e-4:
                v[t, i] = [0.0, 0.0]
                x[t, i] = at - (at[1] - GROUND) / speed[1] * speed

    @ds.kernel
    def measure():
        loss[None] -= x[steps - 1, 0][0]

    def run() -> None:
        for t in range(1, steps):
            prepare(t - 1)
            sense(t - 1)
            drive(t - 1)
            pull(t - 1)
            advance(t)
        measure()

    return ds.graph(run), loss, w1
