"""Two streams of electrons through each other: particles in cells, fields of vectors of length 1."""

import dsim as ti

ti.init(default_fp=globals().get("real", ti.f32))
PI = 3.141592653589793
L = 8 * PI
dt = 0.1
ng, np = 16, 256
vb, vt, wp, qm = 1.0, 0.3, 1, -1
q = wp * wp / (qm * np / L)
rho_back = -q * np / L
dx = L / ng
inv_dx = 1.0 / dx
x = ti.Vector.field(1, float, np)
v = ti.Vector.field(1, float, np, needs_grad=True)
rho = ti.Vector.field(1, float, ng)
e = ti.Vector.field(1, float, ng)
v_x_pos1 = ti.Vector.field(2, float, int(np / 2))
v_x_pos2 = ti.Vector.field(2, float, int(np / 2))


@ti.kernel
def initialize():
    for p in x:
        x[p].x = (p + 1) * L / np
        v[p].x = vt * ti.sin(7.0 * p) + (-1) ** p * vb


@ti.kernel
def substep():
    for p in x:
        x[p] += v[p] * dt
        if x[p].x >= L:
            x[p] += -L
        if x[p].x < 0:
            x[p] += L
    rho.fill(rho_back)
    for p in x:
        base = (x[p] * inv_dx - 0.5).cast(int)
        fx = x[p] * inv_dx - 0.5 - base.cast(float)
        rho[base] += (1.0 - fx) * q * inv_dx
        if base[0] < ng - 1:
            rho[base + 1] += fx * q * inv_dx
    e.fill(0.0)
    ti.loop_config(serialize=True)
    for i in range(ng):
        if i == 0:
            e[i] = rho[i] * dx * 0.5
        else:
            e[i] = e[i - 1] + (rho[i - 1] + rho[i]) * dx * 0.5
    s = 0.0
    for i in e:
        s += e[i].x
    for i in e:
        e[i] += -s / ng
    for p in v:
        base = (x[p] * inv_dx - 0.5).cast(int)
        fx = x[p] * inv_dx - 0.5 - base.cast(float)
        a = e[base] * (1.0 - fx) * qm
        if base[0] < ng - 1:
            a += e[base + 1] * fx * qm
        v[p] += a * dt


@ti.kernel
def vx_pos():
    for p in x:
        if p % 2:
            v_x_pos1[int((p - 1) / 2)].x = x[p].x / L
            v_x_pos1[int((p - 1) / 2)].y = (v[p].x) / 10 + 0.5
        else:
            v_x_pos2[int(p / 2)].x = x[p].x / L
            v_x_pos2[int(p / 2)].y = (v[p].x) / 10 + 0.5


initialize()
