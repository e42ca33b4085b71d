"""Fields of every rank and entry, and the loops over them."""

import numpy as np

import dsim as ds
from tests.corpus.program import program


@program
def polynomial_of_a_scalar(make):
    x, y = make.input(), make.output()

    @ds.kernel
    def run():
        y[None] = x[None] ** 3 + 2 * x[None] ** 2 - 3 * x[None] + 1

    return run


@program
def element_by_element(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i] * x[i] + 3.0 * x[i]

    return run


@program
def transposed_plane(make):
    x, y = make.input(3, 4), make.output(4, 3)

    @ds.kernel
    def run():
        for i, j in y:
            y[i, j] = x[j, i] * x[j, i] * (i + 1) - j * x[j, i]

    return run


@program
def volume(make):
    x, y = make.input(2, 3, 2), make.output(2, 3, 2)

    @ds.kernel
    def run():
        for i, j, k in ds.ndrange(2, 3, 2):
            y[i, j, k] = ds.sin(x[i, j, k]) * x[i, 2 - j, k]

    return run


@program
def grouped_indices(make):
    x, y = make.input(2, 3, 2), make.output(2, 3, 2)

    @ds.kernel
    def run():
        for index in ds.grouped(x):
            y[index] = x[index] ** 2 * (index[0] + 2 * index[1] + index.sum())

    return run


@program
def vectors(make):
    x, v = make.input(4, entry=(2,)), make.input(4, entry=(2,))
    y = make.output(4)

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i].dot(v[i]) + x[i].norm_sqr()

    return run


@program
def vector_components(make):
    x, y = make.input(4, entry=(3,)), make.output(4, entry=(3,))

    @ds.kernel
    def run():
        for i in range(4):
            y[i][0] = x[i][1] * x[i][2]
            y[i][1] = x[i].x - x[i].z
            y[i].z = x[i][0] ** 2

    return run


@program
def matrices(make):
    a, x = make.input(3, entry=(2, 2)), make.input(3, entry=(2,))
    y = make.output(3, entry=(2,))

    @ds.kernel
    def run():
        for i in a:
            y[i] = a[i] @ x[i] + a[i].transpose() @ (2.0 * x[i])

    return run


@program
def matrix_entries(make):
    a, y = make.input(2, entry=(2, 3)), make.output(2, entry=(3, 2))

    @ds.kernel
    def run():
        for k in a:
            for i, j in ds.static(ds.ndrange(2, 3)):
                y[k][j, i] = a[k][i, j] ** 2 + a[k][0, j]

    return run


@program
def range_with_a_step(make):
    x, y = make.input(10), make.output(10)

    @ds.kernel
    def run():
        for i in range(1, 9, 3):
            y[i] = x[i] * x[i + 1]

    return run


@program
def range_downwards(make):
    x, y = make.input(5), make.output(5)

    @ds.kernel
    def run():
        for i in range(4, -1, -1):
            y[4 - i] = x[i] ** 2 * i

    return run


@program
def ndrange_of_the_interior(make):
    x, y = make.input(5, 6), make.output(5, 6)

    @ds.kernel
    def run():
        for i, j in ds.ndrange((1, 4), (1, 5)):
            y[i, j] = x[i - 1, j] * x[i + 1, j] + x[i, j - 1] * x[i, j + 1]

    return run


@program
def two_loops_in_a_kernel(make):
    x, middle, y = make.input(5), make.state(5), make.output(5)

    @ds.kernel
    def run():
        for i in x:
            middle[i] = ds.exp(0.3 * x[i])
        for i in x:
            y[i] = middle[i] * middle[4 - i]

    return run


@program
def statements_between_loops(make):
    x, total, y = make.input(4), make.state(), make.output(4)

    @ds.kernel
    def run():
        total[None] += x[0]
        for i in range(4):
            total[None] += x[i] ** 2
        scale = total[None] * 0.5
        for i in range(4):
            y[i] = scale * x[i]

    return run


@program
def nested_loops(make):
    x, w, y = make.input(3), make.input(4), make.output(3, 4)

    @ds.kernel
    def run():
        for i in range(3):
            for j in range(4):
                y[i, j] = x[i] * w[j] + x[i] ** 2

    return run


@program
def triangular_loops(make):
    x, y = make.input(5), make.output()

    @ds.kernel
    def run():
        for i in range(5):
            for j in range(i):
                y[None] += x[i] * x[j] * (i - j)

    return run


@program
def two_inner_loops(make):
    x, w, y = make.input(3, 4), make.input(3, 2), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            for j in range(4):
                y[i] += x[i, j] ** 2
            for j in range(2):
                y[i] += w[i, j] * x[i, j]

    return run


@program
def statements_and_inner_loops(make):
    x, y = make.input(3, 4), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            s = x[i, 0] * 2.0
            for j in range(4):
                s += x[i, j] ** 2
            p = s * x[i, 1]
            for j in range(1, 4):
                p += s * x[i, j]
            y[i] = p

    return run


@program
def three_levels(make):
    a, b, c = make.input(2, 3), make.input(3, 2), make.output(2, 2)

    @ds.kernel
    def run():
        for i in range(2):
            for j in range(2):
                for k in range(3):
                    c[i, j] += a[i, k] * b[k, j]

    return run


@program
def placed_in_one_block(make):
    x, y = ds.field(make.real), ds.field(make.real)
    ds.root.dense(ds.i, 5).place(x, y)
    ds.root.lazy_grad()
    make.placed(x, role="input")
    make.placed(y, role="output")

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i] * ds.cos(x[i])

    return run


@program
def placed_in_nested_blocks(make):
    x, y = ds.field(make.real), ds.Vector.field(2, make.real)
    ds.root.dense(ds.ij, (2, 3)).dense(ds.ij, (2, 1)).place(x, x.grad)
    ds.root.dense(ds.i, 4).place(y, y.grad)
    make.placed(x, role="input")
    make.placed(y, role="output")

    @ds.kernel
    def run():
        for i, j in x:
            y[i][0] += x[i, j] ** 2
            y[i][1] += x[i, j] * (j + 1)

    return run


@program
def captured_numbers(make):
    n, stiffness, offsets = 4, 0.75, (1, 2)
    x, y = make.input(n + 2), make.output(n)
    table = np.array([0.5, 1.5])

    @ds.kernel
    def run():
        for i in range(n):
            y[i] = stiffness * x[i] ** 2
            for k in ds.static(range(2)):
                y[i] += ds.static(float(table[k])) * x[i + ds.static(offsets[k])] ** 3

    return run
