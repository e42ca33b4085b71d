"""Exits of loops and functions: `break`, `continue` and early `return`."""

from __future__ import annotations

import itertools

from tests.frontend.dialect import agrees, counted, f, refused, run, text, ti


def test_break_and_continue() -> None:
    x = counted()

    def k(stop: ti.i32, skip: ti.i32) -> int:
        c = 0
        last = -1
        for i in range(10):
            if i == skip:
                continue
            if i == stop:
                break
            last = i
            x[c] = i
            c += 1
        return last * 100 + c

    for stop, skip in itertools.product((0, 3, 20), (1, 3, 20)):
        agrees(k, [x], stop, skip)


def test_break_in_the_middle_of_nested_branches() -> None:
    x = counted()

    def k(a: ti.i32) -> int:
        n = 0
        for i in range(6):
            if i > 1:
                if i == a:
                    n += 1000
                    break
                n += 1
            else:
                if i == a:
                    n += 50
                    continue
                n += 10
            x[i] = n
        return n

    for a in range(-1, 6):
        agrees(k, [x], a)


def test_break_leaves_the_inner_loop_only() -> None:
    x = counted()

    def k(a: ti.i32):
        for i in range(4):
            for j in range(4):
                if j == a:
                    break
                x[i] += 10 * j + 1
            x[i] += 1000

    for a in range(5):
        agrees(k, [x], a)


def test_while_true_with_continue() -> None:
    x = counted()

    def k() -> int:
        i = 0
        s = 0
        while True:
            i += 1
            if i % 3 == 0:
                continue
            if i > 10:
                break
            s += i
        return s

    agrees(k, [x])


def test_while_true_that_only_return_leaves() -> None:
    x = counted()

    def k(a: ti.i32) -> int:
        i = 0
        while True:
            i += 1
            for j in range(i):
                if i * j == a:
                    return 100 * i + j
                if j > a:
                    break
            x[i % 5] += 1
            if i > 8:
                return -i

    for a in (0, 2, 6, 7, 50):
        agrees(k, [x], a)


def test_while_true_that_only_return_leaves_inside_another_loop() -> None:
    x = counted()

    @ti.func
    def place(a):
        for i in range(3):
            if i == a:
                while True:
                    i += a + 1
                    if i > 7:
                        return 10 * i
            x[i] += 1
        return -1

    def k(a: ti.i32) -> int:
        return place(a) + place(a + 1)

    for a in range(4):
        agrees(k, [x], a)


def test_the_condition_of_a_while_is_not_looked_at_after_break() -> None:
    x = f(3, dtype=ti.i32, values=[1, 1, 1])

    def k() -> int:
        i = 0
        while x[i] == 1:
            i += 1
            if i == 3:
                break
        return i

    agrees(k, [x])


def test_early_return_of_a_kernel() -> None:
    x = f(6, values=[3, 1, 4, 1, 5, 9])

    def k(a: float) -> int:
        if a < 0.0:
            return -1
        for i in range(6):
            if x[i] > a:
                return i
        return 6

    for a in (-2.0, 0.0, 3.5, 4.5, 100.0):
        agrees(k, [x], a)


def test_return_out_of_nested_loops() -> None:
    x = f(4, 4, values=[[i * j for j in range(4)] for i in range(4)])

    def k(a: float) -> float:
        for i in range(4):
            n = 0.0
            while n < 3.5:
                for j in range(4):
                    if x[i, j] * n > a:
                        return i * 100 + j + n
                    if j > i:
                        break
                n += 1.0
            x[i, 0] = -1.0
        return -1.0

    for a in (0.0, 3.0, 5.0, 50.0):
        agrees(k, [x], a)


def test_plain_return() -> None:
    x = f(3)

    def k(a: ti.i32):
        x[0] = 1.0
        if a == 1:
            return
        x[1] = 1.0
        for i in range(3):
            if a == 2:
                return
            x[2] += 1.0

    for a in range(4):
        agrees(k, [x], a)


def test_statements_after_a_way_out_are_dropped() -> None:
    x = f(3)

    def k():
        x[0] = 1.0
        return
        x[1] = 1.0

    agrees(k, [x])
    assert "x[1]" not in text(k)


def test_early_return_in_the_middle_of_a_func() -> None:
    x = f(5, values=[-2.0, -0.5, 0.0, 0.5, 2.0])
    y = f(5)

    @ti.func
    def g(a):
        if a < -1.0:
            return -1.0
        b = a * 2.0
        if a > 1.0:
            b = 10.0
            return b
        b += 1.0
        return b

    def python(a):
        return g.__dsim_func__(a)

    def k():
        for i in range(5):
            y[i] = g(x[i])

    run(k)
    assert y.values.tolist() == [python(a) for a in x.values.tolist()]


def test_func_that_returns_out_of_its_loop() -> None:
    x = f(6, dtype=ti.i32, values=[5, 3, 8, 1, 9, 2])
    y = f(4, dtype=ti.i32)

    @ti.func
    def find(a):
        for j in range(6):
            if x[j] == a:
                return j
        return -1

    def k():
        for i in range(4):
            y[i] = find(i)

    run(k)
    assert y.values.tolist() == [-1, 3, 5, 1]


def test_static_loops_may_break_and_continue_at_run_time() -> None:
    x = f(4, dtype=ti.i32)

    def k(a: ti.i32, b: ti.i32):
        for i in range(4):
            for j in ti.static(range(5)):
                if j == a:
                    continue
                if j + i == b:
                    break
                x[i] += 10**j

    def wanted(a, b):
        out = [0] * 4
        for i in range(4):
            for j in range(5):
                if j == a:
                    continue
                if j + i == b:
                    break
                out[i] += 10**j
        return out

    for a, b in itertools.product((0, 2, 9), (0, 3, 5, 9)):
        x.values[...] = 0
        run(k, a, b)
        assert x.values.tolist() == wanted(a, b)


def test_return_out_of_a_static_loop() -> None:
    x = f(4, values=[1.0, 5.0, 2.0, 7.0])

    def k(a: float) -> int:
        for j in ti.static(range(4)):
            if x[j] > a:
                return j
        return 9

    assert [run(k, a) for a in (0.0, 1.5, 6.0, 8.0)] == [0, 1, 3, 9]


def test_break_out_of_an_ndrange_leaves_all_of_it() -> None:
    x = f(3, 3)

    def k():
        for i, j in ti.ndrange(3, 3):
            if i == 1 and j == 1:
                break
            x[i, j] = 1.0

    run(k)
    assert x.values.tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]


def test_a_loop_that_never_ends() -> None:
    x = f(1)

    def k():
        while True:
            x[0] = 1.0

    assert "syntax: this loop never ends" in refused(k)


def test_else_after_a_loop() -> None:
    x = f(1)

    def k():
        for i in range(3):
            x[0] = 1.0
        else:
            x[0] = 2.0

    assert "syntax: kernels have no `else` after a loop" in refused(k)
