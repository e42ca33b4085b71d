"""Funcs with custom derivatives: one rule or both, scalars to matrices, loops around and inside."""

import dsim as ds
from tests.corpus.program import program


@program
def own_jvp_of_an_iteration(make):
    x, y = make.input(4, low=0.5, high=2.0), make.output(4)

    @ds.func
    def cube_root(a):
        r = a
        for _ in range(40):
            r -= (r * r * r - a) / (3.0 * r * r)
        return r

    @ds.func
    def cube_root_jvp(a, a_dot, *, result):
        return a_dot / (3.0 * result * result)

    cube_root.derivative(jvp=cube_root_jvp)

    @ds.kernel
    def run():
        for i in x:
            y[i] = cube_root(x[i] * x[i]) * x[i]

    return run


@program
def own_vjp_in_a_loop(make):
    x, y = make.input(3, entry=(2,)), make.output(3)

    @ds.func
    def scaled_power(v, s, n: int):
        p = v * 0.0 + 1.0
        for _ in range(n):
            p *= v
        return s * p

    @ds.func
    def scaled_power_vjp(v, s, n, bar):
        p = v * 0.0 + 1.0
        for _ in range(n - 1):
            p *= v
        return bar * s * n * p, (bar * p * v).sum()

    scaled_power.derivative(vjp=scaled_power_vjp)

    @ds.kernel
    def run():
        for i in x:
            v, total = x[i], 0.0
            for k in range(3):
                v = scaled_power(v, 0.5 * x[i][1], 3 - k)
                total += v[0] * v[1]
            y[i] = total

    return run


@program
def own_derivatives_of_several_results(make):
    f, y, n = make.input(2, entry=(2, 2), low=-0.3, high=0.3), make.output(2, entry=(2, 2)), make.output(2)

    @ds.func
    def solved(a, b):
        return a.inverse() @ b, 2, a.determinant()

    @ds.func
    def solved_jvp(a, b, a_dot, b_dot, *, result):
        inverse = a.inverse()
        return inverse @ (b_dot - a_dot @ result[0]), (inverse @ a_dot).trace() * result[2]

    @ds.func
    def solved_vjp(a, b, x_bar, d_bar, *, result):
        back = a.inverse().transpose()
        b_bar = back @ x_bar
        return d_bar * result[2] * back - b_bar @ result[0].transpose(), b_bar

    solved.derivative(jvp=solved_jvp, vjp=solved_vjp)

    @ds.kernel
    def run():
        for i in f:
            a = f[i] + ds.Matrix.identity(make.real, 2)
            x, k, d = solved(a, f[i].transpose())
            y[i] = x @ a * k
            n[i] = d * d

    return run


@program
def derivatives_of_an_own_derivative(make):
    x, y = make.input(4, low=0.5, high=2.0), make.output(4)

    @ds.func
    def logarithm(a):
        r, t = 0.0, (a - 1.0) / (a + 1.0)
        for k in range(30):
            r += 2.0 * t ** (2 * k + 1) / (2 * k + 1)
        return r

    @ds.func
    def logarithm_jvp(a, a_dot):
        return a_dot / a

    @ds.func
    def entropy(a):
        return a * logarithm(a)

    logarithm.derivative(jvp=logarithm_jvp)
    slope, curvature = ds.grad(entropy), ds.forward(ds.grad(entropy))

    @ds.kernel
    def run():
        for i in x:
            y[i] = slope(x[i]) + curvature(x[i]) * logarithm(x[i])

    return run
