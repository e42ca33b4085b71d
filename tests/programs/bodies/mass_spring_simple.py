"""Three masses on three springs: optimizes the rest lengths for a given area of the triangle."""

import math

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

steps, dt = 1024, 0.001
n_masses, n_springs = 3, 3
stiffness, damping, friction, wall = 10, 20, 0.01, 0.4
target_area = globals().get("target_area", 0.1)
learning_rate = 5

loss = ti.field(dtype=real)
x, v, force = (ti.Vector.field(2, dtype=real) for _ in range(3))
end_a, end_b = ti.field(ti.i32), ti.field(ti.i32)
rest = ti.field(dtype=real)

ti.root.dense(ti.i, steps).dense(ti.j, n_masses).place(x, v, force)
ti.root.dense(ti.i, n_springs).place(end_a, end_b, rest)
ti.root.place(loss)
ti.root.lazy_grad()


@ti.kernel
def pull(t: ti.i32):
    for i in range(n_springs):
        a, b = end_a[i], end_b[i]
        d = x[t - 1, a] - x[t - 1, b]
        length = d.norm() + 1e-4
        F = (length - rest[i]) * stiffness * d / length
        ti.atomic_add(force[t, a], -F)
        ti.atomic_add(force[t, b], F)


@ti.kernel
def advance(t: ti.i32):
    for i in range(n_masses):
        s = math.exp(-dt * damping)
        new_v = s * v[t - 1, i] + dt * force[t, i]
        new_x = x[t - 1, i] + dt * new_v
        if new_x[0] > wall and new_v[0] > 0:
            if new_v[1] > 0:
                new_v[1] -= ti.min(new_v[1], friction * new_v[0])
            if new_v[1] < 0:
                new_v[1] += ti.min(-new_v[1], friction * new_v[0])
            new_v[0] = 0
        v[t, i] = new_v
        x[t, i] = new_x


@ti.kernel
def compute_loss(t: ti.i32):
    x01 = x[t, 0] - x[t, 1]
    x02 = x[t, 0] - x[t, 2]
    area = ti.abs(0.5 * (x01[0] * x02[1] - x01[1] * x02[0]))
    loss[None] = (area - target_area) ** 2


@ti.kernel
def clear_states():
    for t in range(steps):
        for i in range(n_masses):
            x.grad[t, i] = ti.Vector([0.0, 0.0])
            v.grad[t, i] = ti.Vector([0.0, 0.0])
            force[t, i] = ti.Vector([0.0, 0.0])
            force.grad[t, i] = ti.Vector([0.0, 0.0])


def forward():
    for t in range(1, steps):
        pull(t)
        advance(t)
    compute_loss(steps - 1)


def optimize(iterations):
    losses = []
    for _ in range(iterations):
        clear_states()
        with ti.ad.Tape(loss):
            forward()
        losses.append(loss[None])
        for i in range(n_springs):
            rest[i] -= learning_rate * rest.grad[i]
    return losses


x[0, 0], x[0, 1], x[0, 2] = [0.3, 0.5], [0.3, 0.4], [0.4, 0.4]
end_a[0], end_b[0], rest[0] = 0, 1, 0.1
end_a[1], end_b[1], rest[1] = 1, 2, 0.1
end_a[2], end_b[2], rest[2] = 2, 0, 0.1 * 2**0.5
