"""Loop-carried values, loops with early exits, and several loops and statements in one kernel."""

import numpy as np
import pytest

import dsim as ti
from tests.trust.making import Program, both_types, check, gradient, integers, numbers

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")]


@both_types
@pytest.mark.parametrize("n", [1, 31, 32, 33, 1000, 20000])
def test_a_local_carried_through_many_trips(n, real):
    x, loss = numbers(start=0.5, real=real), numbers(real=real)

    @ti.kernel
    def run():
        for _ in range(1):
            s = 0.0
            for _ in range(n):
                s += x[None]
            loss[None] += s * s

    assert gradient(loss, run, x) == pytest.approx(2 * (0.5 * n) * n, rel=1e-4)


@both_types
def test_a_sum_that_is_linear(real):
    x, loss = numbers(start=0.5, real=real), numbers(real=real)

    @ti.kernel
    def run(n: ti.i32):
        for _ in range(1):
            s = 0.0
            for _ in range(n):
                s += x[None]
            loss[None] += s

    assert gradient(loss, lambda: run(1000), x) == 1000.0


@both_types
def test_a_product_in_a_loop(real):
    x, loss = numbers(3, start=2.0, real=real), numbers(real=real)

    @ti.kernel
    def run(n: ti.i32):
        for _ in range(1):
            p = 1.0
            for j in range(n):
                p *= x[j]
            loss[None] += p

    assert gradient(loss, lambda: run(3), x) == [4.0, 4.0, 4.0]


@both_types
def test_squaring_until_it_is_large(real):
    x, loss = numbers(start=2.0, real=real), numbers(real=real)

    @ti.kernel
    def run():
        p = x[None]
        while p < 100:
            p *= p
        loss[None] = p

    assert gradient(loss, run, x) == 1024.0


def _matrix_powers(real):
    a = ti.Matrix.field(2, 2, real, shape=(), needs_grad=True)
    a.from_numpy(np.array([[0.9, -0.3], [0.2, 0.8]]))
    n, loss = integers(start=12), numbers(real=real)

    @ti.kernel
    def run():
        for _ in range(1):
            m = ti.Matrix.identity(float, 2)
            for _ in range(n[None]):
                m = m @ a[None]
            loss[None] += m[0, 1] + 2.0 * m.trace()

    return Program(run, a, loss)


@both_types
def test_a_local_matrix_carried_through_a_loop_of_data_length(real):
    check(_matrix_powers, real)


def _matrix_by_index(real):
    x, loss = numbers(6, start=[0.3, -0.8, 1.2, 0.5, -0.2, 0.9], real=real), numbers(real=real)
    at = integers(6, start=[0, 2, 1, 2, 0, 1])

    @ti.kernel
    def run():
        for _ in range(1):
            m = ti.Matrix([[1.0, 0.5, 0.2], [0.1, 2.0, 0.3], [0.7, 0.4, 1.5]])
            for k in range(6):
                i, j = at[k], at[5 - k]
                m[i, j] = m[j, i] * x[k] + m[i, j] * x[5 - k]
                m[j, j] += x[k] * m[i, i]
            loss[None] += m.norm_sqr() if m[0, 0] > -100 else m[0, 1]

    return Program(run, x, loss)


@both_types
def test_a_local_matrix_read_and_written_by_run_time_indices(real):
    check(_matrix_by_index, real)


def _vector_by_index(real):
    x, loss = numbers(5, start=[0.3, -0.8, 1.2, 0.5, -0.2], real=real), numbers(real=real)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(2):
            v = ti.Vector.zero(float, 20)
            for k in range(n):
                v[(7 * k + i) % 20] = v[(3 * k) % 20] * x[k % 5] + x[(k + 1) % 5]
            s = 0.0
            for k in range(20):
                s += v[k] ** 2
            loss[None] += s

    return Program(lambda: run(45), x, loss)


@both_types
def test_a_long_local_vector_read_and_written_by_run_time_indices(real):
    check(_vector_by_index, real)


def _left_early(real):
    x, loss = numbers(6, start=[0.3, 0.8, 1.2, 0.5, 0.2, 0.9], real=real), numbers(real=real)

    @ti.func
    def first_above(limit):
        s = 0.0
        for j in range(6):
            s += x[j] ** 2
            if s > limit:
                return s * x[j]
        return s

    @ti.kernel
    def run():
        for i in range(6):
            s = x[i]
            for j in range(10):
                if j % 2 == 1:
                    continue
                s = s * 1.3 + x[j % 6]
                if s > 5.0:
                    break
            while s > 1.0:
                s = s * 0.7 - 0.01 * x[i]
            loss[None] += s**2 + first_above(0.4 * i)

    return Program(run, x, loss)


@both_types
def test_break_continue_and_early_return(real):
    check(_left_early, real)


def _mixed(real):
    x, y = numbers(4, start=[0.3, -0.8, 1.2, 0.5], real=real), numbers(4, real=real)
    loss = numbers(real=real)

    @ti.kernel
    def run():
        loss[None] += x[0] ** 2
        for i in x:
            y[i] = ti.sin(x[i]) * x[0]
        scale = y[1] * x[2]
        for i in x:
            for j in range(i):
                loss[None] += y[j] * scale
            loss[None] += y[i] ** 2
            for j in range(4):
                for k in range(j):
                    loss[None] += y[j] * y[k] * x[i]
        loss[None] += scale**2

    return Program(run, x, loss, [y])


@both_types
def test_statements_and_loops_mixed_and_several_loops_in_a_loop(real):
    check(_mixed, real)
