"""A sphere, a box and a light in a room: paths that are reflected, refracted and end, by chance."""

import numpy as np

import dsim as ti

tm = ti.math
ti.init(default_fp=globals().get("real", ti.f32), random_seed=3)

res = (16, 16)
color_buffer = ti.Vector.field(3, dtype=float, shape=res)
count_var = ti.field(ti.i32, shape=(1,))
tonemapped_buffer = ti.Vector.field(3, dtype=float, shape=res)
depths = ti.field(ti.i32, shape=res)

max_ray_depth, eps, inf, fov = 6, 1e-4, 1e10, 0.8
camera_pos = ti.Vector([0.0, 0.6, 3.0])
mat_none, mat_lambertian, mat_specular, mat_glass, mat_light = 0, 1, 2, 3, 4
light_min_pos, light_max_pos = ti.Vector([-0.4, 1.9, 0.8]), ti.Vector([0.4, 2.0, 1.4])
light_color = ti.Vector(list(np.array([0.9, 0.85, 0.7])))
refr_idx = 2.4
sp1_center, sp1_radius = ti.Vector([0.4, 0.3, 1.75]), 0.3


def make_box_transform_matrices():
    rad = np.pi / 8.0
    c, s = np.cos(rad), np.sin(rad)
    rot = np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1]])
    translate = np.array([[1, 0, 0, -0.7], [0, 1, 0, 0], [0, 0, 1, 0.7], [0, 0, 0, 1]])
    m_inv = np.linalg.inv(translate @ rot)
    return ti.Matrix(m_inv), ti.Matrix(np.transpose(m_inv))


box_min, box_max = ti.Vector([0.0, 0.0, 0.0]), ti.Vector([0.55, 1.1, 0.55])
box_m_inv, box_m_inv_t = make_box_transform_matrices()


@ti.func
def reflect(d, n):
    return d - 2.0 * d.dot(n) * n


@ti.func
def refract(d, n, ni_over_nt):
    has_r, rd = 0, d
    dt = d.dot(n)
    discr = 1.0 - ni_over_nt * ni_over_nt * (1.0 - dt * dt)
    if discr > 0.0:
        has_r = 1
        rd = (ni_over_nt * (d - n * dt) - n * ti.sqrt(discr)).normalized()
    else:
        rd *= 0.0
    return has_r, rd


@ti.func
def mat_mul_point(m, p):
    hp = ti.Vector([p[0], p[1], p[2], 1.0])
    hp = m @ hp
    hp /= hp[3]
    return ti.Vector([hp[0], hp[1], hp[2]])


@ti.func
def mat_mul_vec(m, v):
    hv = ti.Vector([v[0], v[1], v[2], 0.0])
    hv = m @ hv
    return ti.Vector([hv[0], hv[1], hv[2]])


@ti.func
def intersect_sphere(pos, d, center, radius):
    T = pos - center
    B = 2.0 * T.dot(d)
    C = T.dot(T) - radius * radius
    delta = B * B - 4.0 * C
    dist = inf
    hit_pos = ti.Vector([0.0, 0.0, 0.0])
    if delta > 0:
        ret1 = 0.5 * (-B - ti.sqrt(delta))
        if ret1 < eps:
            ret1 = 0.5 * (-B + ti.sqrt(delta))
        if ret1 > eps:
            dist = ret1
            hit_pos = pos + d * dist
    return dist, hit_pos


@ti.func
def intersect_plane(pos, d, pt_on_plane, norm):
    dist = inf
    hit_pos = ti.Vector([0.0, 0.0, 0.0])
    denom = d.dot(norm)
    if abs(denom) > eps:
        dist = norm.dot(pt_on_plane - pos) / denom
        hit_pos = pos + d * dist
    return dist, hit_pos


@ti.func
def intersect_aabb(box_min, box_max, o, d):
    intersect = 1
    near_t = -inf
    far_t = inf
    near_face = 0
    near_is_max = 0
    for i in ti.static(range(3)):
        if d[i] == 0:
            if o[i] < box_min[i] or o[i] > box_max[i]:
                intersect = 0
        else:
            i1 = (box_min[i] - o[i]) / d[i]
            i2 = (box_max[i] - o[i]) / d[i]
            new_far_t = ti.max(i1, i2)
            new_near_t = ti.min(i1, i2)
            new_near_is_max = i2 < i1
            far_t = ti.min(new_far_t, far_t)
            if new_near_t > near_t:
                near_t = new_near_t
                near_face = int(i)
                near_is_max = new_near_is_max
    near_norm = ti.Vector([0.0, 0.0, 0.0])
    if near_t > far_t:
        intersect = 0
    if intersect:
        for i in ti.static(range(3)):
            if near_face == i:
                near_norm[i] = -1 + near_is_max * 2
    return intersect, near_t, far_t, near_norm


@ti.func
def intersect_aabb_transformed(box_min, box_max, o, d):
    obj_o = mat_mul_point(box_m_inv, o)
    obj_d = mat_mul_vec(box_m_inv, d)
    intersect, near_t, _, near_norm = intersect_aabb(box_min, box_max, obj_o, obj_d)
    if intersect and 0 < near_t:
        near_norm = mat_mul_vec(box_m_inv_t, near_norm)
    else:
        intersect = 0
    return intersect, near_t, near_norm


@ti.func
def intersect_light(pos, d, tmax):
    hit, t, far_t, near_norm = intersect_aabb(light_min_pos, light_max_pos, pos, d)
    if hit and 0 < t < tmax:
        hit = 1
    else:
        hit = 0
        t = inf
    return hit, t


