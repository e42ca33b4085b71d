"""Atomic operations: extremes, products, and their return values."""

import numpy as np
import pytest

import dsim as ti
from tests.trust.making import Program, both_types, check, gradient, integers, numbers

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")

START = [0.3, -1.2, 2.0, 0.7, 1.1, -0.4]


def _maximum(real):
    x, best, loss = numbers(6, start=START, real=real), numbers(2, start=-10.0, real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            ti.atomic_max(best[i % 2], x[i] * x[i])
        for i in best:
            loss[None] += best[i] ** 2

    return Program(run, x, loss, [best])


@both_types
def test_atomic_max(real):
    check(_maximum, real)


def _minimum(real):
    x, best, loss = numbers(6, start=START, real=real), numbers(2, start=10.0, real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            ti.atomic_min(best[i % 2], x[i] ** 3)
        for i in best:
            loss[None] += best[i] ** 2

    return Program(run, x, loss, [best])


@both_types
def test_atomic_min(real):
    check(_minimum, real)


def _difference(real):
    x, left, loss = numbers(6, start=START, real=real), numbers(2, start=1.0, real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            ti.atomic_sub(left[i % 2], x[i] ** 2)
        for i in left:
            loss[None] += left[i] ** 2

    return Program(run, x, loss, [left])


@both_types
def test_atomic_sub(real):
    check(_difference, real)


def _product(real):
    x, all_of, loss = numbers(6, start=START, real=real), numbers(start=0.5, real=real), numbers(real=real)

    @ti.kernel
    def multiply():
        for i in x:
            ti.atomic_mul(all_of[None], x[i])

    @ti.kernel
    def square():
        loss[None] += all_of[None] ** 2

    def run():
        multiply()
        square()

    return Program(run, x, loss, [all_of])


@both_types
def test_atomic_mul(real):
    check(_product, real)


def _running_sum(real):
    x, sums, loss = numbers(6, start=START, real=real), numbers(real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            before = ti.atomic_add(sums[None], x[i])
            loss[None] += before * x[i]

    return Program(run, x, loss, [sums])


@both_types
def test_the_value_that_atomic_add_gives_back(real):
    check(_running_sum, real)


def _running_maximum(real):
    x, best, loss = numbers(6, start=START, real=real), numbers(start=-9.0, real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            before = ti.atomic_max(best[None], x[i])
            loss[None] += before * x[i]

    return Program(run, x, loss, [best])


@both_types
def test_the_value_that_atomic_max_gives_back(real):
    check(_running_maximum, real)


@both_types
def test_a_place_in_a_list_given_out_by_a_counter(real):
    x, chosen, loss = numbers(6, start=START, real=real), numbers(6, real=real), numbers(real=real)
    count = integers()

    @ti.kernel
    def choose():
        for i in x:
            if x[i] > 0.5:
                at = ti.atomic_add(count[None], 1)
                chosen[at] = x[i] ** 2

    @ti.kernel
    def add_up():
        for i in range(count[None]):
            loss[None] += chosen[i]

    def run():
        count[None] = 0
        choose()
        add_up()

    np.testing.assert_allclose(gradient(loss, run, x), [2 * v if v > 0.5 else 0.0 for v in START], rtol=1e-6)
    assert count[None] == 3


@both_types
def test_a_counter_counts_once(real):
    x, loss, count = numbers(start=3.0, real=real), numbers(real=real), integers()

    @ti.kernel
    def run():
        count[None] += 1
        loss[None] += x[None] ** 2

    assert gradient(loss, run, x) == 6.0
    assert count[None] == 1


def _in_locals(real):
    x, loss = numbers(6, start=START, real=real), numbers(real=real)

    @ti.kernel
    def run():
        for _ in range(1):
            s, p, top, low, used = 0.0, 1.0, -10.0, 10.0, 0.0
            v = ti.Vector([1.0, 2.0, 3.0])
            for i in range(6):
                a = ti.atomic_add(s, x[i])
                b = ti.atomic_mul(p, x[i])
                c = ti.atomic_max(top, x[i] * x[i])
                d = ti.atomic_min(low, x[i] ** 3)
                e = ti.atomic_sub(s, 0.5 * x[i])
                f = ti.atomic_add(v[i % 3], x[i])
                g = ti.atomic_mul(v[(i + 1) % 3], x[i])
                h = ti.atomic_max(v, x[i] * ti.Vector([1.0, 2.0, -1.0]))
                used += a * x[i] + b * b + 0.01 * c * d + e + f * g + h[1]
            loss[None] += used + s * s + p**3 + top * low + v.norm_sqr()

    return Program(run, x, loss)


@pytest.mark.slow
@both_types
def test_all_of_them_on_locals(real):
    check(_in_locals, real)


def _on_integers(real):
    x, loss, bits = numbers(6, start=START, real=real), numbers(real=real), integers(3)

    @ti.kernel
    def run():
        bits[0], bits[1], bits[2] = 7, 0, 9
        for i in range(6):
            ti.atomic_and(bits[0], i | 4)
            ti.atomic_or(bits[1], i)
            ti.atomic_xor(bits[2], i)
        for _ in range(1):
            n, a, o, z = 0, 7, 0, 9
            for i in range(6):
                at = ti.atomic_add(n, 1)
                before = ti.atomic_and(a, i | 4) + ti.atomic_or(o, i) + ti.atomic_xor(z, i)
                loss[None] += x[at] ** 2 * (at + 1) + x[i] * before
            loss[None] += x[0] * (a + bits[0]) + x[1] * (o + bits[1]) + x[2] * (z + bits[2])

    return Program(run, x, loss, [bits])


@both_types
def test_bits_in_integers(real):
    check(_on_integers, real)
