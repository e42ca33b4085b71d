"""Branches, loops and their exits behave as in Python."""

from __future__ import annotations

import linecache

import pytest

from tests.frontend.dialect import agrees, counted, f, refused, run, text, ti


def test_branches() -> None:
    x = f(6)

    def k(a: ti.i32):
        for i in range(6):
            if i < a:
                x[i] = 1.0
            elif i == a:
                x[i] = 2.0
                x[i] += 3.0
            else:
                x[i] = 4.0

    for a in (-1, 2, 5, 9):
        agrees(k, [x], a)


def test_a_local_set_in_branches() -> None:
    x = f(5)

    def k():
        for i in range(5):
            v = 0.5
            if i > 2:
                v = v + i
            elif i > 1:
                v *= 3.0
            x[i] = v

    agrees(k, [x])


def test_a_local_first_set_in_both_branches() -> None:
    x = f(4)

    def k():
        for i in range(4):
            if i % 2 == 0:
                v = 1.0
                w = i
            else:
                v = 2.0
                w = -i
            x[i] = v * w

    agrees(k, [x])


def test_sum_over_a_loop() -> None:
    x = f(5, values=range(5))

    def k() -> float:
        s = 0.0
        for i in range(1, 5):
            s += x[i] * i
        return s

    agrees(k, [x])


def test_loops_with_steps() -> None:
    x = counted()

    def k(n: ti.i32):
        c = 0
        for i in range(n, 0, -3):
            x[c] = i
            c += 1
        for i in range(2, n, 2):
            x[c] = 100 + i
            c += 1

    for n in (0, 1, 5, 9):
        agrees(k, [x], n)


def test_while() -> None:
    x = counted()

    def k(n: ti.i32) -> int:
        c = 0
        while n != 1:
            x[c] = n
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            c += 1
            if c == 10:
                break
        return c

    for n in (1, 2, 5, 6):
        agrees(k, [x], n)


def test_carried_values_of_every_kind() -> None:
    x = f(4, values=[1.0, 2.0, 3.0, 4.0])

    def k() -> float:
        v = ti.Vector([0.0, 1.0])
        m = ti.Matrix([[1.0, 0.0], [0.0, 1.0]])
        n = 0
        flag = False
        for i in range(4):
            v[i % 2] += x[i]
            m = m @ ti.Matrix([[1.0, x[i]], [0.0, 1.0]])
            n += 2
            if x[i] > 2.5:
                flag = True
        r = v[0] * 1000.0 + v[1] * 100.0 + m[0, 1] + n * 0.001
        if flag:
            r = -r
        return r

    assert run(k) == pytest.approx(-(4.0 * 1000 + 7.0 * 100 + 10.0 + 0.008))


def test_conditions_guard_what_follows() -> None:
    x = f(3, values=[1.0, 2.0, 3.0])
    y = f(5)

    def k():
        for i in range(5):
            if i < 3 and x[i] > 1.5:
                y[i] = 1.0
            if i >= 3 or x[i] > 2.5:
                y[i] += 10.0
            y[i] += x[i] if i < 3 else -1.0

    agrees(k, [x, y])


def test_conditions_without_memory_need_no_branch() -> None:
    x = f(5)

    def k(a: float, b: float):
        for i in range(5):
            x[i] = a * i if i > 1 and a > b else b

    assert "if" not in text(k).replace("iteration", "")
    agrees(k, [x], 2.0, 1.0)


def test_locals_that_are_changed_in_an_expression() -> None:
    s = f(6)

    def k(n: ti.i32):
        a, b = 1.0, 2.0
        s[0] = ti.atomic_add(a, 5.0) if n > 0 else ti.atomic_sub(b, 1.0)
        s[1], s[2] = a, b
        if n > 0 and ti.atomic_add(a, 1.0) > 0.0:
            s[3] = a
        c = [ti.atomic_add(a, 10.0) for _ in range(2)]
        s[4], s[5] = c[1], a

    run(k, 1)
    assert s.values.tolist() == [1, 6, 2, 7, 17, 27]
    run(k, 0)
    assert s.values.tolist() == [2, 1, 1, 7, 11, 21]


def test_the_target_of_a_comprehension_leaves_a_local_of_its_name_alone() -> None:
    s = f(2)

    def k():
        i = 7
        a = [2 * i for i in range(3)]
        s[0], s[1] = a[2], i

    run(k)
    assert s.values.tolist() == [4, 7]


