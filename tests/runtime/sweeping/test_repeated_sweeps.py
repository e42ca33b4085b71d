"""Tapes that repeat an earlier one: the table of adjoints computes what the adjoints one by one compute."""

import gc
import math
import threading
import weakref

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.sweeping import sweep
from tests.runtime.graphs.programs import PROGRAMS, in_time, put


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64, deterministic=True)


def gradients(program, **options):
    with ti.ad.Tape(program.loss, **options):
        program.run()
    return [f.grad.to_numpy().tobytes() for f in (*program.wrt, program.loss)]


def chain(n=12):
    """A product of launches with an argument: the loss is x times all of them."""
    x = ti.field(ti.f64, shape=n + 1, name="x", needs_grad=True)
    y = ti.field(ti.f64, shape=(), name="y", needs_grad=True)

    @ti.kernel
    def times(t: ti.i32, k: ti.f64):
        x[t + 1] = k * x[t]

    @ti.kernel
    def end():
        y[None] = x[n]

    def run(factors):
        for t, k in enumerate(factors):
            times(t, k)
        end()

    return x, y, run


@pytest.mark.parametrize("options", [{}, {"clear_gradients": False}])
@pytest.mark.parametrize("make", PROGRAMS)
def test_gradients_are_those_of_the_adjoints_one_by_one(make, options, monkeypatch):
    program = make()
    found = []
    for table in (sweep.repeated, lambda *_: None):
        monkeypatch.setattr(sweep, "repeated", table)
        ti.ad.clear_all_gradients()
        put(program, 0)
        gradients(program, **options)
        found.append([])
        for seed in (1, 2, 3):
            put(program, seed)
            found[-1].append(gradients(program, **options))
    assert found[0] == found[1]


def test_the_second_tape_runs_a_table(tables):
    program = in_time()
    put(program, 0)
    gradients(program)
    assert not tables
    gradients(program)
    gradients(program)
    assert tables == [17, 17]


def test_adjoints_that_do_not_reach_the_loss_are_left_out(tables):
    x, y, run = chain()
    z = ti.field(ti.f64, shape=(), name="z", needs_grad=True)

    @ti.kernel
    def beside():
        z[None] += x[3]

    def both():
        run([1.0] * 12)
        beside()
        beside()

    x[0] = 2.0
    for _ in range(3):
        with ti.ad.Tape(y):
            both()
    assert x.grad[0] == 1.0
    assert tables == [13, 13]


def test_other_arguments_are_seen():
    x, y, run = chain()
    x[0] = 1.0
    for last in (2.0, 2.0, 2.0, 3.0, 2.0):
        with ti.ad.Tape(y):
            run([1.0] * 11 + [last])
        assert x.grad[0] == last


def test_other_arguments_beside_known_launches_are_seen():
    """Tapes share the calls of a graph; those around it are compared."""
    x, y, run = chain()
    x[0] = 1.0
    before, after = ti.graph(lambda: run([2.0] + [1.0] * 11)), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def scale(k: ti.f64):
        after[None] += k * y[None]

    for factor in (2.0, 2.0, 2.0, 3.0, 0.0, -0.0, 2.0):
        with ti.ad.Tape(after):
            before()
            scale(factor)
            scale(1.0)
        assert x.grad[0] == 2.0 * (factor + 1.0)


def test_zeros_of_either_sign_are_told_apart():
    x = ti.field(ti.f64, shape=(), name="x", needs_grad=True)
    y = ti.field(ti.f64, shape=(), name="y", needs_grad=True)

    @ti.kernel
    def divide(k: ti.f64):
        y[None] += x[None] / k

    x[None] = 1.0
    for last in (0.0, 0.0, -0.0, -0.0, 0.0):
        with ti.ad.Tape(y):
            for k in [1.0] * 11 + [last]:
                divide(k)
        assert x.grad[None] == math.copysign(math.inf, last)


def test_nan_is_never_the_same():
    x, y, run = chain()
    x[0] = 1.0
    for _ in range(3):
        with ti.ad.Tape(y):
            run([1.0] * 11 + [float("nan")])
        assert math.isnan(x.grad[0])


def test_two_losses_of_one_program():
    x, y, run = chain()
    (other,) = (ti.field(ti.f64, shape=(), needs_grad=True),)

    @ti.kernel
    def twice():
        other[None] = 2.0 * x[12]

    def both():
        run([1.0] * 12)
        twice()

    x[0] = 1.0
    for loss, expected in [(y, 1.0), (other, 2.0)] * 3:
        with ti.ad.Tape(loss):
            both()
        assert x.grad[0] == expected


def test_programs_that_end_alike_do_not_mix():
    x, y, run = chain()
    x[0] = 1.0
    for factor in (2.0, 3.0, 2.0, 3.0, 5.0, 7.0, 2.0):
        with ti.ad.Tape(y):
            run([factor, *[1.0] * 11])
        assert x.grad[0] == factor


def test_a_kernel_that_was_defined_again_is_the_new_one():
    x = ti.field(ti.f64, shape=20, name="x", needs_grad=True)
    y = ti.field(ti.f64, shape=(), name="y", needs_grad=True)

    @ti.kernel
    def end():
        y[None] = x[19]

    def redefined(n):
        @ti.kernel
        def step(t: ti.i32):
            x[t + 1] = n * x[t]

        return step

    x[0] = 1.0
    for n in (1.0, 1.0, -1.0, -1.0):
        step = redefined(n)
        for _ in range(3):
            with ti.ad.Tape(y):
                for t in range(19):
                    step(t)
                end()
            assert x.grad[0] == n


