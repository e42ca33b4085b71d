"""Points that keep their distance: a queue in fields, a `while` at the top of a kernel, distances to all."""

import dsim as ti

tm = ti.math
ti.init(arch=ti.cpu, default_fp=globals().get("real", ti.f32), random_seed=4)

grid_n, desired_samples, window_size = 10, 120, 16
dx = 1 / grid_n
radius = dx * tm.sqrt(2)
grid = ti.field(dtype=int, shape=(grid_n, grid_n))
samples = ti.Vector.field(2, dtype=float, shape=desired_samples)
dfield = ti.Vector.field(4, dtype=float, shape=(window_size, window_size))
iMouse = ti.Vector.field(2, dtype=float, shape=())
iMouse[None] = [0.5, 0.5]
iResolution = tm.vec2(window_size)
head, tail, sample_count = (ti.field(int, shape=()) for _ in range(3))
img = ti.field(float, shape=(window_size, window_size))


@ti.func
def coord_to_index(p):
    return int(p * tm.vec2(grid_n))


@ti.kernel
def refresh_scene():
    head[None] = 0
    tail[None] = 1
    sample_count[None] = 1
    for i, j in grid:
        grid[i, j] = -1
    samples[0] = (p0 := iMouse[None])
    grid[coord_to_index(p0)] = 0
    for i, j in dfield:
        dfield[i, j] = tm.vec4(1e5)


@ti.func
def find_nearest_point(p):
    x, y = coord_to_index(p)
    dmin = 1e5
    nearest = iMouse[None]
    for i in range(ti.max(0, x - 2), ti.min(grid_n, x + 3)):
        for j in range(ti.max(0, y - 2), ti.min(grid_n, y + 3)):
            ind = grid[i, j]
            if ind != -1:
                q = samples[ind]
                d = (q - p).norm()
                if d < dmin:
                    dmin = d
                    nearest = q
    return dmin, nearest


@ti.kernel
def poisson_disk_sample(num_samples: int) -> int:
    while head[None] < tail[None] and head[None] < ti.min(num_samples, desired_samples):
        source_x = samples[head[None]]
        head[None] += 1
        for _ in range(60):
            theta = ti.random() * 2 * tm.pi
            offset = tm.vec2(tm.cos(theta), tm.sin(theta)) * (1 + ti.random()) * radius
            new_x = source_x + offset
            new_index = coord_to_index(new_x)
            if 0 <= new_x[0] < 1 and 0 <= new_x[1] < 1:
                collision = find_nearest_point(new_x)[0] < radius - 1e-6
                if not collision and tail[None] < desired_samples:
                    samples[tail[None]] = new_x
                    grid[new_index] = tail[None]
                    tail[None] += 1
    return tail[None]


@ti.func
def sample_dist(uv):
    uv = uv * iResolution
    x, y = tm.clamp(uv, 0, iResolution - 1).cast(int)
    return dfield[x, y]


@ti.kernel
def compute_distance_field():
    for i, j in dfield:
        uv = tm.vec2(i, j) / iResolution
        d, p = find_nearest_point(uv)
        d = (uv - p).norm() - radius / 2.0
        dfield[i, j] = tm.vec4(d, p.x, p.y, radius / 2.0)


@ti.kernel
def shade():
    for i, j in img:
        buf = sample_dist(tm.vec2(i, j) / iResolution.y)
        img[i, j] = tm.smoothstep(0.05, 0.0, buf.x) + buf.yz.norm()


refresh_scene()
