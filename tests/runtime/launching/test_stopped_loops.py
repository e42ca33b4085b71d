"""Loops that poll for interrupts: their results, and the loops that do not poll."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from tests.stopping import ctrl_c

MANY = 10**12
LONG = 600_000  # trips: several blocks of a small loop


@pytest.fixture(autouse=True, params=[1, 2])
def _doubles(request):
    ti.init(default_fp=ti.f64, default_ip=ti.i32, cpu_max_num_threads=request.param)


def numbers(values, t=ti.f64, **options):
    f = ti.field(t, shape=len(values), **options)
    f.from_numpy(np.array(values, t.numpy))
    return f


def rows(lengths):
    """Where the rows of a sparse matrix begin, its columns and elements, and its rows' sums times `x`."""
    start = np.concatenate([[0], np.cumsum(lengths)])
    rng = np.random.default_rng(1)
    columns, a, x = rng.integers(0, 9, start[-1]), rng.random(start[-1]), rng.random(9)
    products = np.concatenate([[0], np.cumsum(a * x[columns])])
    return start, columns, a, x, products[start[1:]] - products[start[:-1]]


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_rows_and_their_gradients_are_whole_however_long_they_are():
    begins, columns, elements, xs, expected = rows([0, 3, LONG, 1, 0, 70_000, 7])
    start, col = numbers(begins, ti.i32), numbers(columns, ti.i32)
    a, x = numbers(elements, needs_grad=True), numbers(xs, needs_grad=True)
    y, loss = ti.field(ti.f64, shape=7, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def product():
        for i in y:
            s = 0.0
            for k in range(start[i], start[i + 1]):
                s += a[k] * x[col[k]]
            y[i] = s

    @ti.kernel
    def total():
        for i in y:
            loss[None] += (i + 1) * y[i]

    with ti.Tape(loss):
        product()
        total()
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-9)
    weights = np.repeat(np.arange(1, 8), np.diff(begins))
    np.testing.assert_allclose(a.grad.to_numpy(), weights * xs[columns], rtol=1e-12)
    np.testing.assert_allclose(x.grad.to_numpy(), np.bincount(columns, weights * elements, 9), rtol=1e-9)


@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_inner_loops_go_through_all_their_trips_in_order(step):
    ends = [(5, 5), (0, 7), (7, 0), (0, LONG), (LONG, 0), (-3, 400_000), (9, 3)]
    first, last = (numbers(side, ti.i32) for side in zip(*ends, strict=True))
    y, n = ti.field(ti.i64, shape=7), ti.field(ti.i32, shape=7)

    @ti.kernel
    def mix():
        for i in y:
            a, count = ti.i64(1), 0
            for k in range(first[i], last[i], step):
                a = (a * 5 + k) % 1000003
                count += 1
            y[i] = a
            n[i] = count

    mix()
    for i, (begin, end) in enumerate(ends):
        a = 1
        for k in range(begin, end, step):
            a = (a * 5 + k) % 1000003
        assert (y[i], n[i]) == (a, len(range(begin, end, step)))


@pytest.mark.parametrize("where", [0, 5, 299_999, LONG + 5])
def test_a_break_leaves_at_its_trip(where):
    y = ti.field(ti.i32, shape=3)

    @ti.kernel
    def find(trips: ti.i32):
        for i in y:
            found = -1
            for k in range(i, trips):
                if k * 2 >= where * 2 + i:
                    found = k
                    break
            y[i] = found

    find(LONG)
    assert y.to_numpy().tolist() == [
        next((k for k in range(i, LONG) if 2 * k >= 2 * where + i), -1) for i in range(3)
    ]


