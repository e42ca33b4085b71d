"""`is` and `==` of Python objects in `static`: those known at compile time, and errors for others."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _double():
    ti.init(default_fp=ti.f64)


def test_fields_by_several_names():
    a, b = ti.field(float, shape=2, needs_grad=True), ti.field(float, shape=2)
    listed, s = [a, b], ti.Struct.field({"m": float}, shape=2)

    @ti.kernel
    def run(x: ti.template()) -> int:
        return (
            ti.static(x is a)
            + 10 * ti.static(x == b)
            + 100 * ti.static(x is listed[1])
            + 1000 * ti.static(x != a)
            + 10000 * ti.static(x.shape == listed[0].shape)
        )

    @ti.kernel
    def members() -> int:
        return ti.static(s is s) + 10 * ti.static(s.m is s.m) + 100 * ti.static(a.grad is a)

    assert (run(a), run(b)) == (10001, 11110)
    assert members() == 11


def test_arrays_that_are_one_array():
    @ti.kernel
    def run(x: ti.types.ndarray(), y: ti.types.ndarray()) -> int:
        return ti.static(x is y) + 10 * ti.static(x is not None)

    x, y = ti.ndarray(float, 3), ti.ndarray(float, 3)
    assert (run(x, y), run(x, x), run(y, x)) == (10, 11, 10)


def test_functions_methods_structs_and_brackets():
    class Own:
        def f(self, v):
            return v

    kind = ti.types.struct(a=int)
    own, other, g = Own(), Own(), lambda v: v
    one, same, two = kind(1), kind(1), kind(2)

    @ti.kernel
    def functions(h: ti.template()) -> int:
        p = g
        return ti.static(h is p) + 10 * ti.static(own.f == own.f) + 100 * ti.static(own.f == other.f)

    @ti.kernel
    def values() -> int:
        return (
            ti.static(one == same)
            + 10 * ti.static(one == two)
            + 100 * ti.static((1, "a") == (1, "a"))
            + 1000 * ti.static([1] == (1,))
        )

    assert (functions(g), functions(own.f)) == (11, 10)
    assert values() == 101


def test_numbers_are_neither_texts_nor_none():
    @ti.kernel
    def run(a: int) -> int:
        return ti.static(a == "x") + 10 * ti.static(a is not None) + 100 * ti.static(a != None)  # noqa: E711

    assert run(1) == 110


def test_what_is_known_at_run_time_is_refused():
    kind, x = ti.types.struct(a=int), ti.field(int, shape=2)

    @ti.kernel
    def numbers(a: int, b: int) -> int:
        return ti.static(a is b)

    @ti.kernel
    def brackets(a: int, b: int) -> int:
        return ti.static((a, 1) != (2, 1))

    @ti.kernel
    def structs(a: int, b: int) -> int:
        return ti.static(kind(a) == kind(b))

    @ti.kernel
    def elements(a: int, b: int) -> int:
        return ti.static(x[0] == [1])

    for run in (numbers, brackets, structs, elements):
        with pytest.raises(ti.TaichiCompilationError, match="must be known at compile time, but is an i32"):
            run(2, 2)


def test_arrays_are_not_compared_as_a_whole():
    a, b = np.zeros(3), np.zeros(3)

    @ti.kernel
    def run() -> int:
        return ti.static(a == b)

    with pytest.raises(ti.TaichiCompilationError, match="these cannot be compared as a whole"):
        run()
