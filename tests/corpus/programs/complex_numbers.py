"""Complex numbers, rotations and refraction: the parts of `ds.math` that are funcs."""

import dsim as ds
from tests.corpus.program import program


@program
def complex_arithmetic(make):
    z, w = make.input(4, entry=(2,), low=0.3, high=1.4), make.input(4, entry=(2,))
    y = make.output(4, 4, entry=(2,))

    @ds.kernel
    def run():
        for i in z:
            y[i, 0] = ds.math.cmul(z[i], w[i])
            y[i, 1] = ds.math.cdiv(w[i], z[i])
            y[i, 2] = ds.math.cinv(z[i])
            y[i, 3] = ds.math.cconj(z[i]) * w[i]

    return run


@program
def complex_functions(make):
    z, y = make.input(4, entry=(2,), low=-1.2, high=-0.3), make.output(4, 5, entry=(2,))

    @ds.kernel
    def run():
        for i in z:
            y[i, 0] = ds.math.cexp(z[i])
            y[i, 1] = ds.math.clog(z[i])
            y[i, 2] = ds.math.csqrt(z[i])
            y[i, 3] = ds.math.cpow(z[i], 1.5)
            y[i, 4] = ds.math.vdir(z[i][0]) * z[i][1]

    return run


@program
def a_julia_set(make):
    c, y = make.input(3, entry=(2,), low=-0.4, high=0.4), make.output(3)

    @ds.kernel
    def run():
        for i in c:
            z = ds.math.vec2(0.5, 0.25) * c[i]
            for _ in range(6):
                z = ds.math.cmul(z, z) + c[i]
            y[i] = z.norm_sqr()

    return run


@program
def rotations(make):
    axis, angle, y = make.input(3, entry=(3,), low=0.4), make.input(3), make.output(3, 4, entry=(4,))

    @ds.kernel
    def run():
        for i in axis:
            v = ds.math.vec4(1.0, -2.0, angle[i], 1.0)
            y[i, 0] = v @ ds.math.rot_by_axis(axis[i], angle[i])
            y[i, 1] = ds.math.rotation3d(angle[i], axis[i].x, axis[i].y) @ v
            y[i, 2] = (
                ds.math.translate(axis[i].x, angle[i], 1.0) @ ds.math.scale(angle[i], axis[i].z, 2.0) @ v
            )
            turned = ds.math.rotation2d(angle[i]) @ v.xy
            y[i, 3] = [turned.x, turned.y, angle[i], 0.0]

    return run


@program
def refraction(make):
    x, eta = make.input(4, entry=(2,), low=0.2, high=0.6), make.input(4, low=0.5, high=0.9)
    y = make.output(4, 2, entry=(2,))

    @ds.kernel
    def run():
        for i in x:
            up = ds.math.vec2(0.0, 1.0)
            y[i, 0] = ds.math.refract(x[i], up, eta[i])
            y[i, 1] = ds.math.refract(x[i], up, eta[i] + 4.0) + x[i]  # reflected as a whole

    return run
