"""Boxes with muscles and joints, on the ground: a network drives them towards a goal."""

import math

import numpy as np

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

max_steps, dt = globals().get("max_steps", 128), 0.001
ground_height, gravity, friction, stiff_ground, damping, elasticity = 0.1, -9.8, 1.0, 1e4, 10, 0.0
frequency, n_waves, n_hidden = 30, 10, 32
default_actuation = 0.05
use_toi = False

# centre, half the size, rotation; then two bodies, offsets from their centres, length (-1: joint), stiffness
boxes = [([0.3, 0.2], [0.15, 0.03], 0), ([0.2, 0.125], [0.03, 0.02], 0), ([0.4, 0.131], [0.03, 0.02], 0.3)]
joints = [
    (0, 1, [-0.03, 0.0], [0.0, 0.0], 0.12, 15),
    (0, 1, [-0.1, 0.0], [0.0, 0.0], 0.12, 15),
    (0, 2, [0.03, 0.0], [0.0, 0.0], 0.12, 15),
    (0, 2, [0.1, 0.0], [0.0, 0.05], -1, 15),
]
n_objects, n_springs, head_id = len(boxes), len(joints), 0
n_inputs = n_waves + 6 * n_objects + 2


def scalar():
    return ti.field(dtype=real)


def vec():
    return ti.Vector.field(2, dtype=real)


loss, goal = scalar(), vec()
x, v, halfsize, v_inc, x_inc = vec(), vec(), vec(), vec(), vec()
rotation, omega, rotation_inc, omega_inc = scalar(), scalar(), scalar(), scalar()
inverse_mass, inverse_inertia = scalar(), scalar()
anchor_a, anchor_b = ti.field(ti.i32), ti.field(ti.i32)
spring_length, spring_stiffness, spring_actuation = scalar(), scalar(), scalar()
offset_a, offset_b = vec(), vec()
weights1, bias1, hidden, weights2, bias2, actuation = (scalar() for _ in range(6))

ti.root.dense(ti.i, max_steps).dense(ti.j, n_objects).place(
    x, v, rotation, rotation_inc, omega, v_inc, x_inc, omega_inc
)
ti.root.dense(ti.i, n_objects).place(halfsize, inverse_mass, inverse_inertia)
ti.root.dense(ti.i, n_springs).place(
    anchor_a, anchor_b, spring_length, offset_a, offset_b, spring_stiffness, spring_actuation
)
ti.root.dense(ti.ij, (n_hidden, n_inputs)).place(weights1)
ti.root.dense(ti.ij, (n_springs, n_hidden)).place(weights2)
ti.root.dense(ti.i, n_hidden).place(bias1)
ti.root.dense(ti.i, n_springs).place(bias2)
ti.root.dense(ti.ij, (max_steps, n_springs)).place(actuation)
ti.root.dense(ti.ij, (max_steps, n_hidden)).place(hidden)
ti.root.place(loss, goal)
ti.root.lazy_grad()


@ti.kernel
def sense(t: ti.i32):
    for i in range(n_hidden):
        act = 0.0
        for j in ti.static(range(n_waves)):
            act += weights1[i, j] * ti.sin(frequency * t * dt + 2 * math.pi / n_waves * j)
        for j in ti.static(range(n_objects)):
            offset = x[t, j] - x[t, head_id]
            act += weights1[i, j * 6 + n_waves] * offset[0] * 0.05
            act += weights1[i, j * 6 + n_waves + 1] * offset[1] * 0.05
            act += weights1[i, j * 6 + n_waves + 2] * v[t, j][0] * 0.05
            act += weights1[i, j * 6 + n_waves + 3] * v[t, j][1] * 0.05
            act += weights1[i, j * 6 + n_waves + 4] * rotation[t, j] * 0.05
            act += weights1[i, j * 6 + n_waves + 5] * omega[t, j] * 0.05
        act += weights1[i, n_objects * 6 + n_waves] * goal[None][0]
        act += weights1[i, n_objects * 6 + n_waves + 1] * goal[None][1]
        act += bias1[i]
        act = ti.tanh(act)
        hidden[t, i] = act


