"""Constructs of the dialect: parts of vectors, selections, steps and grids, types."""

import numpy as np

import dsim as ds
from tests.corpus.program import program

vec2, vec3 = ds.math.vec2, ds.math.vec3


# ------------------------------------------------------------------ parts of vectors


@program
def slices_and_swizzles_assigned(make):
    x, y = make.input(3, entry=(4,)), make.output(3, entry=(4,))

    @ds.kernel
    def run():
        for i in x:
            v = x[i]
            v.xy = v.zw * v.yx
            v.zw += v.xy
            v[1:3] = ds.Vector([v[3], v[0]]) * 2.0
            v.xw *= v.wx
            m = ds.Matrix([[v[0], v[1]], [v[2], v[3]]])
            m[0, :] = m[:, 1] + m[1, :]
            m[:, 0] *= v.xy
            y[i] = ds.Vector([m[0, 0], m[0, 1], m[1, 0], m[1, 1]])

    return run


@program
def parts_of_fields_assigned(make):
    x, y = make.input(3, entry=(3,)), make.output(3, entry=(2, 2))

    @ds.kernel
    def run():
        for i in x:
            y[i][0, :] = x[i].xy
            y[i][:, 1] += x[i].yz * x[i].zx
            y[i][1, 0] = x[i].norm_sqr()
            y[i][0, 0] *= y[i][1, 1]

    return run


@program
def vectors_with_scalars_and_one_another(make):
    x, y = make.input(3, entry=(2,)), make.output(3, entry=(2,))

    @ds.kernel
    def run():
        for i in x:
            v = x[i]
            w = 2.0 - v / (3.0 + v**2) + v * v.yx
            w -= ds.max(w, 0.25 * v) * ds.min(0.5, v)
            w *= 1.5
            w /= 2.0 + ds.abs(w)
            y[i] = ds.atan2(w, 2.0 + v) + ds.math.mix(v, w, 0.25) + ds.math.clamp(w, -0.4, v + 1.0)

    return run


@program
def vectors_made_of_vectors(make):
    x, y = make.input(2, entry=(2,)), make.output(2, entry=(3,))

    @ds.kernel
    def run():
        for i in x:
            a = vec3(x[i], x[i].x * x[i].y)
            b = ds.math.mat2(x[i], x[i].yx)
            c = ds.math.mat3(2.0) + ds.Matrix.cols([a, a.zxy, vec3(1.0)])
            rows = [ds.Vector([p * q for p in ds.static([1.0, 2.0, 3.0])]) for q in (a.x, a.y, a.z)]
            y[i] = c @ a + b.determinant() * ds.Matrix.rows(rows) @ a + vec3(b @ x[i], b.trace())

    return run


# ------------------------------------------------------------------ choices


@program
def and_and_or_choose_whole_numbers(make):
    x, y = make.input(6), make.output(6)
    kind = make.integers([0, 1, 2, 0, 3, 1])
    other = make.integers([2, 0, 1, 0, 2, 3])

    @ds.kernel
    def run():
        for i in x:
            k = kind[i] or other[i]
            n = kind[i] and other[i]
            if kind[i] and not other[i] or x[i] > 0.5:  # noqa: RUF021
                y[i] = k * x[i] ** 2
            else:
                y[i] = (n + 1) * ds.sin(x[i]) + (m := x[i] * k) * m

    return run


@program
def structs_chosen_by_a_value(make):
    x, y = make.input(4), make.output(4)

    @ds.dataclass
    class Hit:
        at: vec2
        t: float

        @ds.func
        def sooner(self, other):
            return self if self.t < other.t else other

        @ds.func
        def moved(self, by):
            self.at += by
            self.t += self.at.x * by

    @ds.kernel
    def run():
        for i in x:
            a = Hit(at=[x[i], 1.0], t=x[i] ** 2)
            b = Hit(at=[2.0, x[i]], t=0.3 + 0.5 * x[i])
            c = a if x[i] > 0.2 else b
            c.moved(x[i])
            first = a.sooner(b)
            y[i] = c.t * c.at.y + first.t * first.at.x + ds.select(x[i] > 0, c.at, first.at).sum()

    return run


# ------------------------------------------------------------------ steps


@program
def steps_known_at_run_time(make):
    x, y = make.input(12), make.output(3)
    steps = make.integers([1, -3, 5])

    @ds.kernel
    def run():
        for k in y:
            by = steps[k]
            first, end = (0, 12) if by > 0 else (11, -1)
            v = 0.5
            for i in range(first, end, by):
                v = ds.sin(v) * x[i] + 0.25 * i
            y[k] = v

    return run


