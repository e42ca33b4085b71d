"""A ball that bounces off the ground once, with and without the time of impact."""

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

max_steps, steps, dt = 512, 204, 0.002
n_objects, ground_height = 1, 0.1
use_toi = False

loss = ti.field(dtype=real)
x, v = ti.Vector.field(2, dtype=real), ti.Vector.field(2, dtype=real)
ti.root.dense(ti.i, max_steps).dense(ti.j, n_objects).place(x, v)
ti.root.place(loss)
ti.root.lazy_grad()


@ti.kernel
def advance_toi(t: ti.i32):
    for i in range(n_objects):
        old_v = v[t - 1, i]
        new_v = old_v
        old_x = x[t - 1, i]
        new_x = old_x + dt * new_v
        toi = 0.0
        if new_x[1] < ground_height and new_v[1] < 0:
            new_v[1] = -new_v[1]
            toi = -(old_x[1] - ground_height) / old_v[1]
        v[t, i] = new_v
        x[t, i] = x[t - 1, i] + toi * old_v + (dt - toi) * new_v


@ti.kernel
def advance_no_toi(t: ti.i32):
    for i in range(n_objects):
        new_v = v[t - 1, i]
        if x[t - 1, i][1] < ground_height and new_v[1] < 0:
            new_v[1] = -new_v[1]
        v[t, i] = new_v
        x[t, i] = x[t - 1, i] + dt * new_v


@ti.kernel
def compute_loss(t: ti.i32):
    loss[None] = x[t, 0][1]


def forward(output=None):
    total_steps = steps * 2 if output else steps
    for t in range(1, total_steps):
        if use_toi:
            advance_toi(t)
        else:
            advance_no_toi(t)
    loss[None] = 0
    compute_loss(steps - 1)


def heights(toi, count):
    """Final heights, and their gradients by the initial one, of balls that start higher and higher."""
    global use_toi
    use_toi = toi
    losses, grads = [], []
    for k in range(count):
        x[0, 0] = [0.7, 0.5 + 0.1 * k / count]
        v[0, 0] = [-1, -2]
        with ti.ad.Tape(loss):
            forward()
        losses.append(loss[None])
        grads.append(x.grad[0, 0][1])
    return losses, grads
