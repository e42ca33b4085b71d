"""The iterables of loops: ranges, grids, fields, and loops unrolled at compile time."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.frontend import LoopConfig
from dsim.frontend.frames import items
from dsim.ir.nodes import For
from dsim.ir.walk import statements
from tests.frontend.dialect import f, lowered, refused, run, text, ti


def loops(function) -> list[For]:
    return [s for s in statements(lowered(function).kernel.body) if isinstance(s, For)]


def test_a_field_without_axes_has_one_index() -> None:
    s, t, v = f(), f(4), f(entry=(2,))

    def k(n: ti.i32):
        for i in s:
            s[i] = 2.0
            s[None] += 1.0
        total = 0.0
        for i in ti.grouped(v):
            for m in range(n):
                if m == 3:
                    break
                v[i] += float(m)
                total += s[i]
        for i in ti.static(ti.grouped(s)):
            t[1] = s[i]
        t[0] = total

    run(k, 7)
    assert s.values == 3.0
    assert v.values.tolist() == [3, 3]
    assert t.values.tolist() == [9, 3, 0, 0]


def test_ndrange_is_a_direct_nest() -> None:
    x = f(4, 5)

    def k(n: ti.i32):
        for i, j in ti.ndrange(n, (1, 4)):
            x[i, j] = i * 10 + j

    outer, inner = loops(k)
    assert outer.body.statements == (inner,)
    assert (outer.index.name, inner.index.name) == ("i", "j")
    assert not outer.parallel
    run(k, 3)
    wanted = np.zeros((4, 5))
    for i in range(3):
        for j in range(1, 4):
            wanted[i, j] = i * 10 + j
    assert x.values.tolist() == wanted.tolist()


def test_fields_as_ranges() -> None:
    x, y, v = f(4), f(2, 3), f(2, entry=(3,))

    def k():
        for i in x:
            x[i] = i
        for i, j in y:
            y[i, j] = i + j
        for p in v:
            v[p] = [p, 1.0, 2.0]

    run(k)
    assert x.values.tolist() == [0, 1, 2, 3]
    assert y.values.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert v.values.tolist() == [[0, 1, 2], [1, 1, 2]]


def test_index_vectors() -> None:
    y, z, s = f(3, 4), f(3, 4), f(3, dtype=ti.i32)

    def k():
        for I in ti.grouped(y):
            y[I] = I[0] * 10 + I.y
        for I in ti.grouped(ti.ndrange((1, 3), 2)):
            z[I + [0, 1]] = y[I]
        for I in ti.ndrange(3, 4):
            if I[0] == 2 and I[1] == 3:
                s[0] = I.sum()
        for i in y.shape:
            pass

    def without_the_last():
        for I in ti.grouped(y):
            y[I] = I[0] * 10 + I.y
        for I in ti.grouped(ti.ndrange((1, 3), 2)):
            z[I + [0, 1]] = y[I]
        for I in ti.ndrange(3, 4):
            if I[0] == 2 and I[1] == 3:
                s[0] = I.sum()

    assert "static" in refused(k)
    run(without_the_last)
    assert y.values[2, 3] == 23
    assert z.values[1:, 1:3].tolist() == [[10, 11], [20, 21]]
    assert s.values[0] == 5


def test_grouped_over_one_axis_gives_a_vector_too() -> None:
    x = f(3)

    def k():
        for I in ti.grouped(x):
            x[I] = I[0]

    run(k)
    assert x.values.tolist() == [0, 1, 2]


def test_bounds_from_fields_and_captures() -> None:
    x, n = f(6), f(dtype=ti.i32, values=4)
    N = 5

    def k():
        for i in range(n[None]):
            x[i] += 1.0
        for i in range(x.shape[0] - N, N):
            x[i] += 10.0
        for i in range(*x.shape):
            x[i] += 100.0

    run(k)
    assert x.values.tolist() == [101, 111, 111, 111, 110, 100]


def test_written_out() -> None:
    x = f(4)
    offsets = [(0, 1.0), (2, 3.0)]
    names = {"a": 1}

    def k():
        for i in ti.static(range(2)):
            x[i] += i + 1
        for i, v in ti.static(offsets):
            x[i] += v * 10
        for i, (a, b) in ti.static(enumerate(offsets)):
            x[3] += i + a + b
        for a, b in ti.static(zip([1, 2], [3.0, 4.0])):
            x[1] += a * b * 100
        for i, j in ti.static(ti.ndrange(2, 2)):
            x[2] += (i * 2 + j) * 1000
        for key in ti.static(names):
            x[3] += 0.5

    assert "for" not in text(k)
    run(k)
    assert x.values.tolist() == [11, 2 + 1100, 30 + 6000, 1 + 4 + 2 + 0.5]
    captures = {c.name: c.value for c in lowered(k).captures}
    assert captures["offsets"] == ((0, 1.0), (2, 3.0))


def test_what_a_python_function_refuses_at_compile_time_is_an_error_of_the_kernel() -> None:
    x = f(2)

    def checked(n):
        if n > 1:
            raise ValueError(f"{n} is too many")
        return n

    def k():
        x[0] = ti.static(checked(1))
        x[1] = ti.static(checked(2))

    assert refused(k) == "argument: 2 is too many"


def test_static_conditions_drop_the_other_branch() -> None:
    x = f(2)
    flag, kind = True, "fast"

    def k():
        if ti.static(flag):
            a = 1.0
        else:
            a = ti.no_such_function(2)
        x[0] = a
        if ti.static(kind == "slow"):
            x[1] = ti.no_such_function(2)
        elif ti.static(kind == "fast" and len(x.shape) == 1):
            x[1] = 3.0
        x[1] += 1 if ti.static(not flag) else 2

    run(k)
    assert x.values.tolist() == [1.0, 5.0]


def test_static_values_and_python_functions() -> None:
    x = f(3)
    table = [1.0, 2.0, 4.0]

    def weights(n):
        return [i * 0.5 for i in range(n)]

    def k():
        for i in ti.static(range(len(table))):
            x[i] = table[i] * ti.static(2**i + 1)
        for i, w in ti.static(enumerate(weights(3))):
            x[i] += w
        ti.static_assert(len(table) == 3, "three weights")

    run(k)
    assert x.values.tolist() == [2.0, 6.5, 21.0]


def test_loop_config_is_kept_for_the_next_loop() -> None:
    x = f(3)

    def k():
        ti.loop_config(serialize=True)
        for i in x:
            x[i] = 1.0
        ti.loop_config(parallel=True, block_dim=128)
        for i, j in ti.ndrange(3, 2):
            x[i] = 1.0
        for i in x:
            x[i] = 2.0

    found = {v.name: c for v, c in lowered(k).loops.items()}
    assert found == {"i": LoopConfig(serialize=True), "i_1": LoopConfig(parallel=True)}


def test_mixed_statements_and_loops() -> None:
    x, s = f(3), f()

    def k():
        s[None] += 1.0
        for i in range(2):
            s[None] += 10.0
            for j in range(3):
                x[j] += 1.0
            for j in range(i):
                x[j] += 100.0
        s[None] *= 2.0

    run(k)
    assert s.values == 42.0
    assert x.values.tolist() == [102, 2, 2]


def test_errors_of_loops() -> None:
    x, y, s = f(3), f(3, 3), f()
    offsets = [1, 2]

    def one_for_two():
        for i, j in x:
            x[i] = 1.0

    def two_for_three():
        for i, j in ti.ndrange(2, 2, 2):
            x[i] = 1.0

    def grouped_taken_apart():
        for i, j in ti.grouped(y):
            x[i] = 1.0

    def float_bound(a: float):
        for i in range(a):
            x[i] = 1.0

    def zero_step():
        for i in range(0, 3, 0):
            x[i] = 1.0

    def a_list():
        for i in offsets:
            x[i] = 1.0

    def a_number(n: ti.i32):
        for i in n:
            x[i] = 1.0

    def no_axes():
        for i, j in s:
            s[None] = 1.0

    def no_entries():
        for i in ti.grouped(s):
            s[i] = i.sum()

    def no_terms():
        for i in ti.grouped(s):
            s[i] = i.norm()

    def unknown_at_compile_time(n: ti.i32):
        for i in ti.static(range(n)):
            x[i] = 1.0

    def lengths():
        for a, b in ti.static(zip([1, 2], [3, 4, 5], strict=True)):
            x[a] = b

    def static_of_a_value(n: ti.i32):
        if ti.static(n > 1):
            x[0] = 1.0

    assert "index: this loop has 1 index, not 2 of them" in refused(one_for_two)
    assert "index: this loop has 3 indices, not 2 of them" in refused(two_for_three)
    assert "index: this loop has an index vector, not 2 of them" in refused(grouped_taken_apart)
    assert "type: `range` takes integers, got an f64\nhelp: cast it: `int(n)`" in refused(float_bound)
    assert "argument: the step of a range cannot be 0" in refused(zero_step)
    assert "static: a loop cannot iterate over a Python object of type `list`" in refused(a_list)
    assert "type: a loop cannot iterate over an i32" in refused(a_number)
    assert "index: this loop has 0 indices, not 2 of them" in refused(no_axes)
    assert "needs two arguments, or a vector" in refused(no_entries)
    assert "shape: a vector without entries has no sum" in refused(no_terms)
    assert "argument: `zip` with `strict=True` got sequences of `2`, `3` items" in refused(lengths)
    assert "static: this must be known at compile time, but is an i32" in refused(unknown_at_compile_time)
    assert "static: `static` needs a value known at compile time, got a truth value" in refused(
        static_of_a_value
    )


@pytest.mark.slow
def test_loops_that_are_written_out_in_one_another(monkeypatch) -> None:
    x = f(10)

    def nested():
        for i in ti.static(range(10)):
            for j in ti.static(range(10)):
                for k in ti.static(range(10)):
                    x[0] += i * j * k

    def with_breaks():
        for i in ti.static(range(10)):
            for j in ti.static(range(10)):
                if x[i] < j:
                    break
                for k in ti.static(range(10)):
                    x[0] += i * j * k

    def listed():
        x[0] = sum([i * j * k for i in range(10) for j in range(10) for k in range(10)])

    def after_one_another():
        for i in ti.static(range(400)):
            x[0] += i
        for i in ti.static(range(400)):
            x[0] += i

    monkeypatch.setattr(items, "MOST_COPIES", 1110)
    lowered(nested)
    monkeypatch.setattr(items, "MOST_COPIES", 700)
    for function in (nested, with_breaks, listed, after_one_another):
        assert refused(function) == (
            "limit: the static loops of this kernel unroll to more than 700 times in all\n"
            "help: remove `static` from the outer loops: run-time loops are not unrolled"
        )


def test_a_grid_that_is_written_out() -> None:
    x = f(10)

    def grid():
        for i, j in ti.static(ti.ndrange(1000, 1000)):
            x[0] += i * j

    assert "this loop would be unrolled 1000000 times; 20000 is the most" in refused(grid)
