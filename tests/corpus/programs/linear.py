"""Vectors and matrices: products, norms, inverses, parts."""

import dsim as ds
from tests.corpus.program import program


@program
def norms(make):
    x, y = make.input(4, entry=(3,)), make.output(4, 4)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = x[i].norm()
            y[i, 1] = x[i].norm(1e-1)
            y[i, 2] = x[i].norm_sqr() ** 2
            y[i, 3] = 1.0 / x[i].norm_inv() + ds.math.length(x[i])

    return run


@program
def unit_vectors(make):
    x, y = make.input(4, entry=(3,)), make.output(4, entry=(3,))

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i].normalized() * x[i][0] + ds.math.normalize(x[i])

    return run


@program
def products_of_vectors(make):
    x, w, y = make.input(3, entry=(3,)), make.input(3, entry=(3,)), make.output(3, entry=(3,))

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i].cross(w[i]) * x[i].dot(w[i]) + x[i] * w[i] - w[i] / 3.0

    return run


@program
def cross_product_in_the_plane(make):
    x, w, y = make.input(3, entry=(2,)), make.input(3, entry=(2,)), make.output(3)

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i].cross(w[i]) ** 2

    return run


@program
def outer_products(make):
    x, w, y = make.input(3, entry=(2,)), make.input(3, entry=(3,)), make.output(3, entry=(2, 3))

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i].outer_product(w[i]) * x[i][1]

    return run


@program
def products_of_matrices(make):
    a, b, y = make.input(2, entry=(2, 3)), make.input(2, entry=(3, 2)), make.output(2, entry=(2, 2))

    @ds.kernel
    def run():
        for i in a:
            y[i] = a[i] @ b[i] @ (b[i].transpose() @ a[i].transpose()) + a[i] @ a[i].transpose()

    return run


@program
def two_by_two(make):
    a, y = make.input(3, entry=(2, 2)), make.output(3, 3)
    inverse = make.output(3, entry=(2, 2))

    @ds.kernel
    def run():
        for i in a:
            m = a[i] + 2.5 * ds.Matrix.identity(make.real, 2)
            inverse[i] = m.inverse()
            y[i, 0] = m.determinant()
            y[i, 1] = m.trace() ** 2
            y[i, 2] = m.norm()

    return run


@program
def three_by_three(make):
    a, y = make.input(2, entry=(3, 3), low=-0.6, high=0.6), make.output(2)
    inverse = make.output(2, entry=(3, 3))

    @ds.kernel
    def run():
        for i in a:
            m = a[i] + 2.0 * ds.Matrix.identity(make.real, 3)
            inverse[i] = m.inverse()
            y[i] = m.determinant()

    return run


@program
def determinant_of_four(make):
    a, y = make.input(2, entry=(4, 4)), make.output(2)

    @ds.kernel
    def run():
        for i in a:
            y[i] = a[i].determinant()

    return run


@program
def columns_and_rows(make):
    x, y = make.input(4, entry=(2,)), make.output(2, entry=(2, 2))

    @ds.kernel
    def run():
        for i in y:
            f = ds.Matrix.cols([x[i] - x[i + 2], x[i + 1] * x[i]])
            g = ds.Matrix.rows([x[i], x[i + 1]])
            y[i] = f @ g

    return run


@program
def sums_and_extremes_of_entries(make):
    x, y = make.input(3, entry=(3,)), make.output(3, 4)

    @ds.kernel
    def run():
        for i in x:
            y[i, 0] = (x[i] * x[i]).sum()
            y[i, 1] = x[i].max() ** 2
            y[i, 2] = x[i].min() * x[i][0]
            y[i, 3] = (x[i] + 1.0).sum() * ds.abs(x[i]).max()

    return run


@program
def functions_of_every_entry(make):
    x, y = make.input(3, entry=(2,)), make.output(3, entry=(2,))

    @ds.kernel
    def run():
        for i in x:
            y[i] = ds.sin(x[i]) * ds.exp(x[i]) + ds.max(x[i], 0.2) - x[i] ** 2 / 2.0

    return run


@program
def swizzles(make):
    x, y = make.input(3, entry=(3,)), make.output(3, entry=(2,))

    @ds.kernel
    def run():
        for i in x:
            v = x[i]
            y[i] = v.xy * v.zx + v.z

    return run


@program
def matrix_literals(make):
    x, y = make.input(3, entry=(2,)), make.output(3, entry=(2, 2))

    @ds.kernel
    def run():
        for i in x:
            c, s = ds.cos(x[i][0]), ds.sin(x[i][0])
            r = ds.Matrix([[c, -s], [s, c]])
            y[i] = r @ ds.Matrix([[x[i][1], 0.0], [0.0, 1.0]]) @ r.transpose()

    return run


@program
def entries_of_a_local_changed(make):
    x, y = make.input(3, entry=(2, 2)), make.output(3, entry=(2, 2))

    @ds.kernel
    def run():
        for i in x:
            m = x[i]
            m[0, 1] = m[1, 0] * 2.0
            m[1, 1] += m[0, 1] * m[0, 0]
            y[i] = m

    return run


@program
def vectors_of_fixed_types(make):
    real3 = ds.types.vector(3, make.real)
    x, y = make.input(3), make.output(3)

    @ds.kernel
    def run():
        for i in x:
            v = real3(x[i], 1.0, x[i] ** 2)
            w = ds.math.vec3(2.0, x[i], 1.0)
            y[i] = v.dot(ds.cast(w, make.real)) + v[2]

    return run


@program
def makers_of_vectors_and_matrices(make):
    x, y = make.input(3, entry=(2,)), make.output(3, entry=(2, 2))

    @ds.kernel
    def run():
        for i in x:
            a, b = x[i][0], x[i][1]
            m = ds.Matrix.diag(2, a) + ds.Matrix.one(make.real, 2, 2) * b
            m += ds.Matrix.zero(make.real, 2, 2) + a * ds.Matrix.unit(2, 0, make.real).outer_product(x[i])
            m = m @ ds.Vector.rows([x[i], ds.Vector.one(make.real, 2) * a]) + ds.Vector.cols([x[i], x[i]])
            y[i] = m * ds.Vector.unit(2, 1, make.real)[1]

    return run