@program
def steps_given_to_a_kernel(make):
    x, y = make.input(9), make.output(9)

    @ds.kernel
    def every(first: ds.i32, end: ds.i32, by: ds.i32):
        for i in range(first, end, by):
            y[i] += x[i] ** 2 * (i + 1)

    def run():
        every(0, 9, 2)
        every(8, 0, -3)
        every(0, 9, -1)

    return run


@program
def grids_of_every_form(make):
    x, y = make.input(3, 4), make.output(3, 4)
    shape = (3, 4)

    @ds.kernel
    def run():
        for i, j in ds.ndrange(3, (1, 4)):
            y[i, j] += x[i, j] * x[i, j - 1]
        for at in ds.grouped(ds.ndrange(*shape)):
            y[at] += at[1] * x[at] ** 2
        for at in ds.grouped(ds.ndrange((1, 3), (0, 2))):
            y[at] += x[at] * x[at - [1, 0]]
        for i, j in ds.static(ds.ndrange(2, (1, 3))):
            y[i, j] += (i + j) * ds.cos(x[i, j])
        for i, (j, c) in ds.static(enumerate(zip((0, 2), (1.5, -0.5), strict=True))):
            y[i, j] += c * x[j, i]

    return run


@program
def advice_about_loops(make):
    x, y = make.input(8), make.output(8)

    @ds.kernel
    def run():
        ds.loop_config(serialize=True)
        for i in range(8):
            y[i] += x[i] ** 2
        ds.loop_config(parallelize=2, block_dim=16)
        for i in range(8):
            y[i] += ds.sin(x[i])
        ds.block_local(x)
        for i in x:
            y[ds.loop_unique(7 - i)] += x[ds.assume_in_range(i, i, 0, 1)] ** 3

    return run


# ------------------------------------------------------------------ types and numbers


@program
def through_narrower_types_and_back(make):
    x, y = make.input(5), make.output(5)

    @ds.kernel
    def run():
        for i in x:
            n = ds.cast(ds.floor(4.0 * x[i]), ds.i8)
            u = ds.cast(n, ds.u8)
            w: ds.f64 = x[i]
            s: ds.f32 = 2
            bits = ds.bit_cast(ds.cast(n, ds.i32), ds.u32)
            y[i] = w * s * (u >> 4) + ds.cast(x[i] * x[i], ds.f64) * n + bits % 7

    return run


@program
def fractions_and_powers_of_two(make):
    x, y = make.input(5, start=[0.3, -1.7, 5.1, 100.0, -0.011]), make.output(5)

    @ds.kernel
    def run():
        for i in x:
            m, e = ds.frexp(x[i])
            y[i] = m * m * e + ds.raw_mod(x[i], 0.75) + ds.raw_div(x[i], 3)

    return run


@program
def functions_by_their_names_in_math(make):
    x, y = make.input(4, low=0.2, high=0.9), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            p = vec2(x[i], 0.4)
            f = ds.math.fract(3.0 * p)
            u = f * f * (3.0 - 2.0 * f)
            turned = ds.math.rotation2d(x[i]) @ p
            shade = ds.math.mix(vec3(0.1, 0.2, 0.3), vec3(1.0), ds.math.clamp(ds.math.dot(p, p), 0.0, 1.0))
            shade *= ds.math.max(0.0, ds.math.dot(ds.math.normalize(vec3(1.0, p)), vec3(0.0, 1.0, 0.0)))
            y[i] = (
                ds.math.pow(shade, vec3(0.45)).sum()
                + ds.math.smoothstep(0.0, 1.0, u).x
                + ds.math.length(turned - u)
                + ds.math.distance(p, turned)
                + ds.math.reflect(turned, ds.math.normalize(p)).y
                + ds.math.sign(p.x - 0.5) * ds.math.mod(x[i], 0.3)
                + ds.math.degrees(ds.math.radians(x[i])) * ds.math.log2(1.0 + x[i])
            )

    return run


@program
def structs_given_and_returned(make):
    x, y = make.input(4), make.output(2)

    @ds.dataclass
    class Pair:
        a: vec2
        k: float

    @ds.kernel
    def run(p: Pair, m: ds.math.mat2, n: ds.math.ivec2):
        for i in x:
            y[i % 2] += x[i] * (p.k + (m @ p.a).x) + n[1] * ds.sin(x[i] * p.a.y)

    @ds.kernel
    def made(k: float) -> Pair:
        return Pair(a=[k, 2.0 * k], k=k * k)

    def both():
        run(made(0.5), np.array([[1.0, 2.0], [3.0, 4.0]]), ds.math.ivec2(1, 2))
        run(Pair([1.0, -1.0], 0.25), ds.Matrix([[0.5, 0.0], [0.0, 2.0]]), [3, 4])

    return both
