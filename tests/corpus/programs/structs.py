"""Structs: carried through loops, modified by methods, stored in fields and modified there in place."""

import dsim as ds
from tests.corpus.program import program

vec2 = ds.math.vec2


@ds.dataclass
class Particle:
    pos: vec2
    vel: vec2
    mass: float
    steps: ds.i32

    @ds.func
    def force(self):
        return -self.pos * self.mass * (1.0 + self.pos.norm_sqr())

    @ds.func
    def step(self, dt):
        self.vel += dt * self.force() / self.mass
        self.pos += dt * self.vel
        self.steps += 1

    @ds.func
    def energy(self):
        return 0.5 * self.mass * self.vel.norm_sqr() + self.pos.norm_sqr()

    @ds.func
    def settle(self, dt, limit):
        for i in range(20):
            if self.energy() < limit:
                return i
            self.step(dt)
            self.vel *= 0.8
        return 20


def particles(make, n, role="state", roles=None):
    """A field of `n` particles of the program's type, its members in these roles."""
    kind = ds.types.struct(
        pos=ds.types.vector(2, make.real),
        vel=ds.types.vector(2, make.real),
        mass=make.real,
        steps=ds.i32,
        __struct_methods=dict(Particle.methods),
    )
    made = kind.field(shape=n, needs_grad=True)
    for name in ("pos", "vel", "mass"):
        make.placed(made.get_member_field(name), role=(roles or {}).get(name, role))
    make.placed(made.steps)
    return made


@program
def struct_carried_through_a_long_loop(make):
    x, y = make.input(3, entry=(2,)), make.output(3, entry=(3,))

    @ds.kernel
    def run():
        for i in x:
            p = Particle(pos=x[i], vel=[x[i].y, 0.5], mass=1.0 + x[i].x ** 2)
            for t in range(40):
                p.vel -= 0.02 * p.pos * p.mass
                p.pos += 0.02 * p.vel
                if t % 10 == 9:
                    p.mass *= 1.0 + 0.1 * p.pos.x
            y[i] = [p.pos.x, p.vel.y, p.mass]

    return run


@program
def struct_changed_by_its_methods(make):
    x, y = make.input(3, entry=(2,)), make.output(3, entry=(2,))

    @ds.kernel
    def run():
        for i in x:
            p = Particle(x[i], mass=2.0)
            q = p
            for _ in range(8):
                p.step(0.1)
                for _ in range(2):
                    q.step(0.05 * p.vel.norm_sqr())
            y[i] = [p.energy() + p.steps, q.energy() * p.pos.x]

    return run


@program
def struct_in_a_while_loop_with_early_returns(make):
    x, y = make.input(5, entry=(2,), low=0.3, high=1.4), make.output(5)

    @ds.kernel
    def run():
        for i in x:
            p = Particle(pos=x[i], vel=[1.0, 0.0], mass=1.0)
            n = p.settle(0.2, 0.9)
            while p.pos.x > -0.3 and n < 30:
                p.step(0.05)
                n += 1
            y[i] = p.energy() * (n + 1)

    return run


@program
def struct_chosen_by_a_branch(make):
    x, y = make.input(6), make.output(6)

    @ds.func
    def stretched(p, by):
        p.pos *= by
        return p

    @ds.kernel
    def run():
        for i in x:
            p = Particle(pos=[x[i], 1.0], mass=x[i])
            if x[i] > 0.2:
                p = stretched(p, x[i])
                p.pos[i % 2] += x[i]
            q = Particle(vel=p.pos) if x[i] < 0.7 else p
            y[i] = q.vel.norm_sqr() + q.pos.sum() * q.mass

    return run


@program
def nested_structs_with_matrices(make):
    x, y = make.input(3, 4), make.output(3)
    Frame = ds.types.struct(turn=ds.math.mat2, origin=vec2)
    Body = ds.types.struct(frame=Frame, size=float)

    @ds.func
    def point(b, v):
        return b.frame.turn @ v * b.size + b.frame.origin

    @ds.kernel
    def run():
        for i in range(3):
            b = Body(size=x[i, 3])
            c, d = ds.cos(x[i, 0]), ds.sin(x[i, 0])
            b.frame.turn = ds.Matrix([[c, -d], [d, c]])
            b.frame.origin.y = x[i, 2]
            v = ds.Vector([x[i, 1], 1.0])
            for k in range(5):
                v = point(b, v) * 0.5
                b.frame.turn[0, k % 2] *= 1.1
                b.frame.origin += 0.1 * v
            y[i] = v.x * v.y + b.frame.turn.trace()

    return run


