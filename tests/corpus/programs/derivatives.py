"""Derivatives of funcs inside kernels, values excluded from gradients, and random numbers."""

import dsim as ds
from tests.corpus.program import program


@program
def forward_of_a_func(make):
    x, y = make.input(5), make.output(5)

    @ds.func
    def f(v):
        return v**3 + 2 * v**2 - 3 * v + 1

    slope = ds.forward(f)

    @ds.kernel
    def run():
        for i in x:
            y[i] = slope(x[i]) * x[i]

    return run


@program
def forward_of_forward(make):
    x, y = make.input(5), make.output(5)

    @ds.func
    def f(v):
        return ds.sin(v) * v

    curvature = ds.forward(ds.forward(f))

    @ds.kernel
    def run():
        for i in x:
            y[i] = curvature(x[i])

    return run


@program
def forward_along_a_direction(make):
    x, y = make.input(4, entry=(2,)), make.output(4)

    @ds.func
    def f(a, b):
        return a * a * b + ds.exp(a)

    along = ds.forward(f)

    @ds.kernel
    def run():
        for i in x:
            y[i] = along(x[i][0], x[i][1], 1.0, x[i][0])

    return run


@program
def grad_of_a_func(make):
    x, y = make.input(4, entry=(2,)), make.output(4, entry=(2,))

    @ds.func
    def energy(r):
        return -1.0 / r.norm(0.1) + r[0] * r[1]

    pull = ds.grad(energy)

    @ds.kernel
    def run():
        for i in x:
            y[i] = -pull(x[i])

    return run


@program
def grad_by_several_arguments(make):
    x, y = make.input(4), make.output(4)

    @ds.func
    def f(a, b, k):
        s = a
        for _ in range(3):
            s = ds.sin(s) * b + k
        return s

    slopes = ds.grad(f)

    @ds.kernel
    def run():
        for i in x:
            by_a, by_b, by_k = slopes(x[i], 0.5 + x[i], 1.0)
            y[i] = by_a + 2.0 * by_b - by_k * x[i]

    return run


@program
def newton_by_its_own_slope(make):
    a, y = make.input(4, low=0.5, high=3.0), make.output(4)

    @ds.func
    def residual(r, target):
        return r**3 - target

    slope = ds.grad(residual)

    @ds.kernel
    def run():
        for i in a:
            r = 1.5
            for _ in range(4):
                by_r, _unused = slope(r, a[i])
                r -= residual(r, a[i]) / by_r
            y[i] = r

    return run


@program
def stress_by_differentiating_an_energy(make):
    f, y = make.input(2, entry=(2, 2), low=-0.2, high=0.2), make.output(2, entry=(2, 2))

    @ds.func
    def density(g):
        j = g.determinant()
        return 0.5 * ((g.transpose() @ g).trace() - 2.0) - ds.log(j) + 0.5 * ds.log(j) ** 2

    stress = ds.grad(density)

    @ds.kernel
    def run():
        for i in f:
            y[i] = stress(f[i] + ds.Matrix.identity(make.real, 2))

    return run


@program
def stopped_gradients(make):
    x, y = make.input(5), make.output(5)
    fixed = make.copy_of(x)

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i] * ds.stop_grad(ds.sin(x[i]))

    @ds.kernel
    def without_what_is_stopped():
        for i in x:
            y[i] = x[i] * ds.sin(fixed[i])

    make.differences = without_what_is_stopped
    return run


@program
def random_path(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            noise = ds.cast(ds.random(ds.f32), make.real)
            y[i] = ds.sin(x[i] + noise) * x[i] + noise

    return run


@program
def random_path_in_a_loop(make):
    x, y = make.input(2, low=0.4, high=0.9), make.output(2)

    @ds.kernel
    def run():
        for i in x:
            w = 1.0
            for _ in range(4):
                w *= 1.0 + 0.3 * x[i] * (ds.cast(ds.random(ds.f32), make.real) - 0.5)
            y[i] = w

    return run
