"""A polynomial of third degree through points, with a tape and by hand."""

import random

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(arch=ti.cpu, default_fp=real)

number_coeffs, learning_rate, N = 4, 1e-4, 32
x, y = ti.field(real, shape=N, needs_grad=True), ti.field(real, shape=N, needs_grad=True)
coeffs = ti.field(real, shape=number_coeffs, needs_grad=True)
loss = ti.field(real, shape=(), needs_grad=True)


@ti.kernel
def regress():
    for i in x:
        v = x[i]
        est = 0.0
        for j in ti.static(range(number_coeffs)):
            est += coeffs[j] * (v**j)
        loss[None] += 0.5 * (y[i] - est) ** 2


@ti.kernel
def update():
    for i in ti.static(range(number_coeffs)):
        coeffs[i] -= learning_rate * coeffs.grad[i]


def train(iterations, use_tape):
    losses = []
    for _ in range(iterations):
        if use_tape:
            with ti.ad.Tape(loss=loss):
                regress()
        else:
            ti.ad.clear_all_gradients()
            loss[None] = 0
            loss.grad[None] = 1
            regress()
            regress.grad()
        losses.append(loss[None])
        update()
    return losses


random.seed(0)
for k in range(N):
    at = random.random() * 5 - 2.5
    x[k] = at
    y[k] = (at - 1) * (at - 2) * (at + 2) + random.random() - 0.5
