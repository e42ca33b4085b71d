"""Small simulations: energies, elements, steps in time."""

import numpy as np

import dsim as ds
from tests.corpus.program import program


@program
def gravity(make):
    x, energy, n = make.input(5, entry=(2,), low=0.0, high=1.0), make.output(), 5

    @ds.kernel
    def run():
        for i, j in ds.ndrange(n, n):
            r = x[i] - x[j]
            energy[None] += -1 / r.norm(1e-1)

    return run


@program
def spring_network(make):
    x, energy = make.input(4, entry=(2,)), make.output()
    ends, rest = make.integers([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]), make.input(5, low=0.5, high=1.0)

    @ds.kernel
    def run():
        for s in range(5):
            length = (x[ends[s, 0]] - x[ends[s, 1]]).norm()
            energy[None] += 0.5 * 20.0 * (length - rest[s]) ** 2

    return run


@program
def springs_in_time(make):
    start = make.input(3, entry=(2,), start=[[0.0, 0.0], [1.0, 0.1], [0.4, 0.9]])
    x, v, force = (make.state(5, 3, entry=(2,)) for _ in range(3))
    ends, rest, y = make.integers([[0, 1], [1, 2], [2, 0]]), make.input(3, low=0.8, high=1.1), make.output()

    @ds.kernel
    def begin():
        for i in start:
            x[0, i] = start[i]

    @ds.kernel
    def pull(t: ds.i32):
        for s in range(3):
            a, b = ends[s, 0], ends[s, 1]
            d = x[t, a] - x[t, b]
            length = d.norm(1e-3)
            push = 10.0 * (length - rest[s]) / length * d
            force[t, a] += -push
            force[t, b] += push

    @ds.kernel
    def advance(t: ds.i32):
        for i in range(3):
            new = 0.98 * v[t - 1, i] + 0.05 * force[t - 1, i]
            v[t, i] = new
            x[t, i] = x[t - 1, i] + 0.05 * new

    @ds.kernel
    def measure():
        for i in range(3):
            y[None] += x[4, i].norm_sqr() + v[4, i][0]

    def run():
        begin()
        for t in range(1, 5):
            pull(t - 1)
            advance(t)
        measure()

    return run


@program
def neo_hookean_triangles(make):
    position = make.input(4, entry=(2,), start=[[0.0, 0.1], [1.1, 0.0], [0.9, 1.2], [-0.1, 1.0]])
    energy, corners, mu, lam = make.output(), make.integers([[0, 1, 3], [2, 3, 1]]), 2.0, 3.0
    shape = make.constant(np.stack([np.eye(2), -np.eye(2)]), entry_axes=2)

    @ds.kernel
    def run():
        for e in range(2):
            a, b, c = position[corners[e, 0]], position[corners[e, 1]], position[corners[e, 2]]
            f = ds.Matrix.cols([b - a, c - a]) @ shape[e]
            log_j = ds.log(f.determinant())
            psi = 0.5 * mu * ((f.transpose() @ f).trace() - 2) - mu * log_j + 0.5 * lam * log_j**2
            energy[None] += 0.5 * psi

    return run


@program
def wave_equation(make):
    first, p, y = make.input(4, 4), make.state(4, 4, 4), make.output()

    @ds.kernel
    def begin():
        for i, j in first:
            p[0, i, j] = first[i, j]
            p[1, i, j] = first[i, j]

    @ds.kernel
    def step(t: ds.i32):
        for i, j in ds.ndrange((1, 3), (1, 3)):
            around = p[t - 1, i - 1, j] + p[t - 1, i + 1, j] + p[t - 1, i, j - 1] + p[t - 1, i, j + 1]
            p[t, i, j] = 2 * p[t - 1, i, j] - p[t - 2, i, j] + 0.2 * (around - 4 * p[t - 1, i, j])

    @ds.kernel
    def measure():
        for i, j in first:
            y[None] += p[3, i, j] ** 2

    def run():
        begin()
        step(2)
        step(3)
        measure()

    return run


@program
def particles_to_a_grid(make):
    x = make.input(3, entry=(2,), low=0.3, high=0.7)
    v, affine = make.input(3, entry=(2,)), make.input(3, entry=(2, 2))
    momentum, mass, n = make.output(6, 6, entry=(2,)), make.output(6, 6), 6

    @ds.kernel
    def run():
        for p in x:
            base = ds.cast(x[p] * n - 0.5, ds.i32)
            fx = x[p] * n - ds.cast(base, make.real)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i in ds.static(range(3)):
                for j in ds.static(range(3)):
                    offset = ds.Vector([i, j])
                    dpos = (ds.cast(offset, make.real) - fx) / n
                    weight = w[i][0] * w[j][1]
                    momentum[base + offset] += weight * (v[p] + affine[p] @ dpos)
                    mass[base + offset] += weight

    return run


