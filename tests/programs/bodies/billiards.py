"""A cue ball and ten balls in four rows: optimizes the first stroke to bring the last ball to its goal."""

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

steps, dt = globals().get("steps", 1024), 0.003
layers = 4
n_balls = 1 + (1 + layers) * layers // 2
target_ball = n_balls - 1
goal = [0.9, 0.75]
radius, elasticity = 0.03, 0.8
learning_rate = 0.01

loss = ti.field(dtype=real)
init_x, init_v, x, x_inc, v, impulse = (ti.Vector.field(2, dtype=real) for _ in range(6))

ti.root.dense(ti.i, steps).dense(ti.j, n_balls).place(x, v, x_inc, impulse)
ti.root.place(init_x, init_v)
ti.root.place(loss)
ti.root.lazy_grad()


@ti.func
def collide_pair(t, i, j):
    imp = ti.Vector([0.0, 0.0])
    moved = ti.Vector([0.0, 0.0])
    if i != j:
        dist = (x[t, i] + dt * v[t, i]) - (x[t, j] + dt * v[t, j])
        dist_norm = dist.norm()
        rela_v = v[t, i] - v[t, j]
        if dist_norm < 2 * radius:
            direction = dist.normalized()
            projected_v = direction.dot(rela_v)
            if projected_v < 0:
                imp = -(1 + elasticity) * 0.5 * projected_v * direction
                toi = (dist_norm - 2 * radius) / min(-1e-3, projected_v)
                moved = min(toi - dt, 0) * imp
    x_inc[t + 1, i] += moved
    impulse[t + 1, i] += imp


@ti.kernel
def collide(t: ti.i32):
    for i in range(n_balls):
        for j in range(i):
            collide_pair(t, i, j)
    for i in range(n_balls):
        for j in range(i + 1, n_balls):
            collide_pair(t, i, j)


@ti.kernel
def advance(t: ti.i32):
    for i in range(n_balls):
        v[t, i] = v[t - 1, i] + impulse[t, i]
        x[t, i] = x[t - 1, i] + dt * v[t, i] + x_inc[t, i]


@ti.kernel
def compute_loss(t: ti.i32):
    loss[None] = (x[t, target_ball][0] - goal[0]) ** 2 + (x[t, target_ball][1] - goal[1]) ** 2


@ti.kernel
def initialize():
    x[0, 0] = init_x[None]
    v[0, 0] = init_v[None]


@ti.kernel
def clear():
    for t, i in ti.ndrange(steps, n_balls):
        impulse[t, i] = ti.Vector([0.0, 0.0])
        x_inc[t, i] = ti.Vector([0.0, 0.0])


def forward():
    initialize()
    count = 0
    for i in range(layers):
        for j in range(i + 1):
            count += 1
            x[0, count] = [i * 2 * radius + 0.5, j * 2 * radius + 0.5 - i * radius * 0.7]
    for t in range(1, steps):
        collide(t - 1)
        advance(t)
    compute_loss(steps - 1)


def optimize(iterations):
    losses = []
    for _ in range(iterations):
        clear()
        with ti.ad.Tape(loss):
            forward()
        losses.append(loss[None])
        for d in range(2):
            init_x[None][d] -= learning_rate * init_x.grad[None][d]
            init_v[None][d] -= learning_rate * init_v.grad[None][d]
    return losses


init_x[None] = [0.1, 0.5]
init_v[None] = [0.3, 0.0]