@ti.kernel
def decide(t: ti.i32):
    for i in range(n_springs):
        act = 0.0
        for j in ti.static(range(n_hidden)):
            act += weights2[i, j] * hidden[t, j]
        act += bias2[i]
        act = ti.tanh(act)
        actuation[t, i] = act


@ti.func
def rotation_matrix(r):
    return ti.Matrix([[ti.cos(r), -ti.sin(r)], [ti.sin(r), ti.cos(r)]])


@ti.kernel
def initialize_properties():
    for i in range(n_objects):
        inverse_mass[i] = 1.0 / (4 * halfsize[i][0] * halfsize[i][1])
        inverse_inertia[i] = 1.0 / (
            4
            / 3
            * halfsize[i][0]
            * halfsize[i][1]
            * (halfsize[i][0] * halfsize[i][0] + halfsize[i][1] * halfsize[i][1])
        )


@ti.func
def to_world(t, i, rela_x):
    rela_pos = rotation_matrix(rotation[t, i]) @ rela_x
    rela_v = omega[t, i] * ti.Vector([-rela_pos[1], rela_pos[0]])
    world_x = x[t, i] + rela_pos
    world_v = v[t, i] + rela_v
    return world_x, world_v, rela_pos


@ti.func
def apply_impulse(t, i, impulse, location, toi_input):
    delta_v = impulse * inverse_mass[i]
    delta_omega = (location - x[t, i]).cross(impulse) * inverse_inertia[i]
    toi = ti.min(ti.max(0.0, toi_input), dt)
    ti.atomic_add(x_inc[t + 1, i], toi * (-delta_v))
    ti.atomic_add(rotation_inc[t + 1, i], toi * (-delta_omega))
    ti.atomic_add(v_inc[t + 1, i], delta_v)
    ti.atomic_add(omega_inc[t + 1, i], delta_omega)