@program
def material_points(make):
    """One step of MPM: to the grid, on it, and back."""
    n, count, dt = 6, 3, 0.05
    x, v = make.input(count, entry=(2,), low=0.35, high=0.65), make.input(count, entry=(2,))
    f = make.input(count, entry=(2, 2), start=np.eye(2) + 0.1 * make.rng.standard_normal((count, 2, 2)))
    grid_in, grid_mass, grid_out = (
        make.state(n, n, entry=(2,)),
        make.state(n, n),
        make.state(n, n, entry=(2,)),
    )
    new_x, new_f = make.output(count, entry=(2,)), make.output(count, entry=(2, 2))

    @ds.func
    def stress(g):
        return g @ g.transpose() - ds.Matrix.identity(make.real, 2) + 0.5 * ds.log(g.determinant()) * g

    @ds.kernel
    def to_grid():
        for p in x:
            base = int(x[p] * n - 0.5)
            fx = x[p] * n - float(base)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            affine = -dt * stress(f[p])
            for i, j in ds.static(ds.ndrange(3, 3)):
                offset = ds.Vector([i, j])
                weight = w[i][0] * w[j][1]
                grid_in[base + offset] += weight * (v[p] + affine @ (float(offset) - fx))
                grid_mass[base + offset] += weight

    @ds.kernel
    def on_grid():
        for i, j in grid_mass:
            out = grid_in[i, j] / (grid_mass[i, j] + 1e-3)
            out[1] -= dt * 9.8
            if i < 2 and out[0] < 0:
                out[0] = 0
            if j > 3 and out[1] > 0:
                out[1] = 0
            grid_out[i, j] = out

    @ds.kernel
    def to_particles():
        for p in x:
            base = int(x[p] * n - 0.5)
            fx = x[p] * n - float(base)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ds.Vector([0.0, 0.0])
            new_c = ds.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ds.static(ds.ndrange(3, 3)):
                weight = w[i][0] * w[j][1]
                g = grid_out[base + ds.Vector([i, j])]
                new_v += weight * g
                new_c += 4.0 * n * weight * g.outer_product(ds.Vector([float(i), float(j)]) - fx)
            new_x[p] = x[p] + dt * new_v
            new_f[p] = (ds.Matrix.identity(make.real, 2) + dt * new_c) @ f[p]

    def run():
        to_grid()
        on_grid()
        to_particles()

    return run


@program
def symplectic_pendulum(make):
    q0, p0, y = make.input(), make.input(), make.output(2)
    q, p = make.state(12), make.state(12)

    @ds.kernel
    def run():
        q[0] = q0[None]
        p[0] = p0[None]
        for t in range(11):
            p[t + 1] = p[t] - 0.1 * ds.sin(q[t])
            q[t + 1] = q[t] + 0.1 * p[t + 1]
        y[0] = q[11]
        y[1] = 0.5 * p[11] ** 2 - ds.cos(q[11])

    return run


@program
def backward_advection(make):
    smoke, wind, y = make.input(5), make.input(5, low=-0.9, high=0.9), make.output(5)

    @ds.kernel
    def run():
        for i in smoke:
            source = ds.math.clamp(i - wind[i], 0.01, 3.99)
            low = int(ds.floor(source))
            f = source - low
            y[i] = (1 - f) * smoke[low] + f * smoke[low + 1]

    return run


@program
def jacobi_iterations(make):
    b, u, y = make.input(6), make.state(5, 6), make.output()

    @ds.kernel
    def relax(t: ds.i32):
        for i in range(1, 5):
            u[t, i] = 0.5 * (u[t - 1, i - 1] + u[t - 1, i + 1] + b[i] * u[t - 1, i] + b[i])

    @ds.kernel
    def measure():
        for i in range(6):
            y[None] += u[4, i] ** 2

    def run():
        for t in range(1, 5):
            relax(t)
        measure()

    return run


@program
def layer_of_a_controller(make):
    w, bias, sensed = make.input(3, 4), make.input(3), make.input(4)
    hidden, y = make.state(3), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            s = bias[i]
            for j in range(4):
                s += w[i, j] * sensed[j]
            hidden[i] = ds.tanh(s)
        for i in range(3):
            y[i] = hidden[i] * hidden[(i + 1) % 3]

    return run


@program
def bouncing_ball(make):
    height, y = make.input(2, low=0.4, high=0.8), make.output(2)

    @ds.kernel
    def run():
        for i in height:
            h = height[i]
            v = 0.0
            for _ in range(12):
                v -= 0.5
                h += 0.1 * v
                if h < 0.0 and v < 0.0:
                    h = -h
                    v = -0.8 * v
            y[i] = h + 0.1 * v * v

    return run


@program
def rosenbrock(make):
    x, y = make.input(5), make.output()

    @ds.kernel
    def run():
        for i in range(4):
            y[None] += 10.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2

    return run
