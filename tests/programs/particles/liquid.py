"""Material points in space, a liquid on a solid with muscles; all steps share one grid."""

import math

import numpy as np

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

dim, n_grid, steps = 3, 16, globals().get("steps", 8)
dx = 1 / n_grid
inv_dx = 1 / dx
dt, p_vol, E, gravity = 2e-3, 1, 10, 10
mu = la = E
bound, coeff = 3, 1.5
n_waves, actuation_omega, act_strength = 4, 40, 5
n_particles, n_solid_particles, n_actuators = 0, 0, 0


class Scene:
    """Particles in boxes; an actuator of -1 is none, a kind of 0 is a liquid."""

    def __init__(self):
        self.x, self.actuator_id, self.kind = [], [], []

    def add_box(self, corner, size, actuation, kind):
        global n_particles, n_solid_particles, n_actuators
        counts = [int(s / dx * 2) for s in size]
        for k in np.ndindex(*counts):
            self.x.append([c + (i + 0.5) * s / n for c, i, s, n in zip(corner, k, size, counts, strict=True)])
            self.actuator_id.append(actuation)
            self.kind.append(kind)
        n_particles = len(self.x)
        n_solid_particles = sum(self.kind)
        n_actuators = max(self.actuator_id) + 1


scene = Scene()
scene.add_box((0.3, 0.19, 0.3), (0.125, 0.125, 0.125), 0, 1)
scene.add_box((0.425, 0.19, 0.3), (0.125, 0.125, 0.125), 1, 1)
scene.add_box((0.3, 0.32, 0.3), (0.25, 0.0625, 0.125), -1, 0)

actuator_id, particle_type = ti.field(ti.i32), ti.field(ti.i32)
x, v, grid_v_in, grid_v_out, x_avg = (ti.Vector.field(dim, dtype=real) for _ in range(5))
C, F = (ti.Matrix.field(dim, dim, dtype=real) for _ in range(2))
grid_m_in, loss, weights, bias, actuation = (ti.field(dtype=real) for _ in range(5))

ti.root.dense(ti.ij, (n_actuators, n_waves)).place(weights)
ti.root.dense(ti.i, n_actuators).place(bias)
ti.root.dense(ti.ij, (steps, n_actuators)).place(actuation)
ti.root.dense(ti.i, n_particles).place(actuator_id, particle_type)
ti.root.dense(ti.k, steps).dense(ti.l, n_particles).place(x, v, C, F)
ti.root.dense(ti.ijk, n_grid).place(grid_v_in, grid_m_in, grid_v_out)
ti.root.place(loss, x_avg)
ti.root.lazy_grad()


def zero_vec():
    return [0.0, 0.0, 0.0]


def zero_matrix():
    return [zero_vec(), zero_vec(), zero_vec()]


@ti.kernel
def clear_grid():
    for i, j, k in grid_m_in:
        grid_v_in[i, j, k] = [0, 0, 0]
        grid_m_in[i, j, k] = 0
        grid_v_in.grad[i, j, k] = [0, 0, 0]
        grid_m_in.grad[i, j, k] = 0
        grid_v_out.grad[i, j, k] = [0, 0, 0]


@ti.kernel
def clear_particle_grad():
    for f, i in x:
        x.grad[f, i] = zero_vec()
        v.grad[f, i] = zero_vec()
        C.grad[f, i] = zero_matrix()
        F.grad[f, i] = zero_matrix()


