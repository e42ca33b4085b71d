"""Recursive funcs, if a compile-time value differs in each call."""

from __future__ import annotations

import math

import pytest

from tests.frontend.dialect import f, refused, run, ti


@ti.func
def power(x, n: ti.template()):
    r = 1.0
    if ti.static(n > 0):
        r = x * power(x, n - 1)
    return r


@ti.func
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@ti.func
def fibonacci(n: ti.i32) -> ti.i32:
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@ti.func
def even(n):
    return True if n == 0 else odd(n - 1)


@ti.func
def odd(n):
    return False if n == 0 else even(n - 1)


@ti.func
def deeper(n):
    return deeper(n + 1)


def test_an_end_that_is_known_when_compiling() -> None:
    def k(x: float) -> float:
        return power(x, 5) + power(x, 0)

    assert run(k, 2.0) == 33.0


def test_plain_numbers_are_known_too() -> None:
    def k() -> ti.i32:
        return factorial(7) + 10000 * fibonacci(10)

    assert run(k) == math.factorial(7) + 550000


def test_two_that_call_each_other() -> None:
    def k() -> ti.i32:
        return even(10) + 2 * even(7)

    assert run(k) == 1


def test_through_functions_that_are_passed() -> None:
    @ti.func
    def iterate(g: ti.template(), x, n: ti.template()):
        return x if n == 0 else iterate(g, g(x), n - 1)

    @ti.func
    def logistic(x):
        return 3.5 * x * (1.0 - x)

    def k(x: float) -> float:
        return iterate(logistic, x, 4)

    wanted = 0.3
    for _ in range(4):
        wanted = 3.5 * wanted * (1.0 - wanted)
    assert math.isclose(run(k, 0.3), wanted)


def test_up_to_a_depth() -> None:
    def deep(x: float) -> float:
        return power(x, 60)

    assert math.isclose(run(deep, 1.01), 1.01**60)


@pytest.mark.slow
def test_what_would_not_end() -> None:
    x = f(3, dtype=ti.i32)

    def at_run_time(n: ti.i32):
        x[0] = fibonacci(n)

    def upwards():
        x[0] = deeper(0)

    def too_many():
        x[0] = fibonacci(25)

    assert refused(at_run_time) == (
        "recursion: `fibonacci` calls itself\n"
        "help: write a loop, or end the recursion by a compile-time number"
    )
    assert refused(upwards) == "recursion: `deeper` calls itself more than 64 times\nhelp: write a loop"
    assert refused(too_many) == (
        "recursion: `fibonacci` would be inlined more than 2000 times\n"
        "help: write a loop: every call of a func is inlined"
    )


def endless(n):
    return endless(n + 1)


def test_a_plain_function_without_an_end():
    def known():
        x[0] = endless(1)

    def at_run_time(n: ti.i32):
        x[0] = endless(n)

    assert refused(known) == (
        "recursion: `endless` calls itself without end\nhelp: end the recursion by a condition"
    )
    assert refused(at_run_time) == (
        "recursion: `endless` calls itself\nhelp: write a loop, or end the recursion by a compile-time number"
    )
