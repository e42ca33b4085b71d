"""A compressible gas in a box: limited slopes, Riemann problems at faces, two stages of Runge and Kutta."""

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

N = 16
CFL, gamma = 0.9, 1.4
IC_type, BC_type, img_field = 0, 0, 0
h = 1.0 / (N - 2)

Q = ti.Vector.field(4, dtype=real, shape=(N, N), needs_grad=True)
Q_old, W = (ti.Vector.field(4, dtype=real, shape=(N, N)) for _ in range(2))
F_x, F_y = (ti.Vector.field(4, dtype=real, shape=(N, N)) for _ in range(2))
dt = ti.field(dtype=real, shape=())
img = ti.field(dtype=ti.f32, shape=(N, N))


@ti.func
def is_interior_cell(i, j):
    return 0 < i < N - 1 and 0 < j < N - 1


@ti.func
def is_interior_face(i, j):
    return 1 < i < N - 1 and 0 < j < N - 1


@ti.func
def is_boundary_face(i, j):
    return (i == 1 or i == N - 1) and 0 < j < N - 1


@ti.func
def w_to_q(w):
    q = ti.Vector([0.0, 0.0, 0.0, 0.0])
    q[0] = w[0]
    q[1] = w[0] * w[1]
    q[2] = w[0] * w[2]
    q[3] = w[0] * (w[3] / ((gamma - 1) * w[0]) + 0.5 * (w[1] ** 2 + w[2] ** 2))
    return q


@ti.func
def q_to_w(q):
    w = ti.Vector([0.0, 0.0, 0.0, 0.0])
    w[0] = q[0]
    w[1] = q[1] / q[0]
    w[2] = q[2] / q[0]
    w[3] = (gamma - 1) * (q[3] - 0.5 * (q[1] ** 2 + q[2] ** 2) / q[0])
    return w


@ti.kernel
def set_ic():
    for i, j in Q:
        if IC_type == 0:
            w_in = ti.Vector([10.0, 0.0, 0.0, 10.0])
            w_out = ti.Vector([0.125, 0.0, 0.0, 0.1])
            pos = ti.Vector([i * h - h / 2.0, j * h - h / 2.0])
            center = ti.Vector([0.5, 0.5])
            if (pos - center).norm() < 0.25:
                Q[i, j] = w_to_q(w_in)
            else:
                Q[i, j] = w_to_q(w_out)


@ti.kernel
def set_bc():
    for i, j in Q:
        if not is_interior_cell(i, j):
            if BC_type == 0:
                if i == 0:
                    Q[i, j] = Q[i + 1, j]
                    Q[i, j][1] = -Q[i + 1, j][1]
                if i == N - 1:
                    Q[i, j] = Q[i - 1, j]
                    Q[i, j][1] = -Q[i - 1, j][1]
                if j == 0:
                    Q[i, j] = Q[i, j + 1]
                    Q[i, j][2] = -Q[i, j + 1][2]
                if j == N - 1:
                    Q[i, j] = Q[i, j - 1]
                    Q[i, j][2] = -Q[i, j - 1][2]


@ti.func
def mc_lim(r):
    return max(0.0, min(2.0 * r, 0.5 * (r + 1.0), 2.0))


@ti.func
def flux(q, n):
    w = q_to_w(q)
    vn = w[1] * n[0] + w[2] * n[1]
    return ti.Vector([q[0] * vn, q[1] * vn + w[3] * n[0], q[2] * vn + w[3] * n[1], (q[3] + w[3]) * vn])


@ti.func
def hll(qL, qR, n):
    wL, wR = q_to_w(qL), q_to_w(qR)
    aL, aR = ti.sqrt(gamma * wL[3] / wL[0]), ti.sqrt(gamma * wR[3] / wR[0])
    vL, vR = wL[1] * n[0] + wL[2] * n[1], wR[1] * n[0] + wR[2] * n[1]
    sL, sR = min(vL - aL, vR - aR), max(vL + aL, vR + aR)
    fL, fR = flux(qL, n), flux(qR, n)
    out = ti.Vector([0.0, 0.0, 0.0, 0.0])
    if 0 <= sL:
        out = fL
    elif 0 <= sR:
        out = (sR * fL - sL * fR + sL * sR * (qR - qL)) / (sR - sL)
    elif 0 >= sR:
        out = fR
    return out


@ti.func
def slope(a, b):
    return mc_lim(a / b) * b if abs(b) > 1e-12 else 0.0


@ti.func
def between(before, left, right, after, n):
    wL = ti.Vector([0.0, 0.0, 0.0, 0.0])
    wR = ti.Vector([0.0, 0.0, 0.0, 0.0])
    for f in ti.static(range(4)):
        wL[f] = left[f] + 0.5 * slope(right[f] - left[f], left[f] - before[f])
        wR[f] = right[f] - 0.5 * slope(right[f] - left[f], after[f] - right[f])
    return hll(w_to_q(wL), w_to_q(wR), n)


@ti.kernel
def compute_W():
    for i, j in Q:
        W[i, j] = q_to_w(Q[i, j])


@ti.kernel
def copy_to_old():
    for i, j in Q:
        Q_old[i, j] = Q[i, j]


@ti.kernel
def compute_F():
    x, y = ti.Vector([1.0, 0.0]), ti.Vector([0.0, 1.0])
    for i, j in Q:
        if is_interior_face(i, j):
            F_x[i, j] = between(W[i - 2, j], W[i - 1, j], W[i, j], W[i + 1, j], x)
        elif is_boundary_face(i, j):
            F_x[i, j] = hll(Q[i - 1, j], Q[i, j], x)
        if is_interior_face(j, i):
            F_y[i, j] = between(W[i, j - 2], W[i, j - 1], W[i, j], W[i, j + 1], y)
        elif is_boundary_face(j, i):
            F_y[i, j] = hll(Q[i, j - 1], Q[i, j], y)


@ti.kernel
def calc_dt():
    dt[None] = 1.0e5
    for i, j in Q:
        w = q_to_w(Q[i, j])
        a = ti.sqrt(gamma * w[3] / w[0])
        vel = ti.sqrt(w[1] ** 2 + w[2] ** 2)
        ti.atomic_min(dt[None], CFL * h / (a + vel) / 2.0)


@ti.kernel
def update_Q(rk_step: ti.template()):
    for i, j in Q:
        if is_interior_cell(i, j):
            change = dt[None] * (F_x[i, j] - F_x[i + 1, j] + F_y[i, j] - F_y[i, j + 1]) / h
            if ti.static(rk_step == 0):
                Q[i, j] = Q[i, j] + change
            if ti.static(rk_step == 1):
                Q[i, j] = (Q[i, j] + Q_old[i, j] + change) / 2.0


@ti.kernel
def paint():
    for i, j in img:
        ii = min(max(1, i), N - 2)
        jj = min(max(1, j), N - 2)
        if img_field == 0:
            img[i, j] = Q[ii, jj][0]
        elif img_field == 1:
            img[i, j] = ti.sqrt(Q[ii, jj][1] ** 2 + Q[ii, jj][2] ** 2)
    max_ = -1.0e10
    min_ = 1.0e10
    for i, j in img:
        ti.atomic_max(max_, img[i, j])
        ti.atomic_min(min_, img[i, j])
    for i, j in img:
        img[i, j] = (img[i, j] - min_) / (max_ - min_)


def run(steps):
    for _ in range(steps):
        calc_dt()
        copy_to_old()
        for rk_step in range(2):
            compute_W()
            compute_F()
            update_Q(rk_step)
            set_bc()


set_ic()
set_bc()
