"""Bodies that attract each other: forces by hand and by a tape; a solar system as a class."""

import math

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real, random_seed=2)

N, dt, G, m = 8, 1e-5, 1, 1
x = ti.Vector.field(2, dtype=real, shape=N, needs_grad=True)
v = ti.Vector.field(2, dtype=real, shape=N)
force = ti.Vector.field(2, dtype=real, shape=N)
U = ti.field(dtype=real, shape=(), needs_grad=True)


@ti.kernel
def compute_U():
    for i, j in ti.ndrange(N, N):
        r = x[i] - x[j]
        U[None] += -1 / r.norm(1e-3)


@ti.kernel
def advance():
    for i in x:
        v[i] += dt * -x.grad[i]
    for i in x:
        x[i] += dt * v[i]


def substep():
    with ti.ad.Tape(loss=U):
        compute_U()
    advance()


@ti.kernel
def compute_force():
    for i in range(N):
        force[i] = [0.0, 0.0]
    for i in range(N):
        p = x[i]
        for j in range(N):
            if i != j:
                diff = p - x[j]
                r = diff.norm(1e-3)
                f = -2 * G * m * m * (1.0 / r) ** 3 * diff
                force[i] += f


@ti.kernel
def init():
    for i in x:
        x[i] = [ti.random(), ti.random()]


@ti.data_oriented
class SolarSystem:
    def __init__(self, n, dt):
        self.n = n
        self.dt = dt
        self.x = ti.Vector.field(2, dtype=real, shape=n)
        self.v = ti.Vector.field(2, dtype=real, shape=n)
        self.center = ti.Vector.field(2, dtype=real, shape=())

    @staticmethod
    @ti.func
    def random_vector(radius):
        theta = ti.random() * 2 * math.pi
        r = ti.random() * radius
        return r * ti.Vector([ti.cos(theta), ti.sin(theta)])

    @ti.kernel
    def initialize_particles(self):
        for i in range(self.n):
            offset = self.random_vector(0.5) + ti.Vector([0.1, 0.1])
            self.x[i] = self.center[None] + offset
            self.v[i] = [-offset.y, offset.x]
            self.v[i] *= 1 / offset.norm() ** 1.5

    @ti.func
    def gravity(self, pos):
        offset = -(pos - self.center[None])
        return offset / offset.norm() ** 3

    @ti.kernel
    def integrate(self):
        for i in range(self.n):
            self.v[i] += self.dt * self.gravity(self.x[i])
            self.x[i] += self.dt * self.v[i]

    @staticmethod
    def render(gui):
        gui.circle([0.5, 0.5], radius=10, color=0xFFAA88)
        gui.circles(solar.x.to_numpy(), radius=3, color=0xFFFFFF)


init()
solar = SolarSystem(8, 1e-4)
solar.center[None] = [0.5, 0.5]
solar.initialize_particles()
