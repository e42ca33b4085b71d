"""Arrays as arguments: ndarrays of every entry type, NumPy arrays, one array under several names."""

import numpy as np

import dsim as ds
from tests.corpus.program import program


def array(make, role, *shape, entry=()):
    """An ndarray that is one of the program's inputs, outputs or states."""
    if not entry:
        made = ds.ndarray(make.real, shape, needs_grad=True)
    else:
        kind = ds.Vector if len(entry) == 1 else ds.Matrix
        made = kind.ndarray(*entry, make.real, shape, needs_grad=True)
    return make.placed(made, role=role)


@program
def arguments_in_turn(make):
    x, y = array(make, "input", 5), array(make, "output", 5)
    a, b = array(make, "state", 5), array(make, "state", 5)

    @ds.kernel
    def step(old: ds.types.ndarray(), new: ds.types.ndarray(ndim=1), k: float):
        for i in old:
            new[i] = old[i] + k * ds.sin(old[i]) * old[(i + 1) % old.shape[0]]

    def run():
        step(x, a, 0.5)
        for _ in range(2):
            step(a, b, 0.25)
            step(b, a, -0.5)
        step(a, y, 1.0)

    return run


@program
def arguments_changed_in_place(make):
    x, y = array(make, "input", 4), array(make, "output", 4)
    state = array(make, "state", 4)

    @ds.kernel
    def update(a: ds.types.ndarray(), b: ds.types.ndarray()):
        for i in a:
            a[i] = a[i] * b[i] + ds.cos(a[i])

    @ds.kernel
    def gather(a: ds.types.ndarray(), b: ds.types.ndarray()):
        for i in a:
            b[i] += a[i] ** 2

    def run():
        state.copy_from(x)
        update(state, x)
        update(state, state)
        gather(state, y)
        state[1] = 0.5
        update(state, x)
        gather(state, y)

    return run


@program
def planes_of_vectors_and_matrices(make):
    m, v = array(make, "input", 2, 3, entry=(2, 2)), array(make, "input", 2, 3, entry=(2,))
    y = array(make, "output", 2, 3, entry=(2,))

    @ds.func
    def turned(m: ds.types.ndarray(ndim=2), v: ds.types.ndarray(element_dim=1), index):
        return m[index] @ v[index] + v[index].norm_sqr()

    @ds.kernel
    def turn(m: ds.types.ndarray(), v: ds.types.ndarray(ndim=2), y: ds.types.ndarray()):
        for index in ds.grouped(v):
            y[index] = turned(m, v, index) * m[index][0, 1]

    return lambda: turn(m, v, y)


@program
def weights_from_numpy(make):
    x, y = array(make, "input", 4), array(make, "output")
    weights = np.array([0.5, -1.0, 2.0, 0.25])
    order = np.array([3, 0, 0, 1], np.int64)

    @ds.kernel
    def weigh(
        x: ds.types.ndarray(), w: ds.types.ndarray(ds.f64, 1), at: ds.types.ndarray(), y: ds.types.ndarray()
    ):
        for i in range(w.shape[0]):
            y[None] += ds.cast(w[i], make.real) * x[at[i]] ** 3

    def run():
        w = weights.copy()
        weigh(x, w, order, y)
        w *= 2.0
        weigh(x, w[::-1], order, y)
        weigh(x, weights[1:3], order[2:], y)

    return run


@program
def fields_among_the_arguments(make):
    x, y = make.input(4), make.output(4)
    extra = array(make, "input", 4)

    @ds.kernel
    def mix(a: ds.types.ndarray(), b: ds.types.ndarray(), out: ds.types.ndarray()):
        for i in a:
            out[i] += a[i] * b[i] * x[i]

    def run():
        mix(extra, x, y)
        mix(extra, extra, y)
        mix(x, x, y)

    return run


@program
def an_array_that_a_loop_carries(make):
    x, y = array(make, "input", 3), array(make, "output", 3)
    line = array(make, "state", 6)

    @ds.kernel
    def march(x: ds.types.ndarray(), line: ds.types.ndarray(), y: ds.types.ndarray(), n: int):
        for i in x:
            v = x[i]
            for t in range(n):
                v = v - 0.1 * v * v
                line[2 * i + t % 2] += v
            y[i] = line[2 * i] * line[2 * i + 1]

    return lambda: march(x, line, y, 4)
