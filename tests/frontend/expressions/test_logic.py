"""`and`, `or` and `not`: the values of Python, with short-circuit evaluation."""

from __future__ import annotations

import operator
from itertools import product

import numpy as np
import pytest

from dsim.frontend.frames import builtins
from tests.frontend.dialect import agrees, counted, f, lowered, refused, run, ti


def k_and(a: ti.i32, b: ti.i32) -> ti.i32:
    return a and b


def k_or(a: ti.i32, b: ti.i32) -> ti.i32:
    return a or b


def k_three(a: ti.i32, b: ti.i32) -> ti.i32:
    return (a and b and 7) or a or 9


def k_with_truths(a: ti.i32, b: ti.i32) -> ti.i32:
    return (a > 1 and b) * 10 + (a and b > 1) * 100 + (a > 1 or b) * 1000 + (7 and a) + (0 or b)


def k_not(a: ti.i32, b: ti.i32) -> ti.i32:
    return (not a) + 2 * (not (a and b)) + 4 * (not (a or not b))


def k_conditions(a: ti.i32, b: ti.i32) -> ti.i32:
    n = 0
    if a and b:
        n += 1
    if not (a or b) or (a and not b):
        n += 2
    n += 4 if a or b else 8
    while n < 20 and (a or b):
        n += 16
    assert n or not a
    return n


@pytest.mark.parametrize("k", [k_and, k_or, k_three, k_with_truths, k_not, k_conditions])
@pytest.mark.parametrize(("a", "b"), [*product((0, 1, 2, -3), repeat=2)])
def test_values_are_those_of_python(k, a, b) -> None:
    agrees(k, [], a, b)


def test_the_value_has_the_wider_type() -> None:
    def k(a: ti.i8, b: ti.i64) -> ti.i64:
        return a and b

    assert run(k, np.int8(3), np.int64(1 << 40)) == 1 << 40


def test_what_does_not_decide_is_not_computed() -> None:
    x = f(4, dtype=ti.i32, values=[0, 5, 0, 7])

    def k(i: ti.i32) -> ti.i32:
        return (i < 4 and x[i]) or 9

    assert [run(k, i) for i in (1, 2, 4, 100)] == [5, 9, 9, 9]


def test_of_vectors_entry_by_entry() -> None:
    def k(a: ti.i32, b: ti.i32) -> ti.types.vector(4, ti.i32):
        v, w = ti.Vector([a, 0, 3, 0]), ti.Vector([1, b, 0, 0])
        return (v and w) + 10 * (v or w) + 100 * (not v) + 1000 * (a and v)

    v, w = np.array([2, 0, 3, 0]), np.array([1, 5, 0, 0])
    wanted = np.where(v, w, v) + 10 * np.where(v, v, w) + 100 * (v == 0) + 1000 * v
    assert run(k, 2, 5).tolist() == wanted.tolist()


def test_at_compile_time_of_any_objects() -> None:
    name, nothing, names = "sphere", None, ["a", "b"]

    def k() -> ti.i32:
        n = 0
        if ti.static(name and not nothing):
            n += 1
        if ti.static(nothing or names):
            n += 2
        if ti.static(nothing):
            n += 4
        if ti.static(not names or nothing):
            n += 8
        n += 16 if ti.static(names) else 32
        for i in ti.static(range(nothing or 2)):
            n += 100 * i
        return n

    assert run(k) == 1 + 2 + 16 + 100


def test_names_given_in_an_expression() -> None:
    x = f(6)

    def k(a: ti.i32):
        for i in range(6):
            if (m := (n := a * i) % 4) != 2 and n > 3:
                x[i] = n + (m := m + 1) / 8 + m
            elif (n := n + 1) == 2:
                x[i] = -n
            x[i] += n

    for a in (0, 1, 3):
        agrees(k, [x], a)


def test_names_given_in_the_condition_of_a_loop() -> None:
    x = f(4)

    def k():
        for i in range(4):
            n, m, q = 0, 0, 0.0
            while (q := (i + 1) * 8.0 / 2**n) > 3.0 and (m := n % 3) < 2:
                n += 1
                if n == 2:
                    continue
                x[i] += q + m
            while (r := n) > 5:
                n -= 1
            x[i] += 100 * q + n

    agrees(k, [x])

    def after():
        for i in range(4):
            while (r := x[i]) > 3.0:
                x[i] = r / 2
            x[i] = r

    assert "`r` is assigned inside a loop only" in refused(after)


