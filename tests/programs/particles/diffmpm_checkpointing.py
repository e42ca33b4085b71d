"""Elastic material points thrown at a target: one grid for all steps, recomputed in the backward pass."""

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

dim, N, n_grid = 2, 6, 20
n_particles = N * N
dx = 1 / n_grid
inv_dx = 1 / dx
dt, p_mass, p_vol, E, gravity = 3e-4, 1, 1, 100, 9.8
mu = la = E
steps = globals().get("steps", 40)
target = [0.3, 0.6]
bound = 3


def vec(*shape):
    return ti.Vector.field(dim, dtype=real, shape=shape, needs_grad=True)


def mat(*shape):
    return ti.Matrix.field(dim, dim, dtype=real, shape=shape, needs_grad=True)


x, v, x_avg, init_v = vec(steps, n_particles), vec(steps, n_particles), vec(), vec()
C, F = mat(steps, n_particles), mat(steps, n_particles)
grid_v_in, grid_v_out = vec(n_grid, n_grid), vec(n_grid, n_grid)
grid_m_in = ti.field(dtype=real, shape=(n_grid, n_grid), needs_grad=True)
loss = ti.field(dtype=real, shape=(), needs_grad=True)


@ti.kernel
def set_v():
    for i in range(n_particles):
        v[0, i] = init_v[None]


@ti.kernel
def clear_grid():
    for i, j in grid_m_in:
        grid_v_in[i, j] = [0, 0]
        grid_m_in[i, j] = 0
        grid_v_in.grad[i, j] = [0, 0]
        grid_m_in.grad[i, j] = 0
        grid_v_out.grad[i, j] = [0, 0]


@ti.kernel
def p2g(f: ti.i32):
    for p in range(0, n_particles):
        base = ti.cast(x[f, p] * inv_dx - 0.5, ti.i32)
        fx = x[f, p] * inv_dx - ti.cast(base, ti.i32)
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        new_F = (ti.Matrix.diag(dim=2, val=1) + dt * C[f, p]) @ F[f, p]
        F[f + 1, p] = new_F
        J = new_F.determinant()
        r, s = ti.polar_decompose(new_F)
        cauchy = 2 * mu * (new_F - r) @ new_F.transpose() + ti.Matrix.diag(2, la * (J - 1) * J)
        stress = -(dt * p_vol * 4 * inv_dx * inv_dx) * cauchy
        affine = stress + p_mass * C[f, p]
        for i in ti.static(range(3)):
            for j in ti.static(range(3)):
                offset = ti.Vector([i, j])
                dpos = (ti.cast(ti.Vector([i, j]), real) - fx) * dx
                weight = w[i][0] * w[j][1]
                grid_v_in[base + offset] += weight * (p_mass * v[f, p] + affine @ dpos)
                grid_m_in[base + offset] += weight * p_mass


@ti.kernel
def grid_op():
    for p in range(n_grid * n_grid):
        i = p // n_grid
        j = p - n_grid * i
        inv_m = 1 / (grid_m_in[i, j] + 1e-10)
        v_out = inv_m * grid_v_in[i, j]
        v_out[1] -= dt * gravity
        if i < bound and v_out[0] < 0:
            v_out[0] = 0
        if i > n_grid - bound and v_out[0] > 0:
            v_out[0] = 0
        if j < bound and v_out[1] < 0:
            v_out[1] = 0
        if j > n_grid - bound and v_out[1] > 0:
            v_out[1] = 0
        grid_v_out[i, j] = v_out


@ti.kernel
def g2p(f: ti.i32):
    for p in range(n_particles):
        base = ti.cast(x[f, p] * inv_dx - 0.5, ti.i32)
        fx = x[f, p] * inv_dx - ti.cast(base, real)
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
        new_v = ti.Vector([0.0, 0.0])
        new_C = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
        for i in ti.static(range(3)):
            for j in ti.static(range(3)):
                dpos = ti.cast(ti.Vector([i, j]), real) - fx
                g_v = grid_v_out[base[0] + i, base[1] + j]
                weight = w[i][0] * w[j][1]
                new_v += weight * g_v
                new_C += 4 * weight * g_v.outer_product(dpos) * inv_dx
        v[f + 1, p] = new_v
        x[f + 1, p] = x[f, p] + dt * v[f + 1, p]
        C[f + 1, p] = new_C


@ti.kernel
def compute_x_avg():
    for i in range(n_particles):
        x_avg[None] += (1 / n_particles) * x[steps - 1, i]


@ti.kernel
def compute_loss():
    dist = (x_avg[None] - ti.Vector(target)) ** 2
    loss[None] = 0.5 * (dist[0] + dist[1])


@ti.ad.grad_replaced
def substep(s):
    clear_grid()
    p2g(s)
    grid_op()
    g2p(s)


@ti.ad.grad_for(substep)
def substep_grad(s):
    clear_grid()
    p2g(s)
    grid_op()
    g2p.grad(s)
    grid_op.grad()
    p2g.grad(s)


def recorded_substep(s):
    """The same without an adjoint of its own: the tape has to save what is overwritten."""
    clear_grid()
    p2g(s)
    grid_op()
    g2p(s)


def run(step):
    set_v()
    for s in range(steps - 1):
        step(s)
    loss[None] = 0
    x_avg[None] = [0, 0]
    compute_x_avg()
    compute_loss()


def optimize(iterations, step, learning_rate=10):
    losses = []
    for _ in range(iterations):
        with ti.ad.Tape(loss=loss):
            run(step)
        losses.append(loss[None])
        grad = init_v.grad[None]
        init_v[None][0] -= learning_rate * grad[0]
        init_v[None][1] -= learning_rate * grad[1]
    return losses


init_v[None] = [0, 0]
for k in range(n_particles):
    F[0, k] = [[1, 0], [0, 1]]
for a in range(N):
    for b in range(N):
        x[0, a * N + b] = [dx * (a * 0.5 + 5), dx * (b * 0.5 + 6)]
set_v()
