"""A damped particle under a constant force: growth of the gradient with the number of steps."""

import math

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

x, v, push, loss, damping = (ti.field(dtype=real) for _ in range(5))
max_steps, dt = 1024, 0.001

ti.root.dense(ti.i, max_steps).place(x, v)
ti.root.place(push, damping, loss)
ti.root.lazy_grad()


@ti.kernel
def advance(t: ti.i32):
    v[t] = damping[None] * v[t - 1] + push[None]
    x[t] = x[t - 1] + dt * v[t]


@ti.kernel
def compute_loss(t: ti.i32):
    loss[None] = x[t]


def gradient(alpha, n_steps):
    damping[None] = math.exp(-dt * alpha)
    push[None] = 1
    with ti.ad.Tape(loss):
        for i in range(1, n_steps):
            advance(i)
        compute_loss(n_steps - 1)
    return push.grad[None]
