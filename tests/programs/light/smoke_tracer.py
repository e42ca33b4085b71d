"""Rays through a cloud and onto a ball in it: loops that end by themselves, sampling between cells."""

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)
tm = ti.math

res, n, n_max = 8, 6, 200
step_size, cutoff, inf = 0.043, 0.03, 1e5
density = ti.field(real, shape=(n, n, n), needs_grad=True)
ball = ti.Vector.field(4, real, shape=(), needs_grad=True)  # centre and radius
camera = ti.Vector.field(3, real, shape=(), needs_grad=True)
image = ti.field(real, shape=(res, res), needs_grad=True)
trips = ti.Vector.field(2, int, shape=(res, res))
loss = ti.field(real, shape=(), needs_grad=True)


@ti.func
def sample(p):
    q = (p + 0.5) * (n - 1)
    base = ti.floor(q, int)
    f = q - base
    total = 0.0
    if all(base >= 0) and all(base < n - 1):
        for offset in ti.static(ti.grouped(ti.ndrange(2, 2, 2))):
            weight = 1.0
            for k in ti.static(range(3)):
                weight *= f[k] if offset[k] == 1 else 1 - f[k]
            total += weight * density[base + offset]
    return total


@ti.func
def distance(p):
    return (p - ball[None].xyz).norm() - ball[None].w


@ti.func
def to_ball(o, d):
    """How far the ball is along a ray, by steps as long as the distance to it."""
    t = 0.0
    hit = 0
    count = 0
    while count < n_max:
        gap = distance(o + t * d)
        count += 1
        if gap < 1e-9:
            hit = 1
            break
        if t > 3.0:
            break
        t += gap
    return hit, t, count


@ti.kernel
def render():
    for i, j in image:
        uv = (tm.vec2(i, j) + 0.5) / res - 0.5
        o = camera[None]
        d = tm.vec3(uv, -1.0).normalized()
        hit, far, count = to_ball(o, d)
        if not hit:
            far = 2.0
        light = 0.0
        through = 1.0
        t = 0.1
        k = 0
        while t < far:
            rho = sample(o + t * d)
            k += 1
            t += step_size
            if rho <= 0.0:
                continue
            light += through * rho * step_size
            through *= ti.exp(-rho * step_size)
            if through < cutoff:
                break
        if hit:
            light += through * (0.2 + 0.8 * ti.max(0.0, (o + far * d - ball[None].xyz)[2] / ball[None].w))
        image[i, j] = light
        trips[i, j] = [count, k]


@ti.kernel
def compute_loss():
    for i, j in image:
        loss[None] += (image[i, j] - 0.3) ** 2 * (1 + i + 2 * j)


def forward():
    render()
    compute_loss()


for a in range(n):
    for b in range(n):
        for c in range(n):
            density[a, b, c] = max(
                0.0, 14.0 - 3.5 * ((a - 2.6) ** 2 + (b - 2.4) ** 2 + (c - 3.1) ** 2) ** 0.5
            )
ball[None] = [0.21, 0.13, -0.27, 0.22]
camera[None] = [0.03, -0.02, 1.02]
