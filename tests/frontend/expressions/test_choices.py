"""The type of a choice between a value and a number without a type: one that holds both."""

import pytest

import dsim as ti

HUGE = 10**12


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@ti.func
def seven_or_truth(n):
    if n != 0:
        return n > 5
    return 7


def test_integers():
    @ti.kernel
    def literal(n: ti.i32) -> ti.i64:
        return 3_000_000_000 if n > 5 else n

    @ti.kernel
    def captured(n: ti.i32) -> ti.i64:
        return n if n < 0 else HUGE

    @ti.kernel
    def narrow(n: ti.i32) -> ti.i32:
        v = ti.cast(n, ti.i8)
        return v if v > 0 else 1000

    @ti.kernel
    def by_and(n: ti.i32) -> ti.i32:
        v = ti.cast(n, ti.i8)
        return v and 1000

    @ti.kernel
    def in_a_tuple(n: ti.i32) -> ti.i32:
        v = ti.cast(n, ti.u8)
        a, b = (v, 1) if n > 5 else (300, 2)
        return a + b

    @ti.kernel
    def divided(n: ti.i32) -> ti.i64:
        return (n if n > 0 else 2**40) // 2**20

    assert (literal(6), literal(3)) == (3_000_000_000, 3)
    assert (captured(1), captured(-1)) == (HUGE, -1)
    assert (narrow(5), narrow(-5)) == (5, 1000)
    assert (by_and(5), by_and(0)) == (1000, 0)
    assert (in_a_tuple(7), in_a_tuple(1)) == (8, 302)
    assert (divided(2**20), divided(-1)) == (1, 2**20)


def test_truth_values():
    @ti.kernel
    def chosen(n: ti.i32) -> ti.i32:
        return n > 5 if n != 0 else 7

    @ti.kernel
    def returned(n: ti.i32) -> ti.i32:
        return seven_or_truth(n)

    @ti.kernel
    def alone(n: ti.i32) -> ti.i32:
        t = n > 5 if n != 0 else True
        return 10 if t else 20

    for run in (chosen, returned):
        assert [run(n) for n in (0, 1, 6)] == [7, 0, 1]
    assert [alone(n) for n in (0, 1, 6)] == [10, 20, 10]


def test_a_number_that_fits_takes_the_type_of_the_value(capsys):
    v, x = ti.field(ti.i8, shape=2), ti.field(ti.f32, shape=2)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        small = v[0] if n > 0 else 127
        real = x[0] if n > 0 else 1
        ti.static_print(small, real)
        return small

    assert run(0) == 127
    assert capsys.readouterr().out == "<an i8> <an f32>\n"


def test_the_derivative_is_that_of_the_number_chosen():
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
    heavy = ti.field(ti.i32, shape=())

    @ti.kernel
    def run(n: ti.i32):
        loss[None] += x[None] * (2 if n == 1 else heavy[None] > 0)

    with ti.Tape(loss):
        run(1)
    assert x.grad[None] == 2.0
