"""State that changes in place, where no derivative needs the overwritten values."""

import dsim as ds
from tests.corpus.program import program


@program
def doubled_in_place_then_squared(make):
    x, s, y = make.input(4), make.state(4), make.output(4)

    @ds.kernel
    def begin():
        for i in x:
            s[i] = x[i]

    @ds.kernel
    def double():
        for i in s:
            s[i] = 2.0 * s[i]

    @ds.kernel
    def square():
        for i in s:
            y[i] = s[i] ** 2

    def run():
        begin()
        double()
        double()
        square()

    return run


@program
def swapped_in_place(make):
    x, w, a, b, y = make.input(3), make.input(3), make.state(3), make.state(3), make.output(3)

    @ds.kernel
    def begin():
        for i in x:
            a[i], b[i] = x[i], w[i]

    @ds.kernel
    def swap():
        for i in a:
            a[i], b[i] = b[i], a[i]

    @ds.kernel
    def end():
        for i in y:
            y[i] = a[i] ** 2 * b[i]

    def run():
        begin()
        swap()
        end()

    return run


@program
def shifted_in_place_one_by_one(make):
    x, s, y = make.input(5), make.state(5), make.output(5)

    @ds.kernel
    def run():
        for i in x:
            s[i] = x[i]
        for i in range(4):
            s[i + 1] = 0.5 * s[i] + s[i + 1]
        for i in s:
            y[i] = s[i] ** 2

    return run


@program
def last_store_wins(make):
    x, s, y = make.input(6), make.state(2), make.output(2)

    @ds.kernel
    def run():
        for i in range(6):
            s[i % 2] = x[i] ** 2
        for i in s:
            y[i] = s[i] ** 2

    return run


@program
def stored_and_used_at_once(make):
    x, s, y = make.input(4), make.state(), make.output()

    @ds.kernel
    def run():
        for i in range(4):
            s[None] = x[i] ** 2
            y[None] += s[None] * (i + 1)

    return run


@program
def component_made_of_the_others(make):
    x, s, y = make.input(3, entry=(3,)), make.state(3, entry=(3,)), make.output(3)

    @ds.kernel
    def run():
        for i in x:
            s[i] = x[i]
        for i in s:
            s[i][0] = s[i][1] * s[i][2]
        for i in s:
            y[i] = s[i].sum()

    return run


@program
def heat_in_a_loop_over_time(make):
    start, u, y = make.input(5), make.state(4, 5), make.output(5)

    @ds.kernel
    def run():
        for i in range(5):
            u[0, i] = start[i]
        for t in range(3):
            for i in range(1, 4):
                u[t + 1, i] = u[t, i] ** 2 + 0.1 * (u[t, i - 1] - u[t, i + 1])
        for i in range(5):
            y[i] = u[3, i]

    return run


@program
def cleared_before_it_is_used_again(make):
    x, work, y = make.input(4), make.state(4), make.output(2)

    @ds.kernel
    def fill(k: ds.i32):
        for i in work:
            work[i] = x[i] * (k + 1)

    @ds.kernel
    def collect(k: ds.i32):
        for i in work:
            y[k] += work[i] * (i + 1)

    def run():
        for k in range(2):
            fill(k)
            collect(k)

    return run


@program
def filled_by_python(make):
    x, w, y = make.input(3), make.state(3), make.output(3)

    @ds.kernel
    def multiply():
        for i in x:
            y[i] += w[i] * x[i] ** 2

    def run():
        w.fill(2.0)
        w[1] = -1.0
        multiply()

    return run


@program
def copied_by_python(make):
    x, w, y = make.input(3), make.state(3), make.output(3)

    @ds.kernel
    def multiply():
        for i in x:
            y[i] = w[i] * x[2 - i]

    def run():
        w.copy_from(x)
        multiply()

    return run
