"""Eight charges, whose strengths a network of 64 units controls, guide another charge along a path."""

import math
import random

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

steps, seg_size, dt = 128, 32, 0.03
n_gravitation, n_hidden = 8, 64
damping, K, learning_rate = 0.2, 1e-3, 2e-2
pad = 0.1
places = [[pad, pad], [pad, 1 - pad], [1 - pad, 1 - pad], [1 - pad, pad], [0.5, 1 - pad], [0.5, pad]]
places += [[pad, 0.5], [1 - pad, 0.5]]

loss, hidden, gravitation, weight1, bias1, weight2, bias2 = (ti.field(dtype=real) for _ in range(7))
x, v, goal, goal_v = (ti.Vector.field(2, dtype=real) for _ in range(4))


def place():
    ti.root.dense(ti.i, steps).place(x, v)
    ti.root.dense(ti.i, steps).dense(ti.j, n_hidden).place(hidden)
    ti.root.dense(ti.i, steps).dense(ti.j, n_gravitation).place(gravitation)
    ti.root.dense(ti.ij, (8, n_hidden)).place(weight1)
    ti.root.dense(ti.i, n_hidden).place(bias1)
    ti.root.dense(ti.ij, (n_hidden, n_gravitation)).place(weight2)
    ti.root.dense(ti.i, n_gravitation).place(bias2)
    ti.root.place(loss)
    ti.root.dense(ti.i, steps).place(goal, goal_v)
    ti.root.lazy_grad()


place()


@ti.kernel
def sense(t: ti.i32):
    for i in range(n_hidden):
        act = 0.0
        act += (x[t][0] - 0.5) * weight1[0, i]
        act += (x[t][1] - 0.5) * weight1[1, i]
        act += v[t][0] * weight1[2, i]
        act += v[t][1] * weight1[3, i]
        act += (goal[t][0] - 0.5) * weight1[4, i]
        act += (goal[t][1] - 0.5) * weight1[5, i]
        act += (goal_v[t][0] - 0.5) * weight1[6, i]
        act += (goal_v[t][1] - 0.5) * weight1[7, i]
        act += bias1[i]
        hidden[t, i] = ti.tanh(act)


@ti.kernel
def decide(t: ti.i32):
    for i in range(n_gravitation):
        act = 0.0
        for j in ti.static(range(n_hidden)):
            act += hidden[t, j] * weight2[j, i]
        act += bias2[i]
        gravitation[t, i] = ti.tanh(act)


@ti.kernel
def advance(t: ti.i32):
    for _ in range(1):
        force = ti.Vector([0.0, 0.0])
        for i in ti.static(range(n_gravitation)):
            r = x[t - 1] - ti.Vector(places[i])
            len_r = ti.max(r.norm(), 1e-1)
            force += K * gravitation[t, i] / (len_r * len_r * len_r) * r
        v[t] = v[t - 1] * math.exp(-dt * damping) + dt * force
        x[t] = x[t - 1] + dt * v[t]


@ti.kernel
def compute_loss(t: ti.i32):
    ti.atomic_add(loss[None], dt * (x[t] - goal[t]).norm_sqr())


gui = ti.GUI("Electric", (64, 64), background_color=0x3C733F)


def forward(visualize=False):
    for t in range(1, steps):
        sense(t)
        decide(t)
        advance(t)
        compute_loss(t)
        if (t + 1) % 32 == 0 and visualize:
            gui.clear()
            for i in range(n_gravitation):
                gui.circle(places[i], 0xCCAA44, (gravitation[t, i] + 1) * 3)
            gui.circle((x[t][0], x[t][1]), 0xF20530, 3)
            gui.circle((goal[t][0], goal[t][1]), 0x3344CC, 1)
            gui.show()


def rand():
    return 0.2 + random.random() * 0.6


def lerp(x, a, b):
    return (1 - x) * a + x * b


def initialize():
    segments = steps // seg_size
    points = [[rand(), rand()] for _ in range(segments + 1)]
    for i in range(segments):
        for j in range(seg_size):
            k = seg_size * i + j
            goal[k] = [lerp(j / seg_size, points[i][d], points[i + 1][d]) for d in range(2)]
            goal_v[k] = [points[i + 1][d] - points[i][d] for d in range(2)]
    x[0] = points[0]


def optimize(iterations):
    losses = []
    for _ in range(iterations):
        with ti.ad.Tape(loss):
            forward(visualize=True)
        losses.append(loss[None])
        for i in range(8):
            for j in range(n_hidden):
                weight1[i, j] = weight1[i, j] - weight1.grad[i, j] * learning_rate
        for j in range(n_hidden):
            bias1[j] = bias1[j] - bias1.grad[j] * learning_rate
        for i in range(n_hidden):
            for j in range(n_gravitation):
                weight2[i, j] = weight2[i, j] - weight2.grad[i, j] * learning_rate
        for j in range(n_gravitation):
            bias2[j] = bias2[j] - bias2.grad[j] * learning_rate
    return losses


random.seed(0)
for a in range(8):
    for b in range(n_hidden):
        weight1[a, b] = (random.random() - 0.5) * 0.3
for a in range(n_hidden):
    for b in range(n_gravitation):
        weight2[a, b] = (random.random() - 0.5) * 0.3
initialize()
