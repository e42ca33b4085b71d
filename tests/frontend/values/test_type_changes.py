"""Warnings where a value changes its kind or loses digits: in locals, in fields, by shifts."""

from __future__ import annotations

from dsim.frontend import LoweringSettings
from dsim.ir.types import f64
from tests.frontend.dialect import f, lowered, ti


def test_a_local_that_begins_as_a_truth_value_warns_when_it_gets_a_number() -> None:
    x = f(3)

    def k():
        s = x[0] > 0
        s = 2 * s - 1
        n = x[0] > 1
        n += x[1] > 1
        v = ti.Vector([x[0], x[1]]) > 0.0
        v += 1
        x[2] = s + n + v.sum()

    found = lowered(k).diagnostics
    assert [d.code for d in found] == ["type-change"] * 3
    assert [d.message.split("`")[1] for d in found] == ["s", "n", "v"]
    assert "a number becomes a truth value here: `s` is a u1 since its first assignment" in found[0].message


def test_a_local_that_stays_a_truth_value_does_not_warn() -> None:
    x = f(3)

    def k():
        flag = x[0] > 0
        flag = False
        flag = 1
        flag |= x[1] > 0
        flag = flag and x[2] > 0
        flag = not flag
        flag = x[0] > 1 if flag else x[1] > 1
        x[2] = flag

    assert lowered(k).diagnostics == ()


def test_a_local_that_is_narrower_than_what_it_gets_warns() -> None:
    x = f(2, dtype=ti.f64)
    n = f(2, dtype=ti.i64)

    def k():
        s = 0.0
        s += x[0]
        whole = 0
        whole += n[0]
        right = ti.f64(0)
        right += x[1]
        v = ti.Vector([0.0, 0.0])
        v[1] = x[0]
        for i in range(2):
            v[i] += x[0]
        x[0] = s + whole + right + v.sum()

    found = lowered(k, LoweringSettings()).diagnostics
    assert [d.code for d in found] == ["type-change"] * 4
    assert [d.message.split("`")[1] for d in found] == ["s", "whole", "v", "v"]
    assert found[0].message == "an f64 is rounded here: `s` is an f32 since its first assignment"
    assert found[0].help == "start `s` as an f64: `ds.f64(…)`, or set `ds.init(default_fp=ds.f64)`"
    assert (
        found[1].message == "an i64 loses its upper bits here: `whole` is an i32 since its first assignment"
    )


def test_literals_wider_than_a_local_do_not_warn() -> None:
    x = f(2, dtype=ti.f32)

    def k():
        s = x[0]
        s = s * 0.5
        x[1] = s

    assert lowered(k, LoweringSettings(default_fp=f64)).diagnostics == ()


def test_a_float_stored_in_an_integer_field_warns() -> None:
    n = f(1, dtype=ti.i32)

    def k(a: float):
        n[0] = a
        n[0] = 4.0

    found = lowered(k).diagnostics
    assert [d.code for d in found] == ["type-change"]
    assert found[0].span is not None
    assert found[0].span.text == "n[0]"


def test_a_shift_by_more_than_the_bits_there_are_warns() -> None:
    n = f(2, dtype=ti.i32)

    def k(i: ti.i32, j: ti.i64):
        n[0] = (i << 31) + (i >> 0) + ti.i32(j << 63)
        n[1] = i << 40
        n[1] = i >> -1
        n[1] = ti.i32(j << 64)

    found = [d for d in lowered(k).diagnostics if "shift" in d.message]
    assert [(d.message.partition(": ")[2], d.help) for d in found] == [
        ("by 8 instead of 40", "shift an i64, or write 8 if this is intended"),
        ("by 31 instead of -1", "write 31 if this is intended"),
        ("by 0 instead of 64", "write 0 if this is intended"),
    ]
