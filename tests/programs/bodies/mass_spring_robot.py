"""A robot of masses and springs learns to walk: a network of 32 units drives its muscles at every step."""

import math

import numpy as np

import dsim as ti
from tests.programs.bodies.robots import walker

real = globals().get("real", ti.f32)  # a test may ask for f64
ti.init(default_fp=real)

max_steps = 2048
dt, gravity, damping = 0.004, -4.8, 15
ground, frequency, n_waves, n_hidden = 0.1, 10, 10, 32
masses, springs = walker()
n_masses, n_springs = len(masses), len(springs)
n_inputs = n_waves + 4 * n_masses + 2


def scalar():
    return ti.field(dtype=real)


def vec():
    return ti.Vector.field(2, dtype=real)


loss, goal = scalar(), vec()
x, v, impulses, center = vec(), vec(), vec(), vec()
end_a, end_b = ti.field(ti.i32), ti.field(ti.i32)
rest, stiffness, strength = scalar(), scalar(), scalar()
weights1, bias1, weights2, bias2 = scalar(), scalar(), scalar(), scalar()
hidden, act = scalar(), scalar()

ti.root.dense(ti.i, max_steps).dense(ti.j, n_masses).place(x, v, impulses)
ti.root.dense(ti.i, n_springs).place(end_a, end_b, rest, stiffness, strength)
ti.root.dense(ti.ij, (n_hidden, n_inputs)).place(weights1)
ti.root.dense(ti.i, n_hidden).place(bias1)
ti.root.dense(ti.ij, (n_springs, n_hidden)).place(weights2)
ti.root.dense(ti.i, n_springs).place(bias2)
ti.root.dense(ti.ij, (max_steps, n_hidden)).place(hidden)
ti.root.dense(ti.ij, (max_steps, n_springs)).place(act)
ti.root.dense(ti.i, max_steps).place(center)
ti.root.place(loss, goal)
ti.root.lazy_grad()


@ti.kernel
def find_center(t: ti.i32):
    for _ in range(1):
        total = ti.Vector([0.0, 0.0])
        for i in ti.static(range(n_masses)):
            total += x[t, i]
        center[t] = (1.0 / n_masses) * total


@ti.kernel
def sense(t: ti.i32):
    for i in range(n_hidden):
        s = 0.0
        for j in ti.static(range(n_waves)):
            s += weights1[i, j] * ti.sin(frequency * t * dt + 2 * math.pi / n_waves * j)
        for j in ti.static(range(n_masses)):
            offset = x[t, j] - center[t]
            s += weights1[i, j * 4 + n_waves] * offset[0] * 0.05
            s += weights1[i, j * 4 + n_waves + 1] * offset[1] * 0.05
            s += weights1[i, j * 4 + n_waves + 2] * v[t, j][0] * 0.05
            s += weights1[i, j * 4 + n_waves + 3] * v[t, j][1] * 0.05
        for k in ti.static(range(2)):
            s += weights1[i, n_masses * 4 + n_waves + k] * (goal[None][k] - center[t][k])
        hidden[t, i] = ti.tanh(s + bias1[i])


@ti.kernel
def drive(t: ti.i32):
    for i in range(n_springs):
        s = 0.0
        for j in ti.static(range(n_hidden)):
            s += weights2[i, j] * hidden[t, j]
        act[t, i] = ti.tanh(s + bias2[i])


@ti.kernel
def pull(t: ti.i32):
    for i in range(n_springs):
        a, b = end_a[i], end_b[i]
        d = x[t, a] - x[t, b]
        length = d.norm() + 1e-4
        target = rest[i] * (1.0 + strength[i] * act[t, i])
        impulse = dt * (length - target) * stiffness[i] / length * d
        ti.atomic_add(impulses[t + 1, a], -impulse)
        ti.atomic_add(impulses[t + 1, b], impulse)


@ti.kernel
def advance(t: ti.i32):
    for i in range(n_masses):
        s = math.exp(-dt * damping)
        old_v = s * v[t - 1, i] + dt * gravity * ti.Vector([0.0, 1.0]) + impulses[t, i]
        old_x = x[t - 1, i]
        new_x = old_x + dt * old_v
        toi = 0.0
        new_v = old_v
        if new_x[1] < ground and old_v[1] < -1e-4:
            toi = -(old_x[1] - ground) / old_v[1]
            new_v = ti.Vector([0.0, 0.0])
        v[t, i] = new_v
        x[t, i] = old_x + toi * old_v + (dt - toi) * new_v


@ti.kernel
def compute_loss(t: ti.i32):
    loss[None] = -x[t, 0][0]


@ti.kernel
def clear_states():
    for t in range(0, max_steps):
        for i in range(0, n_masses):
            impulses[t, i] = ti.Vector([0.0, 0.0])


def forward(steps):
    goal[None] = [0.9, 0.2]
    for t in range(1, steps):
        find_center(t - 1)
        sense(t - 1)
        drive(t - 1)
        pull(t - 1)
        advance(t)
    loss[None] = 0
    compute_loss(steps - 1)


def norm_of_gradient():
    return math.sqrt(sum((w.grad.to_numpy() ** 2).sum() for w in weights))


def optimize(steps, iterations):
    losses = []
    for _ in range(iterations):
        clear_states()
        with ti.ad.Tape(loss):
            forward(steps)
        losses.append(loss[None])
        scale = 0.2 / (norm_of_gradient() + 1e-6)
        for w in weights:
            w.from_numpy(w.to_numpy() - scale * w.grad.to_numpy())
    return losses


weights = (weights1, bias1, weights2, bias2)
for k in range(n_masses):
    x[0, k] = masses[k]
for k in range(n_springs):
    end_a[k], end_b[k], rest[k], stiffness[k], strength[k] = springs[k]
np.random.seed(0)
for k in range(n_hidden):
    for m in range(n_inputs):
        weights1[k, m] = np.random.randn() * math.sqrt(2 / (n_hidden + n_inputs)) * 2
for k in range(n_springs):
    for m in range(n_hidden):
        weights2[k, m] = np.random.randn() * math.sqrt(2 / (n_hidden + n_springs)) * 3
