"""Numbers, their types, operators and functions of scalars."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsim.frontend import LoweringSettings
from dsim.ir.nodes import Let
from dsim.ir.types import f32, f64, i32, i64
from dsim.ir.walk import statements
from tests.frontend.dialect import agrees, f, lowered, refused, run, text, ti


def ops(function, **options) -> list[str]:
    return [s.op for s in statements(lowered(function, **options).kernel.body) if isinstance(s, Let)]


def test_arithmetic_does_what_python_does() -> None:
    x = f(8)
    n = f(8, dtype=ti.i32)

    def k(a: float, b: float, i: ti.i32, j: ti.i32):
        x[0] = a + b * 2 - a / b
        x[1] = i / j
        x[2] = a // b + a % b
        x[3] = a**3 + a**-1 + a**0.5 + 2.0**a
        x[4] = -a + (+b)
        x[5] = i * a
        n[0] = i + j * 2 - 3
        n[1] = i // j
        n[2] = i % j
        n[3] = (i & j) | (i ^ 5)
        n[4] = (i << 3) + (i >> 1)
        n[5] = ~i
        n[6] = i**3

    for args in ((2.5, 1.5, 7, 2), (0.3, -4.0, -7, 3), (5.0, 2.0, 7, -2)):
        agrees(k, [x, n], *args)


def test_an_underscore_takes_values_of_any_types() -> None:
    x = f(4)

    @ti.func
    def pair(v):
        return ti.Vector([v, v]), v + 1

    def k(a: float):
        _, x[0] = pair(a)
        for i in range(2):
            (x[i + 1], _), c = pair(a + i)
            _, _, x[3] = 1, a, c

    run(k, 0.5)
    assert x.values.tolist() == [1.5, 0.5, 1.5, 2.5]


def test_comparisons_and_truth() -> None:
    n = f(8, dtype=ti.i32)

    def k(a: float, i: ti.i32):
        n[0] = 1 if a < 1 else 0
        n[1] = 1 if i == 3 else 0
        n[2] = 1 if not i else 0
        n[3] = 1 if a != 2.0 and i > 0 else 0
        n[4] = 1 if i or a > 1.0 else 0
        n[5] = 1 if (a > 0) == (i > 0) else 0
        n[6] = 1 if i in (1, 3, 5) else 0
        n[7] = 1 if i not in (1, 3, 5) else 0

    for args in ((2.0, 3), (0.5, 0), (-1.0, -2)):
        agrees(k, [n], *args)


def test_literals_have_the_default_types() -> None:
    x = f(3, dtype=ti.f32)

    def k():
        a = 1
        b = 2.0
        c = 1 << 40
        x[0] = a + b + c

    single = lowered(k, LoweringSettings(f32, i32, watch=True)).slots
    assert [slot.type for slot in single] == [i32, f32, i64, f32]
    double = lowered(k, LoweringSettings(f64, i64, watch=True)).slots
    assert [slot.type for slot in double] == [i64, f64, i64, f32]


def test_a_literal_takes_the_width_of_what_it_meets() -> None:
    x = f(1, values=1.0)

    def k():
        x[0] = x[0] * 0.1

    run(k, settings=LoweringSettings(f32, i32))
    assert x.values[0] == 0.1  # not 0.1 rounded to f32


def test_captured_numbers_are_computed_with_exactly() -> None:
    x = f(1)
    n, dt = 100_000, 1e-3

    def k():
        x[0] = n * n * dt

    run(k)
    assert x.values[0] == pytest.approx(1e7)


def test_division_of_integers_is_true_division() -> None:
    x = f(1)

    def k(i: ti.i32):
        x[0] = i / 4

    assert run(k, 3) is None
    assert x.values[0] == 0.75


def test_a_local_keeps_the_type_of_its_first_value() -> None:
    x = f(2)

    def k(a: float):
        s = 0.0
        s = 3
        x[0] = s / 2
        n = 0
        n = a
        x[1] = n

    result = lowered(k)
    assert [d.code for d in result.diagnostics] == ["type-change"]
    assert "`n` is an i32 since its first assignment" in result.diagnostics[0].message
    run(k, 2.75)
    assert x.values.tolist() == [1.5, 2.0]


def test_powers_by_math_are_floats() -> None:
    x = f(3, dtype=ti.f64)

    def k(a: ti.i32, b: ti.i32):
        x[0] = math.pow(a, b)
        x[1] = math.pow(a, -b)
        x[2] = math.pow(2, -1) + math.pow(x[0], 2)

    assert run(k, 10, 10) is None
    assert x.values.tolist() == [1e10, 1e-10, 0.5 + 1e20]


def test_an_augmented_assignment_reads_its_local_first() -> None:
    x = f(3)

    def k():
        s = 1.0
        s += (s := 10.0)
        v, i = ti.Vector([1.0, 2.0]), 0
        v[i] += (i := 1) + 5.0
        x[0] = s
        x[1] = v[0]
        x[2] = v[1]

    run(k)
    assert x.values.tolist() == [11.0, 7.0, 2.0]


def test_casts() -> None:
    x = f(6)
    n = f(6, dtype=ti.i32)

    def k(a: float, i: ti.i32):
        n[0] = int(a)
        n[1] = ti.cast(a, ti.i32)
        n[2] = ti.i32(a)
        n[3] = ti.cast(300 + i, ti.u8)
        n[4] = bool(i)
        x[0] = float(i) / 2
        x[1] = ti.f32(0.1)
        x[2] = np.float32(a)

    run(k, -2.75, 3)
    assert n.values[:5].tolist() == [-2, -2, -2, 47, 1]
    assert x.values[:3].tolist() == [1.5, float(np.float32(0.1)), -2.75]


def test_bit_cast() -> None:
    n = f(1, dtype=ti.i32)

    def k(a: ti.f32):
        n[0] = ti.bit_cast(a, ti.i32)

    run(k, 1.0)
    assert n.values[0] == 0x3F800000


def test_bit_cast_of_vectors_goes_entry_by_entry() -> None:
    n = f(3, dtype=ti.i32)

    def k(a: ti.f32):
        v = ti.bit_cast(ti.Vector([a, a + a]), ti.i32)
        w = ti.bit_cast([a, -a], ti.i32)
        n[0], n[1], n[2] = v[0], v[1], w[1]

    run(k, 1.0)
    assert n.values.tolist() == [0x3F800000, 0x40000000, 0x3F800000 - 2**31]


def test_elementary_functions() -> None:
    x = f(24)

    def k(a: float, b: float):
        x[0] = ti.sin(a) + ti.cos(a) + ti.tan(a)
        x[1] = ti.asin(a) + ti.acos(a) + ti.atan(a)
        x[2] = ti.sinh(a) + ti.cosh(a) + ti.tanh(a)
        x[3] = ti.exp(a) + ti.log(a) + ti.sqrt(a) + ti.rsqrt(a)
        x[4] = ti.atan2(a, b)
        x[5] = ti.floor(b) + ti.ceil(b) * 10 + ti.round(b) * 100
        x[6] = abs(b) + ti.abs(-a)
        x[7] = max(a, b, 0.5) + min(a, b, -0.5)
        x[8] = pow(a, 3) + ti.pow(a, b)
        x[9] = ti.select(a > 0.5, a, b)
        x[10] = ti.sign(b)
        x[11] = math.sin(a) + np.cos(a) + np.arctan2(a, b) + np.maximum(a, b)
        x[12] = ti.math.clamp(b, -1.0, 0.0) + ti.math.mix(a, b, 0.25)
        x[13] = ti.math.fract(b) + ti.math.mod(b, 1.5) + ti.math.step(0.3, a)
        x[14] = ti.math.smoothstep(0.0, 1.0, a)
        x[15] = math.floor(b) / 2 + round(b) + math.ceil(a)
        x[16] = math.pi * a + math.inf * 0 if False else math.e
        x[17] = max(1, 2) + min(3, a) + abs(-2)

    a, b = 0.4, -2.3
    run(k, a, b)
    wanted = [
        math.sin(a) + math.cos(a) + math.tan(a),
        math.asin(a) + math.acos(a) + math.atan(a),
        math.sinh(a) + math.cosh(a) + math.tanh(a),
        math.exp(a) + math.log(a) + math.sqrt(a) + 1 / math.sqrt(a),
        math.atan2(a, b),
        -3 + -2 * 10 + -2 * 100,
        -b + a,
        0.5 + b,
        a**3 + a**b,
        b,
        -1,
        math.sin(a) + math.cos(a) + math.atan2(a, b) + a,
        -1.0 + a * 0.75 + b * 0.25,
        (b + 3) + (b + 3.0) + 1.0,
        a * a * (3 - 2 * a),
        -1.5 - 2 + 1,
        math.e,
        2 + a + 2,
    ]
    np.testing.assert_allclose(x.values[: len(wanted)], wanted, rtol=1e-12)


def test_integer_exponents_are_products() -> None:
    x = f(3)

    def k(a: float, n: ti.i32):
        x[0] = a**2
        x[1] = a**2.0
        x[2] = a**n

    assert ops(k) == ["powi", "powi", "powi"]


def test_stop_grad_is_kept() -> None:
    x = f(1)

    def k(a: float):
        x[0] = a * ti.stop_grad(a)

    assert ops(k) == ["stop", "mul"]


def test_errors_of_types() -> None:
    x = f(3)
    n = f(3, dtype=ti.i32)

    def bits(a: float):
        x[0] = a & 1

    def flags(a: float):
        if a and x[0] > 1.0:
            x[0] = 1.0

    def fraction(i: ti.i32):
        x[0] = i**-1

    def zero():
        x[0] = 1 // 0

    def string():
        a = "text"
        x[0] = 1.0

    def nothing():
        a = print("x")
        x[0] = 1.0

    def whole():
        x[0] = x + 1.0

    def bits_of_floats():
        x[0] |= 1

    assert "type: `&` works on integers, got an f64 and an integer" in refused(bits)
    assert "type: `and` works on truth values, got an f64" in refused(flags)
    assert "an integer to a negative power" in refused(fraction)
    assert "type: this divides by zero" in refused(zero)
    assert "strings are allowed only in" in refused(string)
    assert "`a` would be None" in refused(nothing)
    assert refused(whole) == "type: `+` does not work on the field `x`\nhelp: index it, as in `x[i]`"
    assert "`|` works on integers, but `x` holds f64" in refused(bits_of_floats)
    assert n.shape == (3,)


def test_truth_values_of_a_field_are_not_counted() -> None:
    b = f(2, dtype=ti.u1)

    def counts(i: ti.i32):
        b[0] += 1

    def counts_by_a_function(i: ti.i32):
        ti.atomic_sub(b[0], i > 2)

    def combines(i: ti.i32):
        b[0] |= i > 2
        b[1] ^= True

    assert "`+=` computes with numbers, but `b` holds truth values (u1)\nhelp: take a field" in refused(
        counts
    )
    assert "`-=` computes with numbers" in refused(counts_by_a_function)
    run(combines, 3)
    assert b.values.tolist() == [True, True]


def test_names_of_locals_are_readable() -> None:
    x = f(4, entry=(2,))

    def k():
        for i in x:
            r = x[i] - x[0]
            m = r.outer_product(r)
            q = m @ m
            w = r.norm()
            x[i] = r * w + q[0, 1]

    shown = text(k)
    for name in ("r_x: f64 = sub", "r_y: f64 = sub", "m_01: f64 = mul", "q_11: f64 = add", "w: f64 = sqrt0"):
        assert name in shown