@ti.func
def intersect_scene(pos, ray_dir):
    closest, normal = inf, ti.Vector.zero(float, 3)
    c, mat = ti.Vector.zero(float, 3), mat_none
    cur_dist, hit_pos = intersect_sphere(pos, ray_dir, sp1_center, sp1_radius)
    if 0 < cur_dist < closest:
        closest = cur_dist
        normal = (hit_pos - sp1_center).normalized()
        c, mat = ti.Vector([1.0, 1.0, 1.0]), mat_glass
    hit, cur_dist, pnorm = intersect_aabb_transformed(box_min, box_max, pos, ray_dir)
    if hit and 0 < cur_dist < closest:
        closest = cur_dist
        normal = pnorm
        c, mat = ti.Vector([0.8, 0.5, 0.4]), mat_specular
    for k in ti.static(range(5)):
        at = ti.static([[-1.1, 0, 0], [1.1, 0, 0], [0, 0, 0], [0, 2, 0], [0, 0, 0]])[k]
        up = ti.static([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0], [0, 0, 1.0]])[k]
        pnorm = ti.Vector(up)
        cur_dist, _ = intersect_plane(pos, ray_dir, ti.Vector(at), pnorm)
        if 0 < cur_dist < closest:
            closest = cur_dist
            normal = pnorm
            c, mat = ti.Vector([0.9, 0.9 - 0.1 * k, 0.5 + 0.1 * k]), mat_lambertian
    hit_l, cur_dist = intersect_light(pos, ray_dir, closest)
    if hit_l and 0 < cur_dist < closest:
        closest = cur_dist
        normal = ti.Vector([0.0, -1.0, 0.0])
        c, mat = light_color, mat_light
    return closest, normal, c, mat


@ti.func
def sample_brdf(normal):
    r, theta = 0.0, 0.0
    sx = ti.random() * 2.0 - 1.0
    sy = ti.random() * 2.0 - 1.0
    if sx != 0 or sy != 0:
        if abs(sx) > abs(sy):
            r = sx
            theta = np.pi / 4 * (sy / sx)
        else:
            r = sy
            theta = np.pi / 4 * (2 - sx / sy)
    u = ti.Vector([1.0, 0.0, 0.0])
    if abs(normal[1]) < 1 - eps:
        u = normal.cross(ti.Vector([0.0, 1.0, 0.0]))
    v = normal.cross(u)
    xy = (u * ti.cos(theta) + v * ti.sin(theta)) * r
    zlen = ti.sqrt(ti.max(0.0, 1.0 - xy.dot(xy)))
    return xy + zlen * normal


@ti.func
def schlick(cos, eta):
    r0 = (1.0 - eta) / (1.0 + eta)
    r0 = r0 * r0
    return r0 + (1 - r0) * ((1.0 - cos) ** 5)


@ti.func
def sample_ray_dir(indir, normal, mat):
    u = ti.Vector([0.0, 0.0, 0.0])
    if mat == mat_lambertian:
        u = sample_brdf(normal)
    elif mat == mat_specular:
        u = reflect(indir, normal)
    elif mat == mat_glass:
        cos = indir.dot(normal)
        ni_over_nt = refr_idx
        outn = normal
        if cos > 0.0:
            outn = -normal
            cos = refr_idx * cos
        else:
            ni_over_nt = 1.0 / refr_idx
            cos = -cos
        has_refr, refr_dir = refract(indir, outn, ni_over_nt)
        refl_prob = 1.0
        if has_refr:
            refl_prob = schlick(cos, refr_idx)
        if ti.random() < refl_prob:
            u = reflect(indir, normal)
        else:
            u = refr_dir
    return u.normalized()


@ti.kernel
def render():
    for u, v in color_buffer:
        aspect_ratio = res[0] / res[1]
        pos = camera_pos
        ray_dir = ti.Vector(
            [
                (2 * fov * (u + ti.random()) / res[1] - fov * aspect_ratio - 1e-5),
                (2 * fov * (v + ti.random()) / res[1] - fov - 1e-5),
                -1.0,
            ]
        )
        ray_dir = ray_dir.normalized()
        acc_color = ti.Vector([0.0, 0.0, 0.0])
        throughput = ti.Vector([1.0, 1.0, 1.0])
        depth = 0
        while depth < max_ray_depth:
            closest, hit_normal, hit_color, mat = intersect_scene(pos, ray_dir)
            if mat == mat_none:
                break
            hit_pos = pos + closest * ray_dir
            hit_light = mat == mat_light
            if hit_light:
                acc_color += throughput * light_color
                break
            depth += 1
            ray_dir = sample_ray_dir(ray_dir, hit_normal, mat)
            pos = hit_pos + 1e-4 * ray_dir
            throughput *= hit_color
        color_buffer[u, v] += acc_color
        depths[u, v] = depth
    count_var[0] = (count_var[0] + 1) % 25


@ti.kernel
def tonemap(accumulated: float):
    for i, j in tonemapped_buffer:
        tonemapped_buffer[i, j] = ti.sqrt(color_buffer[i, j] / accumulated * 100.0)


directions = ti.Vector.field(3, dtype=float, shape=4000)
refracted = ti.Vector.field(3, dtype=float, shape=2)


@ti.kernel
def sample_many(x: float, y: float, z: float):
    for i in directions:
        directions[i] = sample_brdf(ti.Vector([x, y, z]).normalized())


@ti.kernel
def refract_one(angle: float):
    d, up = ti.Vector([ti.sin(angle), -ti.cos(angle), 0.0]), ti.Vector([0.0, 1.0, 0.0])
    has, out = refract(d, up, 1 / refr_idx)
    back, lost = refract(d, up, refr_idx)
    refracted[0] = out
    refracted[1] = [has, back, lost.norm()]
