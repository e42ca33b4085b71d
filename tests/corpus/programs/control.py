"""Branches, early exits, loops with data-dependent conditions."""

import dsim as ds
from tests.corpus.program import program


@program
def branch_with_both_sides(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            if x[i] > 0.1:
                y[i] = x[i] ** 2
            else:
                y[i] = 3.0 * x[i]

    return run


@program
def branch_that_changes_locals(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            a = x[i]
            b = 1.0
            if a < 0:
                a = -2.0 * a
                b = x[i] * x[i]
            y[i] = a * b

    return run


@program
def chain_of_branches(make):
    x, y = make.input(8), make.output(8)

    @ds.kernel
    def run():
        for i in x:
            v = 0.0
            if x[i] < -0.7:
                v = x[i]
            elif x[i] < 0.0:
                v = x[i] ** 2
            elif i % 2 == 0:
                v = ds.sin(x[i])
            else:
                v = x[i] ** 3
            y[i] = v * x[i]

    return run


@program
def nested_branches(make):
    x, w, y = make.input(8), make.input(8), make.output(8)

    @ds.kernel
    def run():
        for i in x:
            r = 0.0
            if x[i] > 0:
                if w[i] > 0:
                    r = x[i] * w[i]
                else:
                    r = x[i] - w[i]
                r *= 2.0
            elif w[i] < 0 and x[i] > -1.0:
                r = w[i] ** 2
            y[i] = r

    return run


@program
def truth_values(make):
    x, y = make.input(8), make.output(8)

    @ds.kernel
    def run():
        for i in x:
            small = ds.abs(x[i]) < 0.8
            odd = i % 2 == 1
            if (small and not odd) or (x[i] > 1.0 and 2 <= i < 7):
                y[i] = x[i] ** 2
            if not small or odd:
                y[i] += x[i]

    return run


@program
def ternaries(make):
    x, y = make.input(6), make.output(6)

    @ds.kernel
    def run():
        for i in x:
            y[i] = x[i] ** 2 if x[i] > 0 else (x[i] if i < 3 else -2.0 * x[i])

    return run


@program
def selected_values(make):
    x, w, y = make.input(6), make.input(6, entry=(2,)), make.output(6, entry=(2,))

    @ds.kernel
    def run():
        for i in x:
            scale = ds.select(x[i] > 0, x[i], x[i] ** 2)
            y[i] = ds.select(i % 2 == 0, scale * w[i], w[i] * w[i])

    return run


@program
def continue_in_a_parallel_loop(make):
    x, y = make.input(8), make.output(8)

    @ds.kernel
    def run():
        for i in x:
            if x[i] < 0:
                continue
            y[i] = ds.exp(x[i])

    return run


@program
def continue_in_an_inner_loop(make):
    x, y = make.input(3, 5), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            s = 1.0
            for j in range(5):
                if x[i, j] < 0:
                    continue
                s *= 1.0 + x[i, j]
            y[i] = s

    return run


@program
def break_in_an_inner_loop(make):
    x, y = make.input(3, 6, low=0.2, high=0.9), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            s = 0.0
            for j in range(6):
                s += x[i, j] ** 2
                if s > 0.7:
                    break
            y[i] = s

    return run


@program
def break_out_of_the_outermost_loop(make):
    x, y = make.input(6, low=0.3, high=0.8), make.output(6)

    @ds.kernel
    def run():
        s = 0.0
        for i in range(6):
            s += x[i]
            y[i] = s * s
            if s > 1.4:
                break

    return run


@program
def while_over_a_counter(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            k = 0
            p = 1.0
            while k < i + 1:
                p *= x[i]
                k += 1
            y[i] = p

    return run


@program
def while_over_the_data(make):
    x, y = make.input(4, low=1.2, high=1.9), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            p = x[i]
            while p < 30.0:
                p *= p
            y[i] = p

    return run


@program
def while_true_with_a_break(make):
    x, y = make.input(4, low=0.5, high=3.0), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            r = 1.0
            k = 0
            while True:
                r = 0.5 * (r + x[i] / r)
                k += 1
                if k == 5:
                    break
            y[i] = r

    return run


@program
def while_with_a_continue(make):
    x, y = make.input(3, 6), make.output(3)

    @ds.kernel
    def run():
        for i in range(3):
            s = 0.0
            j = -1
            while j < 5:
                j += 1
                if x[i, j] < 0:
                    continue
                s += x[i, j] ** 2
            y[i] = s

    return run


@program
def while_around_a_loop(make):
    x, y = make.input(3), make.output(3)

    @ds.kernel
    def run():
        for i in x:
            p = x[i]
            rounds = 0
            while rounds < 2:
                for _ in range(3):
                    p = ds.sin(p) + 0.1 * x[i]
                rounds += 1
            y[i] = p

    return run


@program
def return_from_the_middle_of_a_kernel(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def fill(stop: ds.i32):
        y[0] = x[0] ** 2
        if stop > 0:
            return
        y[1] = x[1] ** 3

    def run():
        fill(1)
        fill(0)

    return run


@program
def return_out_of_a_loop(make):
    x, y = make.input(5, low=0.2, high=0.9), make.output(5)

    @ds.kernel
    def run():
        for i in range(5):
            y[i] = x[i] ** 2
            if i == 3:
                return

    return run


@program
def func_with_several_returns(make):
    x, y = make.input(8), make.output(8)

    @ds.func
    def huber(r):
        if ds.abs(r) < 0.6:
            return 0.5 * r * r
        if r < 0:
            return -0.6 * (r + 0.3)
        return 0.6 * (r - 0.3)

    @ds.kernel
    def run():
        for i in x:
            y[i] = huber(x[i])

    return run


@program
def unrolled_loops_and_branches(make):
    x, y, dim = make.input(4, entry=(3,)), make.output(4), 3

    @ds.kernel
    def run():
        for i in x:
            for k in ds.static(range(dim)):
                if ds.static(k > 0):
                    y[i] += x[i][k] * x[i][k - 1]
                else:
                    y[i] += x[i][k]

    return run
