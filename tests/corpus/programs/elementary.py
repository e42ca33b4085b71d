"""Every function of numbers, casts, and compositions of them."""

import math

import numpy as np

import dsim as ds
from tests.corpus.program import program


@program
def trigonometry(make):
    x, y = make.input(4, low=-0.9, high=0.9), make.output(4, 7)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = ds.sin(x[i])
            y[i, 1] = ds.cos(x[i])
            y[i, 2] = ds.tan(x[i])
            y[i, 3] = ds.asin(x[i])
            y[i, 4] = ds.acos(x[i])
            y[i, 5] = ds.atan2(x[i], 0.5 + x[i] ** 2)
            y[i, 6] = ds.tanh(x[i])

    return run


@program
def exponentials_and_roots(make):
    x, y = make.input(4, low=0.3, high=2.5), make.output(4, 4)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = ds.exp(x[i])
            y[i, 1] = ds.log(x[i])
            y[i, 2] = ds.sqrt(x[i])
            y[i, 3] = ds.rsqrt(x[i])

    return run


@program
def arc_tangent_of_two_inputs(make):
    x, y = make.input(6, entry=(2,), low=-2.0, high=2.0), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            y[i] = ds.atan2(x[i][1], x[i][0])

    return run


@program
def powers(make):
    x, e, y = make.input(4, low=0.4, high=2.0), make.input(4), make.output(4, 5)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = x[i] ** 5
            y[i, 1] = x[i] ** -2
            y[i, 2] = x[i] ** 0.5
            y[i, 3] = x[i] ** e[i]
            y[i, 4] = ds.pow(x[i], 3.0) + x[i] ** i

    return run


@program
def negative_bases(make):
    x, y = make.input(4, low=-2.0, high=-0.5), make.output(4, 3)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = x[i] ** 3
            y[i, 1] = x[i] ** -3
            y[i, 2] = ds.pow(x[i], 2)

    return run


@program
def quotients(make):
    x, w, y = make.input(4), make.input(4, low=0.5, high=2.0), make.output(4, 3)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = x[i] / w[i]
            y[i, 1] = 1 / (1 + x[i] ** 2)
            y[i, 2] = (i + 1) / (i + 2) * x[i] / 3

    return run


@program
def remainders(make):
    x, w, y = make.input(6, low=-5.0, high=5.0), make.input(6, low=0.8, high=1.9), make.output(6, 4)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = x[i] % w[i]
            y[i, 1] = x[i] % 2.0 * x[i]
            y[i, 2] = (x[i] // w[i]) * x[i]
            y[i, 3] = ds.math.fmod(x[i], -w[i]) * ds.math.mod(x[i], -w[i])

    return run


@program
def rounding(make):
    x, y = make.input(6, low=-3.0, high=3.0), make.output(6, 4)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = ds.floor(x[i]) * x[i]
            y[i, 1] = ds.ceil(x[i]) * x[i]
            y[i, 2] = ds.round(x[i]) * x[i]
            y[i, 3] = ds.math.fract(x[i]) * x[i]

    return run


@program
def extremes_of_numbers(make):
    x, w, y = make.input(6), make.input(6), make.output(6, 5)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = ds.max(x[i], w[i]) ** 2
            y[i, 1] = ds.min(x[i], w[i] * w[i], 0.4)
            y[i, 2] = max(x[i], 0.0) * w[i]
            y[i, 3] = abs(x[i]) * w[i]
            y[i, 4] = min(max(x[i], -0.5), 0.5) * x[i]

    return run


@program
def ramps_and_mixtures(make):
    x, w, y = make.input(6), make.input(6), make.output(6, 4)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = ds.math.clamp(x[i], -0.6, 0.7) * w[i]
            y[i, 1] = ds.math.mix(x[i], w[i], 0.3)
            y[i, 2] = ds.math.smoothstep(-1.0, 1.0, x[i])
            y[i, 3] = ds.math.sign(x[i]) * w[i] ** 2

    return run


@program
def casts(make):
    x, y = make.input(5, low=-3.0, high=3.0), make.output(5, 4)

    @ds.kernel
    def run():
        for i in x:
            whole = int(x[i])
            y[i, 0] = x[i] * whole
            y[i, 1] = (x[i] - ds.cast(whole, make.real)) ** 2
            y[i, 2] = float(i) * x[i] + ds.i32(2.7)
            y[i, 3] = (i // 2) * x[i] + (i << 1) + (7 & i)

    return run


@program
def mixed_precision(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            wide = ds.cast(x[i], ds.f64)
            y[i] = ds.cast(ds.exp(wide) * wide, make.real)

    return run


@program
def python_functions_of_numbers(make):
    x, y = make.input(4, low=0.2, high=0.9), make.output(4, 3)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = pow(x[i], 2) + abs(-x[i])
            y[i, 1] = max(x[i], 0.5) + min(0.5, x[i]) * 2.0
            y[i, 2] = ds.math.pi * x[i]

    return run


@program
def logarithms_and_powers_of_other_bases(make):
    x, y = make.input(4, low=0.3, high=2.5), make.output(4, 5)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = ds.math.log2(x[i]) * x[i]
            y[i, 1] = math.log10(x[i])
            y[i, 2] = ds.math.exp2(x[i] - 1.0)
            y[i, 3] = ds.math.inversesqrt(x[i])
            y[i, 4] = ds.math.radians(ds.math.degrees(x[i]) * x[i])

    return run


@program
def python_and_numpy_functions(make):
    x, w, y = make.input(5, low=-2.4, high=2.4), make.input(5, low=0.5, high=1.5), make.output(5, 6)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = math.hypot(x[i], w[i]) * np.hypot(w[i], 2.0)
            y[i, 1] = (round(x[i]) + math.floor(x[i]) - math.ceil(x[i]) + math.trunc(x[i])) * x[i] ** 2
            y[i, 2] = np.where(x[i] > 0, np.sin(x[i]), w[i] ** 2) + np.maximum(x[i], w[i])
            y[i, 3] = np.arctan2(x[i], w[i]) + np.clip(x[i], -1.0, 1.0) * w[i]
            y[i, 4] = np.power(w[i], x[i]) + math.atan(x[i]) + math.sinh(x[i]) * np.cosh(w[i])
            y[i, 5] = 0.0 if ds.math.isnan(x[i]) or ds.math.isinf(x[i]) else math.fabs(x[i]) * w[i]

    return run


@program
def reflections_and_steps(make):
    v, n, y = make.input(3, entry=(3,)), make.input(3, entry=(3,)), make.output(3, entry=(3,))

    @ds.kernel
    def run():
        for i in v:
            direction = ds.math.normalize(n[i])
            y[i] = ds.math.reflect(v[i], direction) * ds.math.step(0.1, v[i]) + ds.math.cross(v[i], n[i])
            y[i] += ds.math.distance(v[i], n[i]) * ds.math.sign(n[i])
            for k in ds.static(reversed(range(3))):
                y[i][k] += v[i][2 - k] * (k + 1)

    return run
