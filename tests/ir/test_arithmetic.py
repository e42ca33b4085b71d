"""Edge cases of arithmetic: overflow, division by zero, saturation, and random bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsim.ir import arithmetic
from dsim.ir.build import const, evaluate
from dsim.ir.nodes import Const
from dsim.ir.types import BY_NAME, ScalarType, f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64


def value(op: str, type: ScalarType, *args: float, to: ScalarType | None = None) -> float:
    return evaluate(op, tuple(const(a, type) for a in args), to or type).value


@pytest.mark.parametrize(
    ("op", "type", "args", "expected"),
    [
        ("add", i32, (2**31 - 1, 1), -(2**31)),
        ("sub", i32, (-(2**31), 1), 2**31 - 1),
        ("mul", i32, (65536, 65536), 0),
        ("mul", i32, (46341, 46341), -2147479015),
        ("add", u8, (255, 1), 0),
        ("sub", u32, (0, 1), 2**32 - 1),
        ("mul", i64, (2**62, 2), -(2**63)),
        ("neg", i32, (-(2**31),), -(2**31)),
        ("neg", u8, (1,), 255),
        ("abs", i8, (-128,), -128),
        ("bnot", u16, (1,), 65534),
        ("bnot", i16, (0,), -1),
        ("floordiv", i32, (-(2**31), -1), -(2**31)),
    ],
)
def test_integers_wrap(op: str, type: ScalarType, args: tuple, expected: int) -> None:
    assert value(op, type, *args) == expected


@pytest.mark.parametrize("type", [i8, i32, i64])
@pytest.mark.parametrize(
    ("a", "b", "quotient", "rest"),
    [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (7, 0, 0, 0)],
)
def test_division_rounds_down_and_the_rest_has_the_divisors_sign(type, a, b, quotient, rest) -> None:
    assert value("floordiv", type, a, b) == quotient
    assert value("mod", type, a, b) == rest


@pytest.mark.parametrize(
    ("a", "b", "quotient", "rest"), [(7.5, 2.0, 3, 1.5), (-7.5, 2.0, -4, 0.5), (7.5, -2.0, -4, -0.5)]
)
def test_floats_divide_as_integers_do(a, b, quotient, rest) -> None:
    assert value("floordiv", f64, a, b) == quotient
    assert value("mod", f64, a, b) == rest


def test_float_division_by_zero_is_infinite_or_no_number() -> None:
    assert value("div", f32, 1.0, 0.0) == math.inf
    assert value("div", f32, -1.0, 0.0) == -math.inf
    assert math.isnan(value("div", f32, 0.0, 0.0))
    assert math.isnan(value("mod", f64, 1.0, 0.0))


@pytest.mark.parametrize(
    ("type", "x", "n", "expected"),
    [
        (f64, 2.0, 10, 1024),
        (f64, 2.0, -2, 0.25),
        (f64, 0.0, 0, 1),
        (f64, 0.0, -1, math.inf),
        (f64, -3.0, 3, -27),
        (i32, 3, 4, 81),
        (i32, 2, -1, 0),
        (i32, 1, -5, 1),
        (i32, -1, -5, -1),
        (i32, -1, -4, 1),
        (i32, 0, -1, 0),
        (i32, 7, 0, 1),
        (i32, 10, 10, 1410065408),
        (f32, 2.0, -(2**31), 0),
        (f32, 1.0, -(2**31), 1),
        (u8, 3, 6, 217),
    ],
)
def test_integer_powers(type: ScalarType, x: float, n: int, expected: float) -> None:
    assert evaluate("powi", (const(x, type), const(n, i32)), type).value == expected


@pytest.mark.parametrize(
    ("a", "to", "expected"),
    [
        (2.9, i32, 2),
        (-2.9, i32, -2),
        (3e9, i32, 2**31 - 1),
        (-3e9, i32, -(2**31)),
        (-1.0, u32, 0),
        (300.0, u8, 255),
        (1e30, i64, 2**63 - 1),
        (1e30, u64, 2**64 - 1),
        (math.inf, i8, 127),
        (-math.inf, i8, -128),
        (math.nan, i32, 0),
        (0.5, u1, True),
        (0.0, u1, False),
        (math.nan, u1, True),
        (70000.0, f16, math.inf),
        (0.1, f32, float(np.float32(0.1))),
    ],
)
def test_casts_of_floats_truncate_and_saturate(a: float, to: ScalarType, expected: float) -> None:
    assert value("cast", f64, a, to=to) == expected


@pytest.mark.parametrize(
    ("a", "source", "to", "expected"),
    [
        (300, i32, u8, 44),
        (-1, i32, u8, 255),
        (-1, i32, u64, 2**64 - 1),
        (200, u8, i8, -56),
        (2**31, u32, i32, -(2**31)),
        (2, i32, u1, True),
        (256, i32, u1, True),
        (16777217, i32, f32, 16777216.0),
        (2**64 - 1, u64, f64, 2.0**64),
        (True, u1, i32, 1),
        (True, u1, f32, 1.0),
    ],
)
def test_casts_of_integers_wrap(a: int, source: ScalarType, to: ScalarType, expected: float) -> None:
    assert evaluate("cast", (const(a, source),), to).value == expected


def test_bit_casts_keep_the_bits() -> None:
    assert value("bit_cast", f32, 1.0, to=u32) == 0x3F800000
    assert value("bit_cast", i64, 0x3FF0000000000000, to=f64) == 1.0
    assert value("bit_cast", i32, -1, to=u32) == 2**32 - 1


@pytest.mark.parametrize(
    ("op", "type", "a", "b", "expected"),
    [
        ("shl", i32, 1, 31, -(2**31)),
        ("shl", i32, 1, 32, 1),
        ("shl", u8, 1, 9, 2),
        ("shr", i32, -8, 1, -4),
        ("shr", u32, 2**31, 31, 1),
        ("shr", i32, 8, -31, 4),
    ],
)
def test_shifts_use_the_low_bits_of_their_amount(op, type, a, b, expected) -> None:
    assert value(op, type, a, b) == expected


@pytest.mark.parametrize("op", ["max", "min"])
def test_the_right_operand_wins_ties_and_beside_no_number(op: str) -> None:
    assert math.isnan(value(op, f64, 1.0, math.nan))
    assert value(op, f64, math.nan, 1.0) == 1
    assert math.copysign(1, value(op, f64, 0.0, -0.0)) == -1
    assert math.copysign(1, value(op, f64, -0.0, 0.0)) == 1


def test_a_strong_zero_ends_everything() -> None:
    assert value("mul_strong", f64, math.inf, 0.0) == 0
    assert value("mul_strong", f64, math.nan, 0.0) == 0
    assert value("mul_strong", f64, 3.0, 2.0) == 6
    assert math.isnan(value("mul_strong", f64, 0.0, math.inf))


def test_strong_quotients() -> None:
    assert value("div_strong", f64, 0.0, 0.0) == 0
    assert value("div_strong", f64, 0.0, math.nan) == 0
    assert value("div_strong", f64, 3.0, 2.0) == 1.5
    assert value("div_strong", f64, 3.0, 0.0) == math.inf
    assert value("mul_div_strong", f64, math.inf, 0.0, 0.0) == 0
    assert value("mul_div_strong", f64, 2.0, 3.0, 4.0) == 1.5
    assert value("mul_div_strong", f64, 2.0**-600, 2.0**-600, 2.0**-800) == 2.0**-400


def test_halves_round_to_even() -> None:
    assert [value("round", f64, v) for v in (0.5, 1.5, 2.5, -0.5, -1.5)] == [0, 2, 2, 0, -2]


# Threefry-2x32 with 20 rounds: the known answers of Random123 (kat_vectors), first words
ONES, PI = 0xFFFFFFFF, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)


@pytest.mark.parametrize(
    ("counter", "key", "first"),
    [((0, 0), (0, 0), 0x6B200159), ((ONES, ONES), (ONES, ONES), 0x1CB996FC), (PI[:2], PI[2:], 0xC4923A9C)],
)
def test_random_bits_are_threefry(counter: tuple[int, int], key: tuple[int, int], first: int) -> None:
    iteration = np.uint64(counter[0] | counter[1] << 32)
    launch = np.uint64(key[0] | key[1] << 32)
    assert arithmetic.random_bits(launch, iteration, np.uint32(0)) == first
    assert arithmetic.random_bits(np.uint64(key[0]), iteration, np.uint32(key[1])) == first


def test_random_bits_differ_by_every_part_of_the_counter() -> None:
    drawn = {
        int(arithmetic.random_bits(np.uint64(a), np.int32(b), np.int32(c)))
        for a in range(8)
        for b in range(8)
        for c in range(8)
    }
    assert len(drawn) == 512


def test_constants_round_and_wrap() -> None:
    assert const(300, u8) == Const(44, u8)
    assert const(-1, u64) == Const(2**64 - 1, u64)
    assert const(0.1, f32).value == float(np.float32(0.1))
    assert const(2, u1) == Const(True, u1)
    assert const(2.7, i32) == Const(2, i32)
    assert const(True, i32) == Const(1, i32)
    assert all(BY_NAME[t.name] is t for t in BY_NAME.values())
