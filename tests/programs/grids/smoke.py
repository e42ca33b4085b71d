"""Smoke in a periodic box: optimizes the initial velocity that carries a chessboard of smoke to a target."""

import numpy as np

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

n_grid, steps, n_jacobi = 16, 12, 6
dx = 1.0 / n_grid
learning_rate = 20

v, v_updated = ti.Vector.field(2, dtype=real), ti.Vector.field(2, dtype=real)
div, p, target, smoke, loss = (ti.field(dtype=real) for _ in range(5))

ti.root.dense(ti.i, steps * n_jacobi + n_jacobi + 1).dense(ti.jk, n_grid).place(p)
ti.root.dense(ti.i, steps).dense(ti.jk, n_grid).place(v, v_updated, smoke, div)
ti.root.dense(ti.ij, n_grid).place(target)
ti.root.place(loss)
ti.root.lazy_grad()


@ti.func
def around(n, size):
    ret = 0
    if n >= 0:
        ret = n - size * (n // size)
    else:
        ret = size - 1 - (-n - 1) % size
    return ret


@ti.func
def before(index):
    new_index = index - 1
    if new_index < 0:
        new_index = n_grid - 1
    return new_index


@ti.func
def after(index):
    new_index = index + 1
    if new_index >= n_grid:
        new_index = 0
    return new_index


@ti.kernel
def divergence(t: ti.i32):
    for y in range(n_grid):
        for x in range(n_grid):
            div[t, y, x] = (
                -0.5
                * dx
                * (
                    v_updated[t, after(y), x][0]
                    - v_updated[t, before(y), x][0]
                    + v_updated[t, y, after(x)][1]
                    - v_updated[t, y, before(x)][1]
                )
            )


@ti.kernel
def jacobi(t: ti.i32, k: ti.template()):
    for y in range(n_grid):
        for x in range(n_grid):
            a = k + t * n_jacobi
            p[a + 1, y, x] = (
                div[t, y, x] + p[a, before(y), x] + p[a, after(y), x] + p[a, y, before(x)] + p[a, y, after(x)]
            ) / 4.0


@ti.kernel
def project(t: ti.i32):
    for y in range(n_grid):
        for x in range(n_grid):
            a = n_jacobi * t + n_jacobi
            v[t, y, x][0] = v_updated[t, y, x][0] - 0.5 * (p[a, after(y), x] - p[a, before(y), x]) / dx
            v[t, y, x][1] = v_updated[t, y, x][1] - 0.5 * (p[a, y, after(x)] - p[a, y, before(x)]) / dx


@ti.kernel
def advect(field: ti.template(), field_out: ti.template(), t_offset: ti.template(), t: ti.i32):
    for y in range(n_grid):
        for x in range(n_grid):
            center_x = y - v[t + t_offset, y, x][0]
            center_y = x - v[t + t_offset, y, x][1]
            left = ti.cast(ti.floor(center_x), ti.i32)
            top = ti.cast(ti.floor(center_y), ti.i32)
            rw = center_x - left
            bw = center_y - top
            left = around(left, n_grid)
            right = around(left + 1, n_grid)
            top = around(top, n_grid)
            bottom = around(top + 1, n_grid)
            field_out[t, y, x] = (1 - rw) * (
                (1 - bw) * field[t - 1, left, top] + bw * field[t - 1, left, bottom]
            ) + rw * ((1 - bw) * field[t - 1, right, top] + bw * field[t - 1, right, bottom])


@ti.kernel
def compute_loss():
    for i in range(n_grid):
        for j in range(n_grid):
            ti.atomic_add(loss[None], (target[i, j] - smoke[steps - 1, i, j]) ** 2 * (1 / n_grid**2))


@ti.kernel
def apply_grad():
    for i in range(n_grid):
        for j in range(n_grid):
            v[0, i, j] -= learning_rate * v.grad[0, i, j]


def forward():
    for t in range(1, steps):
        advect(v, v_updated, -1, t)
        divergence(t)
        for k in range(n_jacobi):
            jacobi(t, k)
        project(t)
        advect(smoke, smoke, 0, t)
    compute_loss()


def optimize(iterations):
    losses = []
    for _ in range(iterations):
        with ti.ad.Tape(loss):
            forward()
        losses.append(loss[None])
        apply_grad()
    return losses


for y in range(n_grid):
    for x in range(n_grid):
        target[y, x] = 1.0 if np.hypot(y - 8, x - 8) < 5 else 0.0
        smoke[0, y, x] = (y // 4 + x // 4) % 2