@pytest.mark.parametrize("limit", [0, 1, 7, 8, 9, 17])
def test_trips_of_a_while_that_are_written_out_end_anywhere(limit):
    y, n = ti.field(ti.f64, shape=3), ti.field(ti.i32, shape=3)

    @ti.kernel
    def halve(least: float):
        for i in y:
            a, trips = 1.0, 0
            while a > least:
                a *= 0.5
                trips += 1
            y[i] = a
            n[i] = trips

    halve(2.0**-limit)
    assert (y.to_numpy() == 2.0**-limit).all()
    assert (n.to_numpy() == limit).all()


@pytest.mark.parametrize("to", [-3, 0, 1, 12, LONG])
def test_a_counter_to_a_variable_counts_to_it(to):
    ends, y = numbers([to, 3, to + 1], ti.i32), ti.field(ti.i64, shape=3)

    @ti.kernel
    def add():
        for i in y:
            n, s = 0, ti.i64(0)
            while n < ends[i]:
                s += n
                n += 1
            y[i] = s

    add()
    assert y.to_numpy().tolist() == [sum(range(end)) for end in (to, 3, to + 1)]


def short_rows():
    start, z = numbers([0, 2, 3, 3], ti.i32), ti.field(ti.f64, shape=3)

    @ti.kernel
    def short_rows(trips: ti.i64):
        for _ in range(1):
            for t in range(trips):
                i = ti.cast(t % 3, ti.i32)
                for k in range(start[i], start[i + 1]):
                    z[k] = i + k

    return short_rows, lambda: z.to_numpy().tolist() == [0, 1, 3], 6


def by_twos():
    n, z = numbers([2], ti.i32), ti.field(ti.f64, shape=())

    @ti.kernel
    def by_twos(trips: ti.i64):
        for _ in range(1):
            for t in range(trips, 0, -2):
                for k in range(n[0]):
                    z[None] = t + k

    return by_twos, lambda: z[None] == 3, 6


def three_deep():
    n, z = numbers([2], ti.i32), ti.field(ti.f64, shape=())

    @ti.kernel
    def three_deep(trips: ti.i64):
        for _ in range(1):
            for t in range(trips):
                for j in range(n[0]):
                    for k in range(n[0]):
                        z[None] = t + j * k

    return three_deep, lambda: z[None] == 4, 4


def short_whiles():
    z = ti.field(ti.f64, shape=4)

    @ti.kernel
    def short_whiles(trips: ti.i64):
        for _ in range(1):
            for t in range(trips):
                a = 1.0
                while a > 0.2:
                    a *= 0.5
                z[t % 4] = a

    return short_whiles, lambda: z.to_numpy().tolist() == [0.125] * 4, 4


def a_long_counter():
    z = ti.field(ti.i64, shape=2)

    @ti.kernel
    def a_long_counter(trips: ti.i64):
        for i in z:
            n, a = ti.i64(0), ti.i64(0)
            while n < trips:
                a = (a * 5 + n) % 1000003
                n += 1
            z[i] = a

    return a_long_counter, lambda: z.to_numpy().tolist() == [7, 7], 3


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
@pytest.mark.parametrize("kind", [short_rows, by_twos, three_deep, short_whiles, a_long_counter])
def test_many_short_loops_stop(kind):
    launch, done, few = kind()
    with pytest.raises(KeyboardInterrupt, match=f"`{kind.__name__}` was stopped before its end"), ctrl_c():
        launch(MANY)
    launch(few)
    assert done()


@pytest.mark.parametrize(("most", "asks"), [(50, False), (10**9, True)])
def test_a_limit_beside_another_condition_keeps_a_loop_short(most, asks):
    x = numbers([4.0, 9.0])

    @ti.kernel
    def roots():
        for i in x:
            a, r, n = x[i], x[i], 0
            while ti.abs(r * r - a) > 1e-10 and n < most:
                r = 0.5 * (r + a / r)
                n += 1
            x[i] = r

    roots()
    np.testing.assert_allclose(x.to_numpy(), [2, 3], rtol=1e-9)
    assert ("load volatile i64" in roots.primal.llvm) == asks