@ti.kernel
def collide(t: ti.i32):
    for i in range(n_objects):
        hs = halfsize[i]
        for k in ti.static(range(4)):
            corner = ti.Vector([k % 2 * 2 - 1, k // 2 % 2 * 2 - 1])
            corner_x, corner_v, rela_pos = to_world(t, i, corner * hs)
            corner_v = corner_v + dt * gravity * ti.Vector([0.0, 1.0])
            normal = ti.Vector([0.0, 1.0])
            tao = ti.Vector([1.0, 0.0])
            rn = rela_pos.cross(normal)
            rt = rela_pos.cross(tao)
            impulse_contribution = inverse_mass[i] + rn**2 * inverse_inertia[i]
            timpulse_contribution = inverse_mass[i] + rt**2 * inverse_inertia[i]
            rela_v_ground = normal.dot(corner_v)
            impulse = 0.0
            timpulse = 0.0
            new_corner_x = corner_x + dt * corner_v
            toi = 0.0
            if rela_v_ground < 0 and new_corner_x[1] < ground_height:
                impulse = -(1 + elasticity) * rela_v_ground / impulse_contribution
                if impulse > 0:
                    timpulse = -corner_v.dot(tao) / timpulse_contribution
                    timpulse = ti.min(friction * impulse, ti.max(-friction * impulse, timpulse))
                    if corner_x[1] > ground_height:
                        toi = -(corner_x[1] - ground_height) / ti.min(corner_v[1], -1e-3)
            apply_impulse(t, i, impulse * normal + timpulse * tao, new_corner_x, toi)
            penalty = 0.0
            if new_corner_x[1] < ground_height:
                penalty = -dt * stiff_ground * (new_corner_x[1] - ground_height) / impulse_contribution
            apply_impulse(t, i, penalty * normal, new_corner_x, 0)


@ti.kernel
def apply_spring_force(t: ti.i32):
    for i in range(n_springs):
        a = anchor_a[i]
        b = anchor_b[i]
        pos_a, vel_a, rela_a = to_world(t, a, offset_a[i])
        pos_b, vel_b, rela_b = to_world(t, b, offset_b[i])
        dist = pos_a - pos_b
        length = dist.norm() + 1e-4
        act = actuation[t, i]
        is_joint = spring_length[i] == -1
        target_length = spring_length[i] * (1.0 + spring_actuation[i] * act)
        if is_joint:
            target_length = 0.0
        impulse = dt * (length - target_length) * spring_stiffness[i] / length * dist
        if is_joint:
            rela_vel = vel_a - vel_b
            rela_vel_norm = rela_vel.norm() + 1e-1
            impulse_dir = rela_vel / rela_vel_norm
            impulse_contribution = (
                inverse_mass[a]
                + impulse_dir.cross(rela_a) ** 2 * inverse_inertia[a]
                + inverse_mass[b]
                + impulse_dir.cross(rela_b) ** 2 * inverse_inertia[b]
            )
            impulse += rela_vel_norm / impulse_contribution * impulse_dir
        apply_impulse(t, a, -impulse, pos_a, 0.0)
        apply_impulse(t, b, impulse, pos_b, 0.0)


@ti.kernel
def advance_toi(t: ti.i32):
    for i in range(n_objects):
        s = math.exp(-dt * damping)
        v[t, i] = s * v[t - 1, i] + v_inc[t, i] + dt * gravity * ti.Vector([0.0, 1.0])
        x[t, i] = x[t - 1, i] + dt * v[t, i] + x_inc[t, i]
        omega[t, i] = s * omega[t - 1, i] + omega_inc[t, i]
        rotation[t, i] = rotation[t - 1, i] + dt * omega[t, i] + rotation_inc[t, i]


@ti.kernel
def advance_no_toi(t: ti.i32):
    for i in range(n_objects):
        s = math.exp(-dt * damping)
        v[t, i] = s * v[t - 1, i] + v_inc[t, i] + dt * gravity * ti.Vector([0.0, 1.0])
        x[t, i] = x[t - 1, i] + dt * v[t, i]
        omega[t, i] = s * omega[t - 1, i] + omega_inc[t, i]
        rotation[t, i] = rotation[t - 1, i] + dt * omega[t, i]


@ti.kernel
def compute_loss(t: ti.i32):
    loss[None] = (x[t, head_id] - goal[None]).norm()


@ti.kernel
def clear_states():
    for t in range(0, max_steps):
        for i in range(0, n_objects):
            v_inc[t, i] = ti.Vector([0.0, 0.0])
            x_inc[t, i] = ti.Vector([0.0, 0.0])
            rotation_inc[t, i] = 0.0
            omega_inc[t, i] = 0.0


def forward():
    initialize_properties()
    goal[None] = [0.9, 0.15]
    for t in range(1, max_steps):
        sense(t - 1)
        decide(t - 1)
        collide(t - 1)
        apply_spring_force(t - 1)
        if use_toi:
            advance_toi(t)
        else:
            advance_no_toi(t)
    loss[None] = 0
    compute_loss(max_steps - 1)


def run(toi=True):
    global use_toi
    use_toi = toi
    clear_states()
    forward()


def optimize(iterations, toi=True):
    global use_toi
    use_toi = toi
    losses = []
    for _ in range(iterations):
        clear_states()
        with ti.ad.Tape(loss):
            forward()
        losses.append(loss[None])
        norm = math.sqrt(sum((w.grad.to_numpy() ** 2).sum() for w in weights))
        scale = min(1.0, 0.2 / (norm + 1e-4))
        for w in weights:
            w.from_numpy(w.to_numpy() - (scale * w.grad.to_numpy()).astype(w.to_numpy().dtype))
    return losses


weights = (weights1, bias1, weights2, bias2)
for k in range(n_objects):
    x[0, k], halfsize[k], rotation[0, k] = boxes[k]
for k in range(n_springs):
    anchor_a[k], anchor_b[k], offset_a[k], offset_b[k], spring_length[k], spring_stiffness[k] = joints[k]
    spring_actuation[k] = default_actuation
np.random.seed(0)
for k in range(n_hidden):
    for m in range(n_inputs):
        weights1[k, m] = np.random.randn() * math.sqrt(2 / (n_hidden + n_inputs)) * 0.5
for k in range(n_springs):
    for m in range(n_hidden):
        weights2[k, m] = np.random.randn() * math.sqrt(2 / (n_hidden + n_springs))
