"""Constructs of the dialect: methods of classes, templates, several results, recursion."""

import dsim as ds
from tests.corpus.program import program

vec2 = ds.math.vec2


# ------------------------------------------------------------------ classes


@ds.data_oriented
class Chain:
    """Masses on a line; what the springs do is said by a class below."""

    damping = 0.05

    def __init__(self, make, n):
        self.n = n
        self.x, self.v = make.input(n), make.state(n)
        self.stiffness = [1.5, 0.5]
        self.parts = {"rest": 0.25}

    @ds.func
    def force(self, stretch):
        return self.stiffness[0] * stretch

    @staticmethod
    @ds.func
    def square(a):
        return a * a

    @property
    def last(self):
        return self.n - 1

    @ds.kernel
    def kick(self, dt: float):
        for i in range(self.n):
            f = -self.square(self.x[i])
            if i > 0:
                f += self.force(self.x[i - 1] - self.x[i] + self.parts["rest"])
            if i < self.last:
                f += self.force(self.x[i + 1] - self.x[i] - self.parts["rest"])
            self.v[i] = (1.0 - self.damping) * self.v[i] + dt * f

    @ds.kernel
    def drift(self, dt: float):
        for i in range(self.n):
            self.x[i] += dt * self.v[i]

    def run(self, steps):
        for _ in range(steps):
            self.kick(0.1)
            self.drift(0.1)


@ds.data_oriented
class HardeningChain(Chain):
    @ds.func
    def force(self, stretch):
        return self.stiffness[0] * stretch + self.stiffness[1] * stretch**3


@program
def methods_of_a_class_that_inherits(make):
    chain = HardeningChain(make, 5)
    y = make.output(5)

    @ds.kernel
    def out():
        for i in y:
            y[i] = chain.x[i] + chain.square(chain.v[i])

    def run():
        chain.v.fill(0.0)
        chain.stiffness[1] = 0.5
        chain.run(3)
        chain.stiffness[1] = 2.0  # seen by the next launch
        chain.run(2)
        out()

    return run


@program
def classes_inside_of_a_class(make):
    @ds.data_oriented
    class Layer:
        def __init__(self, n, m):
            self.w = make.input(n, m)

        @ds.func
        def apply(self, h, k: ds.template()):
            total = 0.0
            for j in ds.static(range(self.w.shape[1])):
                total += self.w[k, j] * h[j]
            return ds.tanh(total)

    @ds.data_oriented
    class Net:
        def __init__(self):
            self.layers = [Layer(3, 2), Layer(2, 3)]
            self.y = make.output(2)

        @ds.kernel
        def run(self, a: float):
            hidden = ds.Vector([self.layers[0].apply([a, 1.0], k) for k in range(3)])
            for k in ds.static(range(2)):
                self.y[k] = self.layers[1].apply(hidden, k)

    net = Net()
    return lambda: net.run(0.5)


# ------------------------------------------------------------------ templates, several results


@program
def templates_of_every_kind(make):
    x, y, z = make.input(4), make.output(4), make.output(4, entry=(2,))

    @ds.func
    def cube(v):
        return v**3

    @ds.func
    def scaled(v, by: ds.template()):
        return by * v

    @ds.func
    def swap(a: ds.template(), b: ds.template()):
        c = a
        a = b
        b = c

    @ds.kernel
    def run(source: ds.template(), out: ds.template(), f: ds.template(), n: ds.template(), t: ds.template()):
        for index in ds.grouped(source):
            a, b = source[index], f(source[index])
            for _ in ds.static(range(n)):
                swap(a, b)
                a = scaled(a, 1.5)
            if ds.static(out is z):
                out[index] = ds.Vector([a, b])
            else:
                out[index] = ds.cast(a, t) + b

    def both():
        run(x, y, cube, 3, make.real)
        run(x, z, ds.sin, 2, make.real)

    return both


@program
def results_of_several_kinds(make):
    x, y = make.input(5), make.output(5)

    @ds.dataclass
    class Line:
        slope: float
        at: vec2

    @ds.func
    def parts(v) -> tuple[float, vec2]:
        return v * v, ds.Vector([v, 2.0 * v])

    @ds.func
    def line(v) -> Line:
        return Line(slope=v, at=[v, v * v])

    @ds.func
    def both(v):
        square, pair = parts(v)
        return line(square), pair

    @ds.kernel
    def run():
        for i in x:
            found, (a, b) = both(x[i])
            y[i] = found.slope * found.at.y + a * b

    return run


@program
def recursion_that_ends_when_compiling(make):
    x, y = make.input(4), make.output(4)

    @ds.func
    def nested(v, n: ds.template()):
        r = v
        if ds.static(n > 0):
            r = ds.sin(v + 0.5 * nested(v * v, n - 1))
        return r

    @ds.func
    def horner(v, given: ds.template(), k: ds.template()):
        return given[k] if k == len(given) - 1 else given[k] + v * horner(v, given, k + 1)

    coefficients = (1.0, -2.0, 0.5, 0.25)

    @ds.kernel
    def run():
        for i in x:
            y[i] = nested(x[i], 4) + horner(x[i], coefficients, 0)

    return run


@program
def funcs_inside_of_kernels(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def run():
        gain = 2.0

        def amplified(v):
            return gain * v + v**2

        for i in x:
            y[i] = amplified(x[i]) * amplified(0.5)

    return run
