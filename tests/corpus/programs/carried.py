"""Locals carried from trip to trip, and recurrences through fields indexed by time."""

import dsim as ds
from tests.corpus.program import program


@program
def carried_product(make):
    x, y = make.input(3, 5), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            p = 1.0
            for j in range(5):
                p *= x[i, j]
            y[i] = p

    return run


@program
def newton_square_root(make):
    a, y = make.input(4, low=0.5, high=3.0), make.output(4)

    @ds.kernel
    def run():
        for i in a:
            r = a[i]
            for _ in range(6):
                r -= (r * r - a[i]) / (2.0 * r)
            y[i] = r

    return run


@program
def horner(make):
    c, x, y = make.input(5), make.input(3), make.output(3)

    @ds.kernel
    def run():
        for i in x:
            p = 0.0
            for k in range(4, -1, -1):
                p = p * x[i] + c[k]
            y[i] = p

    return run


@program
def logistic_map_for_long(make):
    x, y = make.input(2, low=0.2, high=0.8), make.output(2)

    @ds.kernel
    def run():
        for i in x:
            p = x[i]
            for _ in range(100):
                p = 2.8 * p * (1.0 - p) * 0.99 + 0.001 * x[i]
            y[i] = p

    return run


@program
def loop_of_a_length_given_at_run_time(make):
    x, y = make.input(3, low=0.5, high=1.4), make.output(3)

    @ds.kernel
    def power(n: ds.i32):
        for i in x:
            p = 1.0
            for _ in range(n):
                p *= x[i]
            y[i] += p

    def run():
        power(0)
        power(1)
        power(7)

    return run


@program
def two_carried_locals_that_swap(make):
    x, y = make.input(3, low=0.3, high=1.2), make.output(3)

    @ds.kernel
    def run():
        for i in x:
            a, b = 0.0, x[i]
            for _ in range(6):
                a, b = b, 0.5 * a + x[i] * b
            y[i] = b

    return run


@program
def carried_vector(make):
    angle, y = make.input(3), make.output(3, entry=(2,))

    @ds.kernel
    def run():
        for i in angle:
            v = ds.Vector([1.0, 0.5])
            for _ in range(4):
                c, s = ds.cos(angle[i]), ds.sin(angle[i])
                v = ds.Vector([c * v[0] - s * v[1], s * v[0] + c * v[1] * v[1]])
            y[i] = v

    return run


@program
def carried_matrix_powers(make):
    a, y = make.input(2, entry=(2, 2), low=-0.9, high=0.9), make.output(2, entry=(2, 2))

    @ds.kernel
    def run():
        for i in a:
            m = ds.Matrix.identity(make.real, 2)
            for _ in range(5):
                m = m @ a[i] + 0.1 * a[i].transpose()
            y[i] = m

    return run


@program
def carried_conditionally(make):
    x, y = make.input(3, 6), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            s = 1.0
            last = 0.5
            for j in range(6):
                if x[i, j] > 0:
                    s = s * x[i, j] + last
                    last = x[i, j]
            y[i] = s + last

    return run


@program
def carried_maximum(make):
    x, y = make.input(3, 6), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            m = x[i, 0]
            for j in range(1, 6):
                m = ds.max(m, x[i, j])
            y[i] = m * m

    return run


@program
def carried_through_two_levels(make):
    x, y = make.input(3, 4), make.output()

    @ds.kernel
    def run():
        for _ in range(1):
            s = 0.5
            for i in range(3):
                row = s
                for j in range(4):
                    row = ds.sin(row + x[i, j])
                s = s * 0.5 + row
            y[None] += s

    return run


@program
def outer_local_as_a_reduction(make):
    x, y = make.input(6), make.output(2)

    @ds.kernel
    def run():
        s = 1.0
        for i in x:
            s += x[i] ** 2
        y[0] = s * s
        y[1] = ds.sqrt(s)

    return run


@program
def serial_loop_over_time(make):
    x, k, y = make.state(9), make.input(2, low=0.4, high=1.2), make.output()

    @ds.kernel
    def run():
        x[0] = k[0]
        for t in range(8):
            x[t + 1] = ds.sin(x[t]) + 0.2 * k[1]
        y[None] = x[8]

    return run


@program
def two_steps_back_in_time(make):
    x, k, y = make.state(9), make.input(3), make.output()

    @ds.kernel
    def run():
        for t in range(2):
            x[t] = k[t]
        for t in range(2, 9):
            x[t] = 0.7 * x[t - 1] - 0.2 * x[t - 2] * k[2]
        y[None] = x[8] ** 2

    return run


@program
def time_in_an_inner_loop(make):
    start, y = make.input(3), make.output(3)
    x, v = make.state(3, 8), make.state(3, 8)

    @ds.kernel
    def run():
        for i in range(3):
            x[i, 0] = start[i]
            for t in range(7):
                v[i, t + 1] = v[i, t] - 0.2 * ds.sin(x[i, t])
                x[i, t + 1] = x[i, t] + 0.2 * v[i, t + 1]
            y[i] = x[i, 7] * v[i, 7]

    return run


@program
def moving_average_in_a_local(make):
    x, weight, y = make.input(3, 5), make.input(low=0.2, high=0.8), make.output(3, 5)

    @ds.kernel
    def run():
        for i in range(3):
            mean = x[i, 0]
            for t in range(5):
                mean = weight[None] * mean + (1.0 - weight[None]) * x[i, t]
                y[i, t] = mean

    return run


@program
def moving_average_on_a_tape_of_its_own(make):
    x, mean, y = make.input(2, 4), make.state(2, 4), make.output(2)
    position = make.integers([[0, 1, 2, 3], [0, 1, 2, 3]])

    @ds.kernel
    def averages():
        for row in range(2):
            for t in range(4):
                at = position[row, t]
                if at == 0:
                    mean[row, at] = x[row, at]
                else:
                    mean[row, at] = mean[row, at - 1] * 0.5 + x[row, at] * 0.5

    @ds.kernel
    def last():
        for row in range(2):
            y[row] += mean[row, 3] ** 2

    def run():
        averages()
        last()

    return run


@program
def runge_kutta(make):
    start, y = make.input(2, entry=(2,)), make.output(2, entry=(2,))

    @ds.func
    def rate(s):
        return ds.Vector([s[1], -ds.sin(s[0]) - 0.1 * s[1]])

    @ds.kernel
    def run():
        h = 0.2
        for i in start:
            s = start[i]
            for _ in range(3):
                k1 = rate(s)
                k2 = rate(s + 0.5 * h * k1)
                k3 = rate(s + 0.5 * h * k2)
                k4 = rate(s + h * k3)
                s += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            y[i] = s

    return run


@program
def fixed_point_until_it_stands(make):
    x, y = make.input(3, low=0.2, high=0.9), make.output(3)

    @ds.kernel
    def run():
        for i in x:
            r = 1.0
            for _ in range(60):
                following = ds.cos(x[i] * r)
                done = ds.abs(following - r) < 1e-2
                r = following
                if done:
                    break
            y[i] = r

    return run
