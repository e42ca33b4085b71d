"""Fields that kernels modify while they read them, element by element and across elements."""

import dsim as ds
from tests.corpus.program import program


@program
def grown_in_place(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def grow():
        for i in x:
            x[i] += 0.3 * ds.sin(x[i])

    @ds.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    def run():
        grow()
        grow()
        grow()
        square()

    return run


@program
def neighbours_in_place(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def mix():
        for i in range(1, 5):
            x[i] = x[i - 1] * x[i + 1]

    @ds.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    def run():
        mix()
        mix()
        square()

    return run


@program
def every_operator_in_place(make):
    x, w, y = make.input(4, low=0.4, high=1.4), make.input(4, low=0.5, high=1.5), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            x[i] *= w[i]
            x[i] -= 0.1 * x[i] * x[i]
            x[i] /= 1.0 + x[i] * w[i]
            x[i] **= 2
            x[i] %= 0.7
            w[i] += x[i] * w[i]
        for i in x:
            y[i] = x[i] * w[i]

    return run


@program
def exchanged_by_one_kernel(make):
    a, b, y = make.input(4), make.input(4), make.output(4)

    @ds.kernel
    def exchange(p: ds.template(), q: ds.template()):
        for i in p:
            t = p[i]
            p[i] = q[i] * t
            q[i] = t

    @ds.kernel
    def join():
        for i in y:
            y[i] = a[i] + 2.0 * b[i] ** 2

    def run():
        exchange(a, b)
        exchange(b, a)
        exchange(a, a)
        join()

    return run


@program
def sorted_in_place(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def run():
        for _ in range(6):
            for j in range(5):
                if x[j] > x[j + 1]:
                    t = x[j]
                    x[j] = x[j + 1]
                    x[j + 1] = t
        for i in x:
            y[i] = (i + 1) * x[i] ** 2

    return run


@program
def stack_of_indices(make):
    x, y, places = make.input(6), make.output(6), make.integers([0] * 6)

    @ds.kernel
    def run():
        top = 0
        for i in range(6):
            if x[i] > -0.5:
                places[top] = i
                top += 1
        while top > 0:
            top -= 1
            y[top] = x[places[top]] * x[top]

    return run


@program
def products_of_what_came_before(make):
    x, y = make.input(5), make.output(5)

    @ds.kernel
    def run():
        for i in range(1, 5):
            x[i] += x[i - 1] * x[i]
        for i in x:
            y[i] = x[i] ** 2

    return run


@program
def gauss_seidel(make):
    x, y = make.input(5), make.output(5)

    @ds.kernel
    def run():
        for _ in range(4):
            for i in range(1, 4):
                x[i] = 0.5 * (x[i - 1] + x[i + 1]) + 0.1 * x[i] * x[i]
        for i in x:
            y[i] = x[i]

    return run


@program
def branches_and_whiles_in_place(make):
    x, y = make.input(6, low=0.1, high=1.8), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            if x[i] > 0.4:
                x[i] = x[i] * 2
            if x[i] > 1.0:
                x[i] = ds.sin(x[i])
            while x[i] > 0.3:
                x[i] = x[i] * 0.8 - 0.01
        for i in x:
            y[i] = x[i] ** 2

    return run


@program
def one_element_changed_again_and_again(make):
    x, y = make.input(4), make.output()

    @ds.kernel
    def run():
        y[None] += x[0] ** 2
        y[None] *= x[1]
        y[None] = ds.sin(y[None]) + x[2]
        y[None] **= 2
        y[None] += y[None] * x[3]
        for i in x:
            y[None] += 0.1 * x[i] * y[None]

    return run


@program
def vectors_in_place(make):
    v, y = make.input(3, entry=(2,)), make.output(3)

    @ds.kernel
    def turn():
        for i in v:
            v[i] = v[i] * v[i].yx + 0.5
            v[i][0] += v[i][1] * v[i][0]
            v[i] -= 0.1 * v[i].norm() * v[i]

    @ds.kernel
    def measure():
        for i in v:
            y[i] = v[i].dot(v[i])

    def run():
        turn()
        turn()
        measure()

    return run


@program
def places_that_are_data_in_place(make):
    x, y = make.input(5), make.output(5)

    @ds.kernel
    def run():
        for i in range(4):
            k = int(2.0 * x[i] + 5.0) % 5
            x[k] = x[i] * x[(k + 1) % 5] + 0.5
        for i in x:
            y[i] = x[i] ** 2

    return run


@program
def accumulations_that_read_one_another(make):
    x, y = make.input(5), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            ds.atomic_max(y[0], x[i])
            ds.atomic_add(y[1], y[0] * x[i])
            ds.atomic_sub(y[2], 1.0 + 0.1 * x[i])
            ds.atomic_mul(y[2], x[i])
            before = ds.atomic_min(y[3], x[i] * y[2])
            y[1] += before * x[i]

    return run
