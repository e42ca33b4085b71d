"""A density rendered from several sides: reconstructs it from these images."""

import math

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real)

res, density_res, n_views, marching_steps = 12, 8, 3, 40
inv_density_res = 1.0 / density_res
res_f32 = float(res)
dx, fov, camera_origin_radius, learning_rate = 0.0497, 0.97, 1.013, 0.2
torus_r1, torus_r2 = 0.3, 0.15

density, target_images, images, loss = (ti.field(dtype=real) for _ in range(4))
ti.root.dense(ti.ijk, density_res).place(density)
ti.root.dense(ti.i, n_views).dense(ti.jk, res).place(target_images, images)
ti.root.place(loss)
ti.root.lazy_grad()


@ti.func
def in_box(x, y, z):
    return x >= -0.5 and x < 0.5 and y >= -0.5 and y < 0.5 and z >= -0.5 and z < 0.5


@ti.kernel
def ray_march(field: ti.template(), angle: ti.f32, view_id: ti.i32):
    for pixel in range(res * res):
        for k in range(marching_steps):
            x = pixel // res
            y = pixel - x * res
            camera_origin = ti.Vector(
                [camera_origin_radius * ti.sin(angle), 0, camera_origin_radius * ti.cos(angle)]
            )
            direction = ti.Vector(
                [
                    fov * ((ti.cast(x, ti.f32) + 0.5) / (res_f32 / 2.0) - res_f32 / res_f32),
                    fov * ((ti.cast(y, ti.f32) + 0.5) / (res_f32 / 2.0) - 1.0),
                    -1.0,
                ]
            )
            length = ti.sqrt(
                direction[0] * direction[0] + direction[1] * direction[1] + direction[2] * direction[2]
            )
            direction /= length
            rotated_x = direction[0] * ti.cos(angle) + direction[2] * ti.sin(angle)
            rotated_z = -direction[0] * ti.sin(angle) + direction[2] * ti.cos(angle)
            direction[0] = rotated_x
            direction[2] = rotated_z
            point = camera_origin + (k + 1) * dx * direction
            index_x = ti.cast(ti.floor((point[0] + 0.5) * density_res), ti.i32)
            index_y = ti.cast(ti.floor((point[1] + 0.5) * density_res), ti.i32)
            index_z = ti.cast(ti.floor((point[2] + 0.5) * density_res), ti.i32)
            index_x = ti.max(0, ti.min(index_x, density_res - 1))
            index_y = ti.max(0, ti.min(index_y, density_res - 1))
            index_z = ti.max(0, ti.min(index_z, density_res - 1))
            flag = 0
            if in_box(point[0], point[1], point[2]):
                flag = 1
            contribution = density[index_z, index_y, index_x] * flag
            field[view_id, y, x] += contribution


@ti.kernel
def compute_loss(view_id: ti.i32):
    for i in range(res):
        for j in range(res):
            loss[None] += (images[view_id, i, j] - target_images[view_id, i, j]) ** 2 * (1.0 / (res * res))


@ti.kernel
def clear_images():
    for v, i, j in images:
        images[v, i, j] = 0


@ti.kernel
def clear_density():
    for i, j, k in density:
        density[i, j, k] = 0
        density.grad[i, j, k] = 0


@ti.func
def in_torus(x, y, z):
    len_xz = ti.sqrt(x * x + z * z)
    qx = len_xz - torus_r1
    len_q = ti.sqrt(qx * qx + y * y)
    return len_q - torus_r2 < 0


@ti.kernel
def create_torus_density():
    for i, j, k in density:
        x = ti.cast(k, ti.f32) * inv_density_res - 0.5
        y = ti.cast(j, ti.f32) * inv_density_res - 0.5
        z = ti.cast(i, ti.f32) * inv_density_res - 0.5
        if in_torus(y, x, z):
            density[i, j, k] = inv_density_res
        else:
            density[i, j, k] = 0.0


@ti.kernel
def apply_grad():
    for i, j, k in density:
        density[i, j, k] -= learning_rate * density.grad[i, j, k]
        density[i, j, k] = ti.max(density[i, j, k], 0)


def angle_of(view):
    return math.pi / n_views * view - math.pi / 2.1


def forward():
    for view in range(n_views):
        ray_march(images, angle_of(view), view)
        compute_loss(view)


def optimize(iterations):
    losses = []
    for _ in range(iterations):
        clear_images()
        with ti.ad.Tape(loss):
            forward()
        losses.append(loss[None])
        apply_grad()
    return losses


create_torus_density()
for seen_from in range(n_views):
    ray_march(target_images, angle_of(seen_from), seen_from)
