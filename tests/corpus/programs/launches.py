"""Funcs, parameters, and several launches that pass values through fields."""

import dsim as ds
from tests.corpus.program import program


@program
def funcs_that_call_funcs(make):
    x, y = make.input(5), make.output(5)

    @ds.func
    def square(v):
        return v * v

    @ds.func
    def blend(a, b, t=0.25):
        return square(a) * t + square(b) * (1.0 - t)

    @ds.kernel
    def run():
        for i in x:
            y[i] = blend(x[i], square(x[i]) + 1.0) + blend(x[i], 1.0, t=0.5)

    return run


@program
def func_with_several_results(make):
    x, y = make.input(4, entry=(2,)), make.output(4)

    @ds.func
    def length_and_direction(v):
        length = v.norm(1e-2)
        return length, v / length

    @ds.kernel
    def run():
        for i in x:
            length, direction = length_and_direction(x[i])
            y[i] = length * direction[0] + direction.y

    return run


@program
def func_that_reads_and_writes_fields(make):
    x, y = make.input(5), make.output(5)

    @ds.func
    def add_to(i, value):
        y[i] += value * x[i]

    @ds.kernel
    def run():
        for i in range(4):
            add_to(i, 2.0)
            add_to(i + 1, x[i])

    return run


@program
def func_with_field_arguments(make):
    x, w, y = make.input(4), make.input(4), make.output(4)

    @ds.func
    def difference(f: ds.template(), i):
        return f[i] - f[3 - i]

    @ds.kernel
    def run():
        for i in y:
            y[i] = difference(x, i) * difference(w, i) + w[i]

    return run


@program
def funcs_that_change_what_they_are_given(make):
    x, y = make.input(4), make.output(4, entry=(2,))

    @ds.func
    def push(v: ds.template(), a, dt):
        v += dt * a
        v[0] *= a

    @ds.func
    def add_twice(total: ds.template(), a):
        for _ in range(2):
            total += a * total

    @ds.kernel
    def run():
        for i in x:
            v, s = ds.Vector([x[i], 1.0]), x[i] * x[i]
            for _ in range(3):
                push(v, x[i], 0.5)
                add_twice(s, x[i])
                add_twice(v[1], s)
            push(y[i], x[i], 0.25)
            y[i] += v
            y[i][1] += s

    return run


@program
def kernel_with_field_parameters(make):
    x, w, y = make.input(4), make.input(4), make.output(4)

    @ds.kernel
    def multiply(a: ds.template(), b: ds.template(), c: ds.template()):
        for i in a:
            c[i] += a[i] * b[i]

    def run():
        multiply(x, w, y)
        multiply(x, x, y)

    return run


@program
def parameters(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def weigh(scale: ds.f32, offset: float, first: ds.i32):
        for i in range(first, 4):
            y[i] += scale * x[i] ** 2 + offset * x[i]

    def run():
        weigh(0.5, 2.0, 0)
        weigh(-1.5, 0.25, 2)

    return run


@program
def same_kernel_twice(make):
    x, y = make.input(4), make.output()

    @ds.kernel
    def gather_up():
        for i in x:
            y[None] += x[i] ** 2

    def run():
        gather_up()
        gather_up()

    return run


@program
def launches_through_a_field(make):
    x, middle, y = make.input(4), make.state(4), make.output(4)

    @ds.kernel
    def first():
        for i in x:
            middle[i] = ds.sin(x[i])

    @ds.kernel
    def second():
        for i in x:
            y[i] = middle[i] * middle[(i + 1) % 4] + x[i]

    def run():
        first()
        second()

    return run


@program
def launches_through_a_field_without_gradient(make):
    x, middle, y = make.input(4), make.state(4, needs_grad=False), make.output(4)

    @ds.kernel
    def first():
        for i in x:
            middle[i] = x[i] ** 2

    @ds.kernel
    def second():
        for i in x:
            y[i] = middle[i] * x[3 - i]

    def run():
        first()
        second()

    return run


@program
def time_given_by_python(make):
    x, force, y = make.state(8), make.input(7), make.output()

    @ds.kernel
    def step(t: ds.i32, damping: ds.f64):
        x[t + 1] = damping * x[t] + ds.sin(force[t]) * 0.5

    @ds.kernel
    def end():
        y[None] = x[7] ** 2

    def run():
        for t in range(7):
            step(t, 0.75)
        end()

    return run


@program
def field_of_time_and_place(make):
    start, u, y = make.input(6), make.state(5, 6), make.output(6)

    @ds.kernel
    def begin():
        for i in start:
            u[0, i] = start[i]

    @ds.kernel
    def step(t: ds.i32):
        for i in range(6):
            u[t, i] = u[t - 1, i] + 0.2 * (u[t - 1, (i + 1) % 6] - u[t - 1, i]) * u[t - 1, i]

    @ds.kernel
    def end():
        for i in y:
            y[i] = u[4, i]

    def run():
        begin()
        for t in range(1, 5):
            step(t)
        end()

    return run


@program
def python_decides_what_runs(make):
    x, y = make.input(3), make.output(3)

    @ds.kernel
    def double(i: ds.i32):
        y[i] += 2.0 * x[i]

    @ds.kernel
    def square(i: ds.i32):
        y[i] += x[i] ** 2

    def run():
        for i in range(3):
            (double if i == 1 else square)(i)

    return run


@program
def two_fields_ping_and_pong(make):
    a, b, c, y = make.input(4), make.state(4), make.state(4), make.output(4)

    @ds.kernel
    def smooth(source: ds.template(), target: ds.template()):
        for i in source:
            target[i] = 0.5 * source[i] * source[(i + 1) % 4]

    def run():
        smooth(a, b)
        smooth(b, c)
        smooth(c, y)

    return run


@program
def written_in_one_launch_and_added_to_in_the_next(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def begin():
        for i in x:
            y[i] = x[i] ** 2

    @ds.kernel
    def add():
        for i in x:
            y[3 - i] += ds.sin(x[i])

    def run():
        begin()
        add()

    return run


@program
def linear_in_place(make):
    """Nothing that a gradient needs is overwritten, so nothing forbids it."""
    x, s, y = make.input(4), make.state(4), make.output(4)

    @ds.kernel
    def begin():
        for i in x:
            s[i] = x[i]

    @ds.kernel
    def halve():
        for i in s:
            s[i] = 0.5 * s[i]

    @ds.kernel
    def end():
        for i in s:
            y[i] = 3.0 * s[i]

    def run():
        begin()
        halve()
        halve()
        end()

    return run