def test_chained_comparisons_stop_where_one_does_not_hold() -> None:
    n, x = counted(2), f(4, values=[3.0, 1.0, 2.0, 0.0])

    @ti.func
    def asked():
        n[0] += 1
        return 5

    def k(a: ti.i32):
        if 5 < a < asked():
            n[1] = 1
        n[1] += 10 * (1 < a <= asked() < 9)

    for a, calls in ((3, 1), (6, 2), (1, 0)):
        n.values[:] = 0
        run(k, a)
        assert n.values.tolist() == [calls, 10 * (1 < a <= 5)]

    def inside():
        for i in range(4):
            if 0 <= i - 1 < x[i - 1]:
                x[i] = 7.0

    agrees(inside, [x])


def test_conditions_select_nothing() -> None:
    """A condition needs the truth of ``a and b`` only: no value of it is made."""

    def k(a: ti.i32, b: ti.i32, v: float) -> float:
        if a and not b:
            v = v * 2.0
        return v

    ops = [s.op for s in lowered(k).kernel.body.statements if hasattr(s, "op")]
    assert ops == ["ne", "ne", "bnot", "band"]


def test_what_has_no_truth() -> None:
    x = f(3)

    def floats(v: float):
        if v and x[0]:
            x[1] = 1.0
        x[2] = v or 2.0

    def vectors():
        v = ti.Vector([1, 2])
        if not v:
            x[0] = 1.0

    def fields():
        if x and True:
            pass

    advice = "help: compare it first: `a != 0`"
    assert refused(floats).splitlines() == [
        "type: `and` works on truth values, got an f64", advice,
        "type: `or` works on truth values, got an f64", advice,
    ]  # fmt: skip
    assert refused(vectors) == (
        "type: a vector of 2 is not a truth value\nhelp: reduce it with `.all()` or `.any()`"
    )
    assert refused(fields) == "type: the field `x` cannot be a condition\nhelp: index it, as in `x[i]`"
    items = [1, 2]

    def lists():
        if items:
            x[0] = 1.0

    assert refused(lists).endswith("cannot be a condition\nhelp: compare its length: `len(…) > 0`")


@pytest.mark.parametrize("name", builtins._OPERATORS)
def test_functions_of_the_module_operator(name) -> None:
    """Each is the operator that it is in Python."""
    function = getattr(operator, name)
    if name == "matmul":

        def vectors() -> float:
            return function(ti.Vector([1.0, 2.0]), ti.Vector([3.0, 4.0]))

        assert run(vectors) == 11.0
        return

    def one(a: ti.i32, b: ti.i32) -> float:
        return function(a)

    def two(a: ti.i32, b: ti.i32) -> float:
        return function(a, b)

    k = one if function in (operator.neg, operator.pos, operator.invert, operator.not_) else two
    for a, b in ((7, 3), (-7, 3), (2, 2)):
        agrees(k, [], a, b)


def test_operators_of_vectors_and_of_too_few() -> None:
    x = f(2, entry=(2,))

    def k():
        v = operator.mul(operator.neg(ti.Vector([1.0, 2.0])), 3.0)
        x[0] = v

    def few():
        x[0] = operator.add(1.0)

    run(k)
    assert x.values[0].tolist() == [-3.0, -6.0]
    assert "argument: wrong arguments for `operator.add`" in refused(few)


def test_a_name_of_a_later_operand() -> None:
    x, s = f(8, values=[0.5, 0.1, 0.9, 0.6, 0.7, 0.2, 0.8, 0.45]), f(3)

    def in_the_body(n: ti.i32):
        for i in range(8):
            if i > n and (m := x[i]) > 0.4:
                s[0] += m * i
            if i > 0 and (a := x[i - 1]) > 0.3 and (b := a * x[i]) > 0.2:
                s[1] += a + b
                if i == 6:
                    break
            s[2] += 1.0

    def beside_an_else(n: ti.i32):
        if n > 1 and (m := x[n]) > 0.4:
            s[0] += m
        else:
            s[0] += 1.0

    def after(n: ti.i32):
        if n > 1 and (m := x[n]) > 0.4:
            s[0] += m
        s[0] += m

    for n in (0, 3, 9):
        agrees(in_the_body, [x, s], n)
    assert "`m` is assigned in an operand that is not always computed" in refused(beside_an_else)
    assert "`m` is assigned in one branch only and is not defined here" in refused(after)
