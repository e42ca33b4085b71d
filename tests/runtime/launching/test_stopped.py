"""Ctrl-C inside a launch: it stops, its partial effects are reported, and the next launch works."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

import dsim as ti
from dsim.runtime.state import settings
from tests.stopping import ctrl_c, press, watched

pytestmark = pytest.mark.slow

MANY = 10**12


@pytest.fixture(autouse=True)
def _doubles():
    ti.init(default_fp=ti.f64, default_ip=ti.i32)


def vector(n=1000, **options):
    return ti.field(ti.f64, shape=n, **options)


def endless():
    z = ti.field(ti.i32, shape=4)

    @ti.kernel
    def endless(limit: ti.i64):
        for i in z:
            n = 1
            while n > 0 and n < limit:
                n = 1 + n % 5
            z[i] = n

    return endless, lambda: z.to_numpy().tolist() == [2] * 4, 2


def endless_at_the_top():
    z = ti.field(ti.i32, shape=())

    @ti.kernel
    def endless_at_the_top(limit: ti.i64):
        z[None] = 1
        while z[None] < limit:
            z[None] = 1 + z[None] % 5

    return endless_at_the_top, lambda: z[None] == 3, 3


def of_floats():
    z = ti.field(ti.f64, shape=())

    @ti.kernel
    def of_floats(limit: ti.i64):
        a = 1.0
        while a * limit >= limit:
            a = 0.5 * (a + 1.0)
            if limit == 7:
                a = 0.0
        z[None] = a

    return of_floats, lambda: z[None] == 0, 7


def with_a_break():
    z = ti.field(ti.i64, shape=())

    @ti.kernel
    def with_a_break(trips: ti.i64):
        for _ in range(1):
            n = ti.i64(0)
            for i in range(trips):
                n = (n * 5 + i) % 1000003
                if n < 0:
                    break
            z[None] = n

    return with_a_break, lambda: z[None] == 7, 3


def recurrence():
    z = ti.field(ti.f64, shape=())

    @ti.kernel
    def recurrence(trips: ti.i64):
        for _ in range(1):
            a = 0.0
            for i in range(trips):
                a = 0.5 * a + i
            z[None] = a

    return recurrence, lambda: z[None] == 1, 2


def nested():
    z = ti.field(ti.i64, shape=())

    @ti.kernel
    def nested(trips: ti.i64):
        for i in range(trips):
            for j in range(trips):
                z[None] = i + j

    return nested, lambda: z[None] == 4, 3


def downwards():
    x = vector(8)

    @ti.kernel
    def downwards(trips: ti.i64):
        for _ in range(1):
            for i in range(trips, 0, -3):
                x[i % 8] = i

    return downwards, lambda: [x[i] for i in (4, 1, 6, 3)] == [12, 9, 6, 3], 12


def in_parallel():
    x = vector()

    @ti.kernel
    def in_parallel(trips: ti.i64):
        ti.loop_config(parallel=True)
        for i in range(trips):
            x[i % 1000] = i

    return in_parallel, lambda: x.to_numpy().tolist() == [*range(1000)], 1000


def a_sum():
    total = []

    @ti.kernel
    def a_sum(trips: ti.i64) -> float:
        s = 0.0
        for i in range(trips):
            s += 0.5 * i
        return s

    def run(trips):
        total.append(a_sum(trips))

    return run, lambda: total == [249750], 1000


def into_a_field():
    x, total = vector(), ti.field(ti.f64, shape=())
    x.fill(1.0)

    @ti.kernel
    def into_a_field(trips: ti.i64):
        for i in range(trips):
            total[None] += x[i % 1000]

    def check():
        return total[None] >= 5000  # with what was added before it was stopped

    return into_a_field, check, 5000


KINDS = [
    endless, endless_at_the_top, of_floats, with_a_break, recurrence, nested, downwards, in_parallel, a_sum,
    into_a_field,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_launch_stops_and_the_next_one_works(kind, threads):
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    launch, done, few = kind()
    with pytest.raises(KeyboardInterrupt, match=f"`{kind.__name__}` was stopped before its end"), ctrl_c():
        launch(MANY)
    launch(few)
    assert done()


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_loop_that_never_ends_is_not_left_out(backend):
    settings.change(replace(settings.current(), backend=backend))
    z = ti.field(ti.i32, shape=())

    @ti.func
    def spin(n):
        while n > 0:
            n = 1 + n % 5
        return 0

    @ti.kernel
    def nobody_reads_it():
        n = 1
        while n > 0:
            n = 1 + n % 5
        z[None] = 7

    @ti.kernel
    def nobody_reads_the_func():
        spin(1)
        z[None] = 7

    for kernel in (nobody_reads_it, nobody_reads_the_func):
        with pytest.raises(KeyboardInterrupt), ctrl_c() if backend == "cpu" else soon():
            kernel()
        assert z[None] == 0


@contextmanager
def soon():
    """Ctrl-C after a while."""
    timer = threading.Timer(1.0, press)
    with watched():
        timer.start()
        yield


@pytest.mark.parametrize(("to", "asks"), [(10, False), (10**9, True)])
def test_a_short_counter_does_not_ask(to, asks):
    x = vector(8)

    @ti.kernel
    def roots():
        for i in x:
            a, n = 1.0, 0
            while n < to:
                a = 0.5 * (a + 2.0 / a)
                n += 1
            x[i] = a

    assert ("load volatile" in roots.primal.llvm) == asks
