"""Data-dependent indices: gathers, scatters, entries of locals, private buffers, stencils, tables."""

import dsim as ds
from tests.corpus.program import program


@program
def gather(make):
    x, y, index = make.input(4), make.output(6), make.integers([3, 0, 0, 2, 1, 3])

    @ds.kernel
    def run():
        for i in index:
            y[i] = x[index[i]] ** 2

    return run


@program
def scatter(make):
    x, y, index = make.input(6), make.output(4), make.integers([3, 0, 0, 2, 0, 3])

    @ds.kernel
    def run():
        for i in index:
            y[index[i]] += x[i] ** 3

    return run


@program
def permutation(make):
    x, y, index = make.input(5, entry=(2,)), make.output(5, entry=(2,)), make.integers([4, 2, 0, 1, 3])

    @ds.kernel
    def run():
        for i in index:
            y[index[i]] = x[i] * x[index[i]]

    return run


@program
def two_gathers_deep(make):
    x, y = make.input(5), make.output(4)
    first, second = make.integers([0, 2, 1, 2]), make.integers([4, 0, 3])

    @ds.kernel
    def run():
        for i in first:
            y[i] = ds.sin(x[second[first[i]]])

    return run


@program
def sparse_matrix_times_vector(make):
    value, x, y = make.input(6), make.input(4), make.output(3)
    row, column = make.integers([0, 2, 3, 6]), make.integers([0, 3, 1, 0, 2, 3])

    @ds.kernel
    def run():
        for i in range(3):
            for k in range(row[i], row[i + 1]):
                y[i] += value[k] * x[column[k]]

    return run


@program
def entry_of_a_local_vector_read(make):
    x, y, index = make.input(4, entry=(3,)), make.output(4), make.integers([2, 0, 1, 2])

    @ds.kernel
    def run():
        for i in x:
            v = x[i] * x[i]
            y[i] = v[index[i]] * x[i][0]

    return run


@program
def entry_of_a_local_vector_written(make):
    x, y, index = make.input(4), make.output(4, entry=(3,)), make.integers([2, 0, 1, 2])

    @ds.kernel
    def run():
        for i in x:
            v = ds.Vector([x[i], 1.0, x[i] ** 2])
            v[index[i]] = ds.sin(x[i])
            v[(index[i] + 1) % 3] += x[i]
            y[i] = v

    return run


@program
def entry_of_a_local_matrix(make):
    x, y, index = make.input(3, entry=(2, 2)), make.output(3), make.integers([0, 1, 1])

    @ds.kernel
    def run():
        for i in x:
            m = x[i] @ x[i]
            for k in range(2):
                m[k, index[i]] *= 2.0
            y[i] = m[0, index[i]] * m[1, 1 - index[i]]

    return run


@program
def private_buffer(make):
    x, y, order = make.input(2, 20), make.output(2), make.integers([7 * k % 20 for k in range(20)])

    @ds.kernel
    def run():
        for i in range(2):
            stack = ds.Vector.zero(make.real, 20)
            for k in range(20):
                stack[order[k]] = x[i, k] ** 2
            s = 0.0
            for k in range(19):
                s += stack[k] * stack[k + 1]
            y[i] = s

    return run


@program
def periodic_stencil(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[(i + 1) % 6] * x[i] - 2.0 * x[i] + x[(i + 5) % 6] ** 2

    return run


@program
def stencil_with_a_guard(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            s = -2.0 * x[i] ** 2
            if i > 0:
                s += x[i - 1] * x[i]
            if i < 5:
                s += x[i + 1] ** 2
            y[i] = s

    return run


@program
def scattering_stencil(make):
    x, y = make.input(4, 4), make.output(4, 4)

    @ds.kernel
    def run():
        for i, j in ds.ndrange((1, 3), (1, 3)):
            for di, dj in ds.static(ds.ndrange((-1, 2), (-1, 2))):
                y[i + di, j + dj] += x[i, j] ** 2 * (di + 2 * dj + 4)

    return run


@program
def convolution(make):
    x, w, y = make.input(8), make.input(3), make.output(6)

    @ds.kernel
    def run():
        for i in y:
            for k in range(3):
                y[i] += w[k] * x[i + k]

    return run


@program
def bilinear_lookup(make):
    table, at, y = make.input(4, 4), make.input(5, entry=(2,), low=0.1, high=2.9), make.output(5)

    @ds.kernel
    def run():
        for i in at:
            cell = ds.cast(ds.floor(at[i]), ds.i32)
            f = at[i] - ds.cast(cell, make.real)
            low = table[cell[0], cell[1]] * (1 - f[1]) + table[cell[0], cell[1] + 1] * f[1]
            high = table[cell[0] + 1, cell[1]] * (1 - f[1]) + table[cell[0] + 1, cell[1] + 1] * f[1]
            y[i] = low * (1 - f[0]) + high * f[0]

    return run


@program
def running_sums(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            for j in range(i + 1):
                y[i] += x[j] ** 2

    return run


@program
def index_made_of_a_vector(make):
    x, y = make.input(3, 4), make.output(2, 3)

    @ds.kernel
    def run():
        for i, j in y:
            base = ds.Vector([i, j])
            for offset in ds.static(((0, 0), (1, 1))):
                y[base] += x[base + ds.Vector(offset)] ** 2

    return run


@program
def loop_bound_from_a_field(make):
    x, y, count = make.input(4, 5), make.output(4), make.integers([5, 0, 2, 3])

    @ds.kernel
    def run():
        for i in range(4):
            p = 1.0
            for j in range(count[i]):
                p = p * x[i, j] + 0.5
            y[i] = p

    return run


@program
def branch_on_an_integer_field(make):
    x, y, kind = make.input(5), make.output(5), make.integers([0, 1, 2, 1, 0])

    @ds.kernel
    def run():
        for i in x:
            if kind[i] == 0:
                y[i] = x[i] ** 2
            elif kind[i] == 1:
                y[i] = ds.exp(x[i])

    return run
