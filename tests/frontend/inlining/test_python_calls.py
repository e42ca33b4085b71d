"""Plain Python functions in kernels: evaluated at compile time where their result cannot change."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from dsim.frontend.inlining.python_calls import closed
from tests.frontend.dialect import f, lowered, refused, run, ti

calls = 0
side = 3


def zeros():
    return [0.0, 0.0]


def square(n=2):
    return [zeros() for _ in range(n)]


def root(a, *, power=2):
    return math.pow(a, 1 / power)


def counted():
    global calls
    calls += 1
    return calls


def drawn():
    return random.random()


def of_a_number():
    return side * 2.0


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def remembering(n, seen=[]):  # noqa: B006 - just that is what must not be trusted
    seen.append(n)
    return len(seen)


def with_an_attribute():
    return with_an_attribute.number


def test_what_they_give_is_compiled_in():
    x, m, y = f(2, entry=(2,)), f(entry=(2, 2)), f(3)

    def k():
        x[0] = zeros()
        x[1] = [1.0, 2.0]
        m[None] = square()
        y[0] = root(9.0)
        y[1] = root(8.0, power=3) + len(square(5))
        y[2] = 1.0 if even(4) else 0.0

    x.values[:], m.values[:] = 5.0, 5.0
    run(k)
    assert x.values.tolist() == [[0.0, 0.0], [1.0, 2.0]]
    assert m.values.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert y.values.tolist() == [3.0, 7.0, 1.0]


def test_those_of_the_function_around():
    y = f(1)

    def half(a):
        return a / 2

    def quarter(a):
        return half(half(a))

    def k():
        y[0] = quarter(2.0)

    run(k)
    assert y.values.tolist() == [0.5]


@pytest.mark.parametrize("function", [zeros, square, root, even, odd], ids=lambda g: g.__name__)
def test_closed(function):
    assert closed(function)


@pytest.mark.parametrize(
    "function",
    [counted, drawn, of_a_number, remembering, with_an_attribute, random.random, len, print],
    ids=lambda g: g.__name__,
)
def test_not_closed(function):
    assert not closed(function)


def test_one_that_sees_a_variable_is_not_closed():
    scale = 2.0

    def scaled(a):
        return a * scale

    assert not closed(scaled)
    scale = 3.0


def test_inlined_where_what_they_give_may_change():
    y = f(2)

    def k():
        y[0] = of_a_number()
        y[1] = root(y[1], power=1)

    y.values[1] = 5.0
    run(k)
    assert y.values.tolist() == [6.0, 5.0]
    assert [c.name for c in lowered(k).captures] == ["side"]


def test_vectors_are_no_lists():
    y = f(2)

    def twice(v):
        return v * 2

    def k():
        w = twice(ti.Vector([1.0, 2.0]))
        y[0], y[1] = w[0], w[1]

    run(k)
    assert y.values.tolist() == [2.0, 4.0]


def test_lists_of_pythons_are_vectors_and_matrices():
    x, m = f(2, entry=(2,)), f(entry=(2, 2))
    start, unit = [1.0, 2.0], ((1.0, 0.0), (0.0, 1.0))

    def k():
        x[0] = start
        x[1] = x[0] + start
        m[None] = unit

    run(k)
    assert x.values.tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert m.values.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    start[1] = 5.0
    assert [c.read() == c.value for c in lowered(k).captures if c.name == "start"] == [True]


def test_what_the_system_refuses_is_an_error_of_the_line() -> None:
    out = f(1)

    def k():
        out[0] = ti.static(len(Path("/nonexistent").read_text()))

    assert refused(k) == "argument: [Errno 2] No such file or directory: '/nonexistent'"