def test_a_kernel_that_is_gone_is_not_held():
    def use():
        x, y, run = chain()
        x[0] = 1.0
        for _ in range(3):
            with ti.ad.Tape(y):
                run([1.0] * 12)
        return weakref.ref(x)

    ref = use()
    gc.collect()
    assert ref() is None


def test_observed_and_partial_sweeps_go_one_by_one(tables):
    program = in_time()
    put(program, 0)
    for _ in range(3):
        gradients(program, find_nan=True)
    assert not tables
    gradients(program)
    with ti.ad.Tape(program.loss) as tape:
        program.run()
    ran = len(tables)
    first = tape.gradient(program.wrt[1], after=3)
    assert len(tables) == ran
    assert np.isfinite(first).all()


def test_in_another_tape_its_own_sweep_repeats(tables):
    x, y, run = chain()
    x[0] = 3.0
    g = ti.field(ti.f64, shape=(), name="g", needs_grad=True)

    @ti.kernel
    def square():
        g[None] = x.grad[0] ** 2 * x[0]

    for _ in range(3):
        with ti.ad.Tape(g):
            with ti.ad.Tape(y):
                run([2.0, *[1.0] * 11])
            square()
        assert x.grad[0] == 4.0
    assert tables == [13, 13]  # the inner ones go one by one, for the outer one to record


def test_saved_values_go_one_by_one(tables):
    x, y = (ti.field(ti.f64, shape=(), name=name, needs_grad=True) for name in "xy")

    @ti.kernel
    def square():
        x[None] = x[None] * x[None]

    @ti.kernel
    def end():
        y[None] = x[None]

    for _ in range(3):
        x[None] = 1.0
        with ti.ad.Tape(y):
            for _ in range(9):
                square()
            end()
        assert x.grad[None] == 2.0**9
    assert not tables


def test_arrays_are_theirs_each_time(tables):
    y = ti.field(ti.f64, shape=(), name="y", needs_grad=True)
    k = ti.field(ti.f64, shape=(), name="k", needs_grad=True)

    @ti.kernel
    def add(a: ti.types.ndarray()):
        for i in a:
            y[None] += k[None] * a[i]

    for n in range(4):
        with ti.ad.Tape(y):
            for m in range(9):
                add(np.full(3, float(n * m)))
        assert k.grad[None] == 3 * n * 36
    assert not tables


def test_a_second_sweep_and_other_seeds(tables):
    x, y, run = chain()
    x[0] = 1.0
    for _ in range(2):
        with ti.ad.Tape(y) as tape:
            run([3.0, *[1.0] * 11])
    tape.backward(seed=10.0)
    assert x.grad[0] == 30.0
    assert len(tables) == 2


def test_two_threads():
    program = [chain() for _ in range(2)]
    found = [[], []]

    def work(n):
        x, y, run = program[n]
        for k in range(1, 30):
            with ti.ad.Tape(y):
                run([float(k // 3 + n), *[1.0] * 11])
            found[n].append(x.grad[0])

    for x, _, _ in program:
        x[0] = 1.0
    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[float(k // 3 + n) for k in range(1, 30)] for n in range(2)]


def test_operations_of_python_between_kernels(tables):
    x = ti.field(ti.f64, shape=3, name="x", needs_grad=True)
    A = ti.field(ti.f64, shape=(3, 3), name="A", needs_grad=True)
    z = ti.field(ti.f64, shape=3, name="z", needs_grad=True)
    y = ti.field(ti.f64, shape=(), name="y", needs_grad=True)

    @ti.kernel
    def add(k: ti.f64):
        for i in z:
            y[None] += k * z[i]

    A.from_numpy(np.diag([1.0, 2.0, 4.0]))
    for n in range(1, 5):
        x.from_numpy(np.full(3, float(n)))
        with ti.ad.Tape(y):
            ti.operations.solve(A, x, out=z)
            for k in range(9):
                add(float(k))
        assert np.allclose(x.grad.to_numpy(), [36.0, 18.0, 9.0])
        assert np.allclose(np.diag(A.grad.to_numpy()), -36.0 * n / np.array([1.0, 4.0, 16.0]))
    assert tables == [9, 9, 9]


def test_more_losses_than_are_remembered(tables):
    x, _, run = chain()
    x[0] = 1.0
    losses = [ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(6)]

    @ti.kernel
    def read():
        for k in ti.static(range(6)):
            losses[k][None] = (k + 1.0) * x[12]

    for _ in range(3):
        for k, loss in enumerate(losses):
            with ti.ad.Tape(loss):
                run([1.0] * 12)
                read()
            assert x.grad[0] == k + 1.0
    assert not tables


@pytest.mark.parametrize("last", [True, False])
def test_a_host_operation_among_many_launches(last):
    """Also as the last one, which remembers the others."""
    x, y = ti.field(ti.f64, shape=(), needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)
    z = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.ad.operation
    def square(a):
        return a**2

    @square.jvp
    def _(a, /, *, out, tangents):
        return 2 * a * tangents[0]

    @square.vjp
    def _(a, /, *, out, adjoint):
        return 2 * a * adjoint

    @ti.kernel
    def grow():
        x[None] = 1.1 * x[None]

    @ti.kernel
    def end():
        z[None] = 3 * y[None]

    for start in (2.0, 2.0, 2.0, -5.0):
        x[None] = start
        with ti.ad.Tape(y if last else z):
            for _ in range(9):
                grow()
            square(x, out=y)
            if not last:
                end()
        np.testing.assert_allclose(x.grad[None], (1 if last else 3) * 2 * start * 1.1**18, rtol=1e-12)
