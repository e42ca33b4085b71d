"""Refraction through shallow water over a picture: reconstructs the initial wave."""

import math

import numpy as np

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

n_grid, steps, c, alpha, learning_rate = 16, 12, 340, 0.00000, 0.1
dx = 1 / n_grid
inv_dx = 1 / dx
inv_dx2 = inv_dx * inv_dx
dt = (math.sqrt(alpha * alpha + dx * dx / 3) - alpha) / c

p, initial, loss, bottom_image, refracted_image, target, rendered = (ti.field(dtype=real) for _ in range(7))
height_gradient = ti.Vector.field(2, dtype=real)
ti.root.dense(ti.i, steps).dense(ti.jk, n_grid).place(p)
ti.root.dense(ti.ij, n_grid).place(initial)
ti.root.dense(ti.ij, n_grid).place(height_gradient, rendered)
ti.root.dense(ti.ijk, (n_grid + 1, n_grid + 1, 3)).place(bottom_image)
ti.root.dense(ti.ijk, (n_grid, n_grid, 3)).place(refracted_image, target)
ti.root.place(loss)
ti.root.lazy_grad()


@ti.func
def inside(i):
    return ti.min(n_grid - 1, ti.max(0, i))


@ti.func
def laplacian(t, i, j):
    a, b, c, d = inside(i - 1), inside(i + 1), inside(j - 1), inside(j + 1)
    return inv_dx2 * (-4 * p[t, i, j] + p[t, i, c] + p[t, i, d] + p[t, b, j] + p[t, a, j])


@ti.func
def gradient(t, i, j):
    return (
        0.5
        * inv_dx
        * ti.Vector(
            [p[t, inside(i + 1), j] - p[t, inside(i - 1), j], p[t, i, inside(j + 1)] - p[t, i, inside(j - 1)]]
        )
    )


@ti.kernel
def initialize():
    for i, j in initial:
        p[0, i, j] = initial[i, j]


@ti.kernel
def step(t: ti.i32):
    for i, j in height_gradient:
        before = laplacian(t - 2, i, j)
        now = laplacian(t - 1, i, j)
        p[t, i, j] = (
            2 * p[t - 1, i, j]
            + (c * c * dt * dt + c * alpha * dt) * now
            - p[t - 2, i, j]
            - c * alpha * dt * before
        )


@ti.kernel
def compute_height_gradient(t: ti.i32):
    for i, j in height_gradient:
        height_gradient[i, j] = gradient(t, i, j)


@ti.kernel
def render_reflect():
    for i, j in height_gradient:
        grad = height_gradient[i, j]
        normal = ti.Vector.normalized(ti.Vector([grad[0], 1.0, grad[1]]))
        rendered[i, j] = normal[1]


@ti.kernel
def render_refract():
    for i, j in height_gradient:
        grad = height_gradient[i, j]
        scale = 2.0
        sample_x = i - grad[0] * scale
        sample_y = j - grad[1] * scale
        sample_x = ti.min(n_grid - 1, ti.max(0, sample_x))
        sample_y = ti.min(n_grid - 1, ti.max(0, sample_y))
        sample_xi = ti.cast(ti.floor(sample_x), ti.i32)
        sample_yi = ti.cast(ti.floor(sample_y), ti.i32)
        frac_x = sample_x - sample_xi
        frac_y = sample_y - sample_yi
        for k in ti.static(range(3)):
            refracted_image[i, j, k] = (1.0 - frac_x) * (
                (1 - frac_y) * bottom_image[sample_xi, sample_yi, k]
                + frac_y * bottom_image[sample_xi, sample_yi + 1, k]
            ) + frac_x * (
                (1 - frac_y) * bottom_image[sample_xi + 1, sample_yi, k]
                + frac_y * bottom_image[sample_xi + 1, sample_yi + 1, k]
            )


@ti.kernel
def compute_loss():
    for i, j, k in refracted_image:
        ti.atomic_add(loss[None], (target[i, j, k] - refracted_image[i, j, k]) ** 2 / n_grid**2)


@ti.kernel
def apply_grad():
    for i, j in initial.grad:
        initial[i, j] -= learning_rate * initial.grad[i, j]


def forward():
    initialize()
    for t in range(2, steps):
        step(t)
    compute_height_gradient(steps - 1)
    render_refract()
    compute_loss()


def optimize(iterations):
    losses = []
    for _ in range(iterations):
        with ti.ad.Tape(loss):
            forward()
        losses.append(loss[None])
        apply_grad()
    return losses


u = np.arange(n_grid + 1) / n_grid
for channel in range(3):
    for a in range(n_grid + 1):
        for b in range(n_grid + 1):
            bottom_image[a, b, channel] = math.sin(5 * u[a] + channel) + math.cos(4 * u[b] - channel)
initial[n_grid // 2, n_grid // 2] = 0.05
forward()
target.copy_from(refracted_image)
initial.fill(0)