def test_the_condition_of_a_loop_changes_nothing() -> None:
    def k():
        a = 0.0
        while ti.atomic_add(a, 1.0) < 3.0:
            pass

    assert refused(k) == (
        "syntax: the condition of a loop cannot change `a`\nhelp: change it in the body, and leave by `break`"
    )


def test_chained_comparisons() -> None:
    x = f(6, dtype=ti.i32)

    def k(a: ti.i32):
        for i in range(6):
            x[i] = 1 if 1 < i <= a != 4 else 0

    for a in (3, 4, 9):
        agrees(k, [x], a)


def test_deep_nesting() -> None:
    x = f(1)
    source = f"def k():\n    x[0] = {' + '.join(['x[0]'] * 600)}\n"
    linecache.cache["<deep>"] = (len(source), None, source.splitlines(True), "<deep>")
    namespace = {"x": x}
    exec(compile(source, "<deep>", "exec"), namespace)
    x.values[...] = 1.0
    run(namespace["k"])
    assert x.values[0] == 600.0


def test_names_stay_in_their_block() -> None:
    x = f(4)

    def in_a_loop():
        for i in range(3):
            v = i
        x[0] = v

    def in_a_branch(a: float):
        if a > 0.0:
            v = 1.0
        x[0] = v

    def an_index():
        for i in range(3):
            x[i] = 0.0
        x[i] = 1.0

    def before_its_value():
        x[0] = v
        v = 1.0

    def of_two_kinds(a: float):
        if a > 0.0:
            v = 1.0
        else:
            v = ti.Vector([1.0, 2.0])
        x[0] = v

    assert "unknown-name: `v` is assigned inside a loop only and is not defined here" in refused(in_a_loop)
    assert "unknown-name: `v` is assigned in one branch only and is not defined here" in refused(in_a_branch)
    assert "`i` is assigned inside a loop" in refused(an_index)
    assert "unknown-name: `v` has no value yet" in refused(before_its_value)
    assert "`v` is an f64 in one branch and a vector of 2 in the other" in refused(of_two_kinds)


def test_an_index_that_is_a_local_already() -> None:
    x = f(4)

    def k():
        i = 3
        for i in range(3):
            x[i] = 0.0

    assert "`i` is a local already and cannot be the index of a loop" in refused(k)


def test_an_index_may_be_changed_in_a_trip() -> None:
    x = f(6, dtype=ti.i32)

    def k():
        for i in range(6):
            n = i
            i = i * 2
            x[n] = i

    agrees(k, [x])


def test_items_of_a_sequence_are_not_changed_in_place() -> None:
    s = f(2)

    def entry(a: ti.math.vec2, b: ti.math.vec2):
        for v in ti.static([a, b]):
            v[0] = 1.0

    def whole(a: ti.math.vec2, b: ti.math.vec2):
        for i, v in ti.static(enumerate((a, b))):
            v += i

    def atomic(m: ti.math.mat2):
        a = [ti.atomic_add(row[0], 1.0) for row in m]
        s[0] = a[0]

    def copied(a: ti.math.vec2, n: ti.i32):
        for v, k in ti.static([(a, n)]):
            w = v
            w[0] += 1.0
            k += 1
            v = 2.0 * w
            s[0], s[1] = v[0], k + n

    for function in (entry, whole):
        assert refused(function) == (
            "type: `v` is an item of a sequence: changing it here would change a copy only\n"
            "help: copy it to a local of another name, or unroll the loop by hand"
        )
    assert "`row` is an item of a sequence" in refused(atomic)
    run(copied, [1.0, 2.0], 3)
    assert s.values.tolist() == [4, 7]


def test_a_condition_that_is_known_leaves_what_both_branches_assign() -> None:
    x = f(4)
    many, debug = 3, False

    def of_a_number():
        if many > 2:
            a = 1.0
        else:
            a = 2.0
        x[0] = a

    def of_a_flag():
        if debug:
            a, b = 1.0, 2.0
        elif many == 3:
            a = 3.0
            b = a
        else:
            a = b = 4.0
        x[0] = a + b

    def of_one_alone():
        if many > 2:
            a = 1.0
            b = 3.0
        else:
            a = 2.0
        x[0] = a + b

    assert text(of_a_number)
    assert text(of_a_flag)
    assert "`b` is assigned in one branch only and is not defined here" in refused(of_one_alone)
