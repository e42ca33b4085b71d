"""Several iterations that access one element: sums, extremes, reductions."""

import dsim as ds
from tests.corpus.program import program


@program
def atomic_add_and_sub(make):
    x, y = make.input(6), make.output(2)

    @ds.kernel
    def run():
        for i in x:
            ds.atomic_add(y[0], x[i] ** 2)
            ds.atomic_sub(y[i % 2], x[i])
            y[1] -= 0.5 * x[i] ** 3

    return run


@program
def atomic_maximum(make):
    x, y = make.input(2, 5), make.output(2)

    @ds.kernel
    def run():
        for i in range(2):
            y[i] = -10.0
        for i, j in x:
            ds.atomic_max(y[i], x[i, j] * x[i, j] - x[i, j])

    return run


@program
def atomic_minimum(make):
    x, y = make.input(6), make.output()

    @ds.kernel
    def start():
        y[None] = 100.0

    @ds.kernel
    def least():
        for i in x:
            ds.atomic_min(y[None], x[i] ** 3 + x[i])

    def run():
        start()
        least()

    return run


@program
def extreme_that_stays_with_the_start(make):
    x, bound, y = make.input(4), make.input(low=3.0, high=4.0), make.output()

    @ds.kernel
    def run():
        y[None] = bound[None] ** 2
        for i in x:
            ds.atomic_max(y[None], x[i])

    return run


@program
def running_maximum_in_a_sum(make):
    """The sum needs no value of the maximum; the adjoint of each trip belongs to the maximum until then."""
    x, most, y = make.input(6), make.input(low=-1.0, high=-0.5), make.output(2)

    @ds.kernel
    def run():
        for i in range(6):
            ds.atomic_max(most[None], x[i])
            y[0] += (1.0 + i) * most[None]
        y[1] = most[None]

    return run


@program
def minimum_before_each_update(make):
    x, least, y = make.input(6), make.input(low=1.5, high=2.0), make.output()

    @ds.kernel
    def run():
        for _ in range(1):
            i = 0
            while i < 6:
                y[None] += (1.0 + i) * ds.atomic_min(least[None], x[i] + 0.5)
                i += 1

    return run


@program
def sum_of_a_plane(make):
    x, y = make.input(4, 5), make.output()

    @ds.kernel
    def run():
        for i, j in x:
            y[None] += ds.sin(x[i, j]) * (i - j)

    return run


@program
def sum_of_vectors(make):
    x, y = make.input(5, entry=(3,)), make.output(entry=(3,))

    @ds.kernel
    def run():
        for i in x:
            y[None] += x[i] * x[i].norm_sqr()

    return run


@program
def sum_of_matrices(make):
    x, y = make.input(4, entry=(2,)), make.output(entry=(2, 2))

    @ds.kernel
    def run():
        for i in x:
            y[None] += x[i].outer_product(x[i])

    return run


@program
def mean_and_variance(make):
    x, mean, y = make.input(6), make.state(), make.output()

    @ds.kernel
    def first():
        for i in x:
            mean[None] += x[i] / 6.0

    @ds.kernel
    def second():
        for i in x:
            y[None] += (x[i] - mean[None]) ** 2 / 6.0

    def run():
        first()
        second()

    return run


@program
def softmax(make):
    x, total, y = make.input(5), make.state(), make.output(5)

    @ds.kernel
    def run():
        for i in x:
            total[None] += ds.exp(x[i])
        for i in x:
            y[i] = ds.exp(x[i]) / total[None]

    return run


@program
def histogram_with_soft_bins(make):
    x, y = make.input(6, low=0.1, high=2.9), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            cell = int(x[i])
            f = x[i] - cell
            y[cell] += (1.0 - f) ** 2
            y[cell + 1] += f * f

    return run


@program
def bins_by_their_fullest(make):
    x, y, kind = make.input(6), make.output(2), make.integers([0, 1, 0, 0, 1, 1])

    @ds.kernel
    def run():
        for i in x:
            ds.atomic_max(y[kind[i]], x[i] ** 2)

    return run