@program
def particles_changed_in_place(make):
    f = particles(make, 4, roles={"pos": "input", "vel": "input"})
    mass, y = make.input(4, low=0.5, high=1.5), make.output(4)

    @ds.kernel
    def step(dt: float):
        for i in f:
            f[i].step(dt)

    @ds.kernel
    def begin():
        for i in f:
            f[i].mass = mass[i]

    @ds.kernel
    def measure():
        for i in f:
            y[i] = f[i].energy() + f[i].pos.x * f[(i + 1) % 4].vel.y

    def run():
        begin()
        for _ in range(6):
            step(0.1)
        measure()

    return run


@program
def particles_in_springs(make):
    f = particles(make, 5, roles={"pos": "input"})
    y = make.output()

    @ds.kernel
    def start():
        for i in f:
            f[i] = Particle(pos=f[i].pos, vel=[0.1, 0.0], mass=1.0 + 0.1 * i)

    @ds.kernel
    def pull(dt: float):
        for i in range(4):
            a, b = f[i], f[i + 1]
            d = b.pos - a.pos
            force = (d.norm() - 1.0) * d.normalized()
            f[i].vel += dt * force / a.mass
            f[i + 1].vel -= dt * force / b.mass

    @ds.kernel
    def move(dt: float):
        for i in f:
            f[i].pos += dt * f[i].vel

    @ds.kernel
    def measure():
        for i in f:
            y[None] += f[i].energy()

    def run():
        start()
        for _ in range(5):
            pull(0.2)
            move(0.2)
        measure()

    return run


@program
def struct_field_written_as_a_whole(make):
    x, y = make.input(3, entry=(2,)), make.output(3)
    f = particles(make, 3)

    @ds.kernel
    def store():
        for i in f:
            f[i] = Particle(x[i], 2.0 * x[i], ds.sin(x[i].x), i)

    @ds.kernel
    def swap():
        for _ in range(1):
            p = f[0]
            f[0] = f[2]
            f[2] = p
            f[1].mass *= f[0].mass * f[2].pos.y

    @ds.kernel
    def measure():
        for i in f:
            p = f[i]
            y[i] = p.mass * p.vel.x + p.pos.y * p.steps

    def run():
        store()
        swap()
        measure()

    return run


@program
def gradient_of_a_func_of_a_struct(make):
    x, y = make.input(4, entry=(2,)), make.output(4)
    State = ds.types.struct(q=float, p=float)

    @ds.func
    def hamiltonian(s):
        return 0.5 * s.p**2 - ds.cos(s.q) + 0.1 * s.p * s.q

    slope = ds.grad(hamiltonian)

    @ds.kernel
    def run():
        for i in x:
            s = State(x[i].x, x[i].y)
            for _ in range(10):
                s.p -= 0.1 * slope(s).q
                s.q += 0.1 * slope(s).p
            y[i] = s.q * s.p

    return run


@program
def arguments_changed_by_a_func(make):
    x, y, z = make.input(4, 3), make.output(4), make.output(4)

    @ds.func
    def advance(q: ds.template(), p: ds.template(), dt):
        p -= dt * ds.sin(q)
        if p > 1.0:
            p *= 0.5
            return 1.0
        q += dt * p
        return q * p

    @ds.func
    def scale(a: ds.template(), by):
        for _ in range(3):
            a *= by

    @ds.kernel
    def run():
        for i in range(4):
            q, v = x[i, 0], ds.Vector([x[i, 1], x[i, 2]])
            s = 0.0
            for t in range(12):
                s += advance(q, v[t % 2], 0.2)
            y[i] = s * q + v.x * v.y
            z[i] = q + 1.0
            scale(z[i], v.x)

    return run


@program
def struct_that_a_method_gives_to_another(make):
    x, y = make.input(4, entry=(3,)), make.output(4)
    kind = ds.types.struct(heat=make.real, rate=make.real, __struct_methods={"warm": _warm})
    rods = kind.field(shape=4, needs_grad=True)
    make.placed(rods.heat, role="state")
    make.placed(rods.rate, role="state")

    @ds.kernel
    def run():
        for i in x:
            rods[i] = kind(heat=x[i][0], rate=x[i][1])
        for i in range(3):
            rods[i].warm(rods[i + 1], 0.5)
        for i in x:
            near, far = rods[i], kind(heat=x[i][2], rate=1.0)
            for _ in range(6):
                near.warm(far, 0.2)
                far.warm(rods[i], near.rate)
            y[i] = near.heat * far.heat + rods[i].heat

    return run


@ds.func
def _warm(self, other: ds.template(), part):
    given = part * self.heat * ds.cos(other.rate)
    self.heat -= given
    other.heat += given
    other.rate += 0.1 * given * self.rate