@ti.kernel
def p2g(f: ti.i32):
    for p in range(0, n_particles):
        base = ti.cast(x[f, p] * inv_dx - 0.5, ti.i32)
        fx = x[f, p] * inv_dx - ti.cast(base, ti.i32)
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        new_F = (ti.Matrix.diag(dim=dim, val=1) + dt * C[f, p]) @ F[f, p]
        J = new_F.determinant()
        if particle_type[p] == 0:
            sqrtJ = ti.sqrt(J)
            new_F = ti.Matrix([[sqrtJ, 0, 0], [0, sqrtJ, 0], [0, 0, 1]])
        F[f + 1, p] = new_F
        act_id = actuator_id[p]
        act = actuation[f, ti.max(0, act_id)] * act_strength
        if act_id == -1:
            act = 0.0
        A = ti.Matrix([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) * act
        cauchy = ti.Matrix(zero_matrix())
        mass = 0.0
        ident = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        if particle_type[p] == 0:
            mass = 4
            cauchy = ti.Matrix(ident) * (J - 1) * E
        else:
            mass = 1
            cauchy = mu * (new_F @ new_F.transpose()) + ti.Matrix(ident) * (la * ti.log(J) - mu)
        cauchy += new_F @ A @ new_F.transpose()
        stress = -(dt * p_vol * 4 * inv_dx * inv_dx) * cauchy
        affine = stress + mass * C[f, p]
        for i in ti.static(range(3)):
            for j in ti.static(range(3)):
                for k in ti.static(range(3)):
                    offset = ti.Vector([i, j, k])
                    dpos = (ti.cast(ti.Vector([i, j, k]), real) - fx) * dx
                    weight = w[i][0] * w[j][1] * w[k][2]
                    ti.atomic_add(grid_v_in[base + offset], weight * (mass * v[f, p] + affine @ dpos))
                    ti.atomic_add(grid_m_in[base + offset], weight * mass)


@ti.kernel
def grid_op():
    for i, j, k in grid_m_in:
        inv_m = 1 / (grid_m_in[i, j, k] + 1e-10)
        v_out = inv_m * grid_v_in[i, j, k]
        v_out[1] -= dt * gravity
        if i < bound and v_out[0] < 0:
            v_out = ti.Vector(zero_vec())
        if i > n_grid - bound and v_out[0] > 0:
            v_out = ti.Vector(zero_vec())
        if k < bound and v_out[2] < 0:
            v_out = ti.Vector(zero_vec())
        if k > n_grid - bound and v_out[2] > 0:
            v_out = ti.Vector(zero_vec())
        if j < bound and v_out[1] < 0:
            normal = ti.Vector([0.0, 1.0, 0.0])
            lsq = (normal**2).sum()
            if lsq > 0.5:
                if ti.static(coeff < 0):
                    v_out[0] = 0
                    v_out[1] = 0
                    v_out[2] = 0
                else:
                    lin = v_out.dot(normal)
                    if lin < 0:
                        vit = v_out - lin * normal
                        lit = vit.norm() + 1e-10
                        if lit + coeff * lin <= 0:
                            v_out[0] = 0
                            v_out[1] = 0
                            v_out[2] = 0
                        else:
                            v_out = (1 + coeff * lin / lit) * vit
        if j > n_grid - bound and v_out[1] > 0:
            v_out = ti.Vector(zero_vec())
        grid_v_out[i, j, k] = v_out


@ti.kernel
def g2p(f: ti.i32):
    for p in range(0, n_particles):
        base = ti.cast(x[f, p] * inv_dx - 0.5, ti.i32)
        fx = x[f, p] * inv_dx - ti.cast(base, real)
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
        new_v = ti.Vector(zero_vec())
        new_C = ti.Matrix(zero_matrix())
        for i in ti.static(range(3)):
            for j in ti.static(range(3)):
                for k in ti.static(range(3)):
                    dpos = ti.cast(ti.Vector([i, j, k]), real) - fx
                    g_v = grid_v_out[base[0] + i, base[1] + j, base[2] + k]
                    weight = w[i][0] * w[j][1] * w[k][2]
                    new_v += weight * g_v
                    new_C += 4 * weight * g_v.outer_product(dpos) * inv_dx
        v[f + 1, p] = new_v
        x[f + 1, p] = x[f, p] + dt * v[f + 1, p]
        C[f + 1, p] = new_C


@ti.kernel
def compute_actuation(t: ti.i32):
    for i in range(n_actuators):
        act = 0.0
        for j in ti.static(range(n_waves)):
            act += weights[i, j] * ti.sin(actuation_omega * t * dt + 2 * math.pi / n_waves * j)
        act += bias[i]
        actuation[t, i] = ti.tanh(act)


@ti.kernel
def compute_x_avg():
    for i in range(n_particles):
        contrib = 0.0
        if particle_type[i] == 1:
            contrib = 1.0 / n_solid_particles
        ti.atomic_add(x_avg[None], contrib * x[steps - 1, i])


@ti.kernel
def compute_loss():
    dist = x_avg[None][0]
    loss[None] = -dist


def forward():
    for s in range(steps - 1):
        clear_grid()
        compute_actuation(s)
        p2g(s)
        grid_op()
        g2p(s)
    x_avg[None] = [0, 0, 0]
    compute_x_avg()
    compute_loss()
    return loss[None]


def backward():
    """By hand: the grid of each step is made again before its adjoint needs it."""
    clear_particle_grad()
    compute_loss.grad()
    compute_x_avg.grad()
    for s in reversed(range(steps - 1)):
        clear_grid()
        p2g(s)
        grid_op()
        g2p.grad(s)
        grid_op.grad()
        p2g.grad(s)
        compute_actuation.grad(s)


def gradient():
    ti.ad.clear_all_gradients()
    forward()
    loss.grad[None] = 1
    backward()
    return weights.grad.to_numpy(), bias.grad.to_numpy()


rng = np.random.RandomState(0)
for a in range(n_actuators):
    for b in range(n_waves):
        weights[a, b] = rng.randn() * 0.01
for a in range(n_particles):
    x[0, a] = scene.x[a]
    F[0, a] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    actuator_id[a] = scene.actuator_id[a]
    particle_type[a] = scene.kind[a]
