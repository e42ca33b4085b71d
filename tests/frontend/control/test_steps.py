"""Range steps known only at run time."""

import pytest

import dsim as ds
from tests.frontend.dialect import agrees, counted, f, refused, run, text, ti

BOUNDS = [(0, 10, 3), (0, 9, 3), (10, 0, -3), (9, 0, -3), (0, 10, -1), (10, 0, 1), (4, 4, 2), (4, 4, -2),
          (-7, 7, 5), (7, -7, -5), (0, 1, 100), (1, 0, -100)]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "step"), BOUNDS)
def test_inside_of_a_loop(a, b, step) -> None:
    x = counted(24)

    def k(a: ti.i32, b: ti.i32, step: ti.i32):
        for _ in range(1):
            n = 0
            for i in range(a, b, step):
                if i == 8:
                    continue
                x[n] = i
                n += 1

    agrees(k, [x], a, b, step)


@pytest.mark.parametrize(("a", "b", "step"), BOUNDS)
def test_at_the_top(a, b, step) -> None:
    x = counted(24)

    def k(a: ti.i32, b: ti.i32, step: ti.i32):
        for i in range(a, b, step):
            x[i + 8] += i + 1

    agrees(k, [x], a, b, step)


@pytest.mark.parametrize("start", [ti.i8, ti.i32, ti.i64, ti.u8, ti.u32, ti.u64])
@pytest.mark.parametrize("step", [ti.i8, ti.i32, ti.u32, ti.u64])
def test_of_every_width(start, step) -> None:
    def k(a: start, b: start, by: step) -> ti.i64:
        n = ti.cast(0, ti.i64)
        for i in range(a, b, by):
            n = n * 10 + i
        return n

    assert run(k, 1, 9, 3) == 147
    if start.kind == step.kind == "int":
        assert run(k, 9, 1, -3) == 963


def test_far_apart() -> None:
    def k(a: ti.i32, b: ti.i32, step: ti.i32) -> ti.i32:
        n = 0
        for _ in range(a, b, step):
            n += 1
        return n

    low, high = -(1 << 31), (1 << 31) - 1
    assert run(k, low, high, 1 << 30) == 4
    assert run(k, high, low, low) == 2


@pytest.mark.parametrize("step", [ti.i32, ti.i64, ti.u64])
def test_far_apart_with_64_bits(step) -> None:
    def k(a: ti.i64, b: ti.i64, by: step) -> ti.i32:
        n = 0
        for _ in range(a, b, by):
            n += 1
        return n

    low, high = -(1 << 63), (1 << 63) - 1
    assert run(k, low, low + 3, 1) == 3
    assert run(k, high, low, 1) == 0
    if step != ti.i32:
        assert run(k, low, high, high) == 3
    if step == ti.i64:
        assert run(k, high, low, low) == 2


def test_a_step_of_zero_is_a_fault() -> None:
    ds.init()

    @ds.kernel
    def k(step: ds.i32) -> ds.i32:
        n = 0
        for i in range(0, 4, step):
            n += i
        return n

    assert k(3) == 3
    with pytest.raises(ds.KernelAssertionError, match="the step of a range cannot be 0"):
        k(0)


def test_of_a_captured_number_that_changes() -> None:
    ds.init()
    by = 1

    @ds.kernel
    def k() -> ds.i32:
        n = 0
        for i in range(0, 4, by):
            n += i + 1
        return n

    def launched(step: int) -> int:
        nonlocal by
        by = step
        return k()

    assert [launched(step) for step in (1, 2, 3, 5)] == [10, 4, 5, 1]


def test_a_known_step_needs_no_trips() -> None:
    x = f(8)
    step = 2

    def k():
        for i in range(0, 8, step):
            x[i] = 1.0

    assert "for i: i32 in 0..8 by 2" in text(k).replace("step", "by")


def test_what_is_no_step() -> None:
    def zero():
        for _ in range(0, 4, 0):
            pass

    def fraction(step: float):
        for _ in range(0, 4, step):
            pass

    def unrolled(step: ti.i32):
        for _ in ti.static(range(0, 4, step)):
            pass

    assert refused(zero) == "argument: the step of a range cannot be 0"
    assert refused(fraction) == ("type: `range` takes integers, got an f64\nhelp: cast it: `int(n)`")
    assert refused(unrolled) == "static: this must be known at compile time, but is an i32"
