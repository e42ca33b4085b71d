"""Loops with exits from nested levels, data-dependent bounds, and buffers that they modify."""

import dsim as ds
from tests.corpus.program import program


@program
def loops_of_data_length_in_loops_of_data_length(make):
    x, y = make.input(3, 4), make.output(3)
    first, last = make.integers([0, 1, 3]), make.integers([4, 4, 3])  # the last one makes no trip

    @ds.kernel
    def run():
        for i in range(3):
            s = 1.0
            for j in range(first[i], last[i]):
                p = x[i, j]
                for k in range(j, 0, -1):
                    p = p * x[i, k] + 0.1 * k
                s += p * s
            y[i] = s

    return run


@program
def two_whiles_with_breaks_and_continues(make):
    x, y = make.input(4, low=0.3, high=1.4), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            total, rounds = 0.0, 0
            while rounds < 5:
                rounds += 1
                v = x[i] * rounds
                if v > 3.5:
                    break
                if rounds % 2 == 0:
                    continue
                while v < 2.0:
                    v = v * (1.0 + 0.5 * x[i])
                    if rounds == 3 and v > 1.6:
                        break
                total += v * x[i]
            y[i] = total

    return run


@program
def return_from_two_loops_deep_in_a_func(make):
    x, y = make.input(3, 4, low=0.2, high=0.9), make.output(3)

    @ds.func
    def until(i, limit):
        s = 0.0
        for j in range(4):
            for k in range(j + 1):
                s += x[i, j] * x[i, k]
                if s > limit:
                    return s * x[i, k]
            if s < 0:
                continue
            s *= 1.1
        return -s

    @ds.kernel
    def run():
        for i in range(3):
            y[i] = until(i, 0.3) + until(i, 1.2 + i) ** 2

    return run


@program
def return_from_a_while_in_a_func(make):
    x, y = make.input(4, low=1.1, high=2.5), make.output(4)

    @ds.func
    def root(v):
        r, k = v, 0
        while True:
            following = 0.5 * (r + v / r)
            k += 1
            if k == 7:
                return following
            r = following

    @ds.kernel
    def run():
        for i in x:
            y[i] = root(x[i]) * root(x[i] + 1.0)

    return run


@program
def return_from_the_depth_of_a_kernel(make):
    x, y = make.input(3, 3, low=0.3, high=0.9), make.output()

    @ds.kernel
    def run():
        s = 0.0
        for i in range(3):
            for j in range(3):
                s += x[i, j] ** 2
                y[None] = s * x[j, i]
                if s > 1.1:
                    y[None] = s**3
                    return

    return run


@program
def buffer_changed_until_a_break(make):
    x, y, order = (
        make.input(2, 20, low=0.2, high=0.9),
        make.output(2),
        make.integers([3, 0, 7, 12, 5, 19, 1, 14]),
    )

    @ds.kernel
    def run():
        for i in range(2):
            heap = ds.Vector.zero(make.real, 20)
            s = 0.0
            for k in range(8):
                at = order[k]
                heap[at] = x[i, at] + heap[order[(k + 5) % 8]] ** 2
                j = at
                while j < 19:
                    heap[j + 1] += heap[j] * x[i, j]
                    j += 3
                    if heap[j % 20] > 0.8:
                        break
                if k == 6 - i:
                    break
            for k in range(20):
                s += heap[k] ** 2
            y[i] = s

    return run


@program
def matrix_by_run_time_indices_in_a_loop(make):
    x, y = make.input(2, 6), make.output(2, entry=(3, 3))
    at = make.integers([0, 2, 1, 2, 0, 1])

    @ds.kernel
    def run():
        for i in range(2):
            m = ds.Matrix([[1.0, 0.5, 0.2], [0.1, 2.0, 0.3], [0.7, 0.4, 1.5]])
            for k in range(6):
                r, c = at[k], at[5 - k]
                m[r, c] = m[c, r] * x[i, k] + m[r, c] * x[i, 5 - k]
                if m[r, c] < 0:
                    continue
                m[c, c] += x[i, k] * m[r, r]
            y[i] = m

    return run


@program
def vectors_and_matrices_carried_to_a_break(make):
    x, a, y = (
        make.input(2, entry=(2,)),
        make.input(2, entry=(2, 2), low=-0.9, high=0.9),
        make.output(2, entry=(2,)),
    )

    @ds.kernel
    def run():
        for i in x:
            v, m, n = x[i], ds.Matrix.identity(make.real, 2), 0
            while n < 9:
                m = m @ a[i] + 0.1 * v.outer_product(v)
                v = m @ v - 0.2 * x[i]
                n += 1 + i
                if v.norm_sqr() > 4.0:
                    break
            y[i] = v + m[0, 1] * x[i]

    return run
