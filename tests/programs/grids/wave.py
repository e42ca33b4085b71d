"""The wave equation on a square: reconstructs the initial state from a target."""

import math

import numpy as np

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

n_grid, steps, learning_rate = 32, 32, 1
dx = 1 / n_grid
inv_dx2 = n_grid * n_grid
c, alpha = 340, 0.00000
dt = (math.sqrt(alpha * alpha + dx * dx / 3) - alpha) / c

p, target, initial, loss = (ti.field(dtype=real) for _ in range(4))

ti.root.dense(ti.i, steps).dense(ti.jk, n_grid).place(p)
ti.root.dense(ti.i, steps).dense(ti.jk, n_grid).place(p.grad)
ti.root.dense(ti.ij, n_grid).place(target)
ti.root.dense(ti.ij, n_grid).place(target.grad)
ti.root.dense(ti.ij, n_grid).place(initial)
ti.root.dense(ti.ij, n_grid).place(initial.grad)
ti.root.place(loss)
ti.root.place(loss.grad)


@ti.func
def at(t, i, j):
    return p[t, i, j] if 0 <= i < n_grid and 0 <= j < n_grid else 0


@ti.func
def laplacian(t, i, j):
    return inv_dx2 * (
        -4 * at(t, i, j) + at(t, i, j - 1) + at(t, i, j + 1) + at(t, i + 1, j) + at(t, i - 1, j)
    )


@ti.kernel
def initialize():
    for i in range(n_grid):
        for j in range(n_grid):
            p[0, i, j] = initial[i, j]


@ti.kernel
def step(t: ti.i32):
    for i in range(n_grid):
        for j in range(n_grid):
            before = laplacian(t - 2, i, j)
            now = laplacian(t - 1, i, j)
            p[t, i, j] = (
                2 * p[t - 1, i, j]
                + (c * c * dt * dt + c * alpha * dt) * now
                - p[t - 2, i, j]
                - c * alpha * dt * before
            )


@ti.kernel
def compute_loss(t: ti.i32):
    for i in range(n_grid):
        for j in range(n_grid):
            loss[None] += dx * dx * (target[i, j] - p[t, i, j]) ** 2


@ti.kernel
def apply_grad():
    for i, j in initial.grad:
        initial[i, j] -= learning_rate * initial.grad[i, j]


@ti.ad.no_grad
@ti.kernel
def picture(img: ti.types.ndarray(), t: ti.i32):
    for i, j in ti.ndrange(n_grid, n_grid):
        img[i, j] = p[t, i, j] + 0.5


@ti.kernel
def fill_target(img: ti.types.ndarray()):
    for i, j in ti.ndrange(n_grid, n_grid):
        target[i, j] = float(img[i, j])


def forward(picture_every=1000):
    pictures = []
    initialize()
    for t in range(2, steps):
        step(t)
        if (t + 1) % picture_every == 0:
            img = np.zeros(shape=(n_grid, n_grid), dtype=np.float32)
            picture(img, t)
            pictures.append(img)
    compute_loss(steps - 1)
    return pictures


def optimize(iterations):
    losses = []
    for _ in range(iterations):
        with ti.ad.Tape(loss):
            forward(picture_every=8)
        losses.append(loss[None])
        apply_grad()
    return losses


disc = np.hypot(*(np.indices((n_grid, n_grid)) / n_grid - 0.5)) < 0.3
fill_target(disc - disc.mean())
