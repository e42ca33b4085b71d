"""Numbers and types: constants out of range, annotations, unsigned vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import KernelTypeError
from dsim.runtime.state.notices import DsimWarning

BIG = 3_000_000_000


@ds.func
def narrow(a: ds.i32):
    return a


def stored():
    x = ds.field(ds.i32, shape=1)

    @ds.kernel
    def k():
        x[0] = 3_000_000_000

    k()
    return x[0]


def returned():
    @ds.kernel
    def k() -> ds.i32:
        return 3_000_000_000

    return k()


def passed():
    @ds.kernel
    def k() -> ds.i64:
        return narrow(3_000_000_000)

    return k()


def annotated():
    @ds.kernel
    def k() -> ds.i64:
        a: ds.i32 = 3_000_000_000
        return a

    return k()


@pytest.mark.parametrize("function", [stored, returned, passed, annotated])
def test_a_constant_that_does_not_fit_is_said(function):
    with pytest.warns(DsimWarning, match="3000000000 does not fit into .* of type i32: it becomes -"):
        assert function() == BIG - 2**32


def test_what_is_meant_is_not_said():
    @ds.kernel
    def k() -> ds.i64:
        a = ds.i32(3_000_000_000)
        b: ds.u32 = 3_000_000_000
        return ds.i64(a) + b

    assert k() == 2 * BIG - 2**32


@pytest.mark.parametrize(("value", "dtype"), [(-1, ds.u8), (256, ds.u8), (128, ds.i8), (2**63, ds.i64)])
def test_limits_of_each_width(value, dtype):
    x = ds.field(dtype, shape=())

    @ds.kernel
    def k(n: ds.template()):
        x[None] = n

    with pytest.warns(DsimWarning, match=f"{value} does not fit"):
        k(value)
    assert x[None] == value - (2**dtype.bits if value > 0 else -(2**dtype.bits))


def test_floats_beyond_a_type_are_said():
    x = ds.field(ds.f32, shape=3)

    @ds.kernel
    def k():
        x[0] = 1e39
        x[1] = -1e200 * x[2]
        x[2] = ds.f32(10**400)

    with pytest.warns(DsimWarning, match="type-change") as said:
        k()
    texts = [str(w.message) for w in said]
    assert "1e+39 exceeds the range of f32: it becomes inf" in texts[0]
    assert "help: take a wider type, or write `math.inf` if infinity is intended" in texts[0]
    assert "1e+200 exceeds the range" in texts[1]
    assert "this integer of 1329 bits exceeds the range of f32" in texts[2]
    assert len(texts) == 3
    assert x.to_numpy()[[0, 2]].tolist() == [math.inf, math.inf]


def test_a_literal_beyond_all_floats_is_said():
    x = ds.field(ds.f64, shape=())

    @ds.kernel
    def k():
        x[None] = 1e400

    with pytest.warns(DsimWarning, match="this number is too large for any float") as said:
        k()
    assert len(said) == 1
    assert "x[None] = 1e400" in str(said[0].message)


def test_infinity_by_its_name_and_numbers_that_fit_are_not_said():
    x = ds.field(ds.f32, shape=3)
    largest = float(np.finfo(np.float32).max)

    @ds.kernel
    def k():
        x[0] = math.inf
        x[1] = largest
        x[2] = ds.f64(1e39) * ds.f64(0.0)

    k()
    assert x.to_numpy().tolist() == [math.inf, largest, 0.0]


@pytest.mark.parametrize(
    ("numbers", "first"),
    [((-1, 2), 2**64 - 1), ((2**64, 0), 0), (([-2.0, 1.5],), 2**64 - 2), ((-1,), 2**64 - 1)],
)
def test_vectors_of_integers_wrap_on_the_host_and_say_so(numbers, first):
    with pytest.warns(DsimWarning, match=f"does not fit into uint64: it becomes {first}") as said:
        made = ds.math.uvec2(*numbers)
    assert made[0] == first
    assert len(said) == 1
    assert "ds.math.uvec2(*numbers)" in str(said[0].message)


def test_what_is_no_number_makes_no_vector_of_integers():
    with pytest.raises(ValueError, match="NaN"):
        ds.math.ivec2(math.nan, 1.0)


def test_vectors_of_integers_on_the_host_hold_their_whole_range():
    assert ds.math.uvec2(2**64 - 1, 0).to_list() == [2**64 - 1, 0]
    assert ds.math.ivec2(-(2**63), 1.5).to_list() == [-(2**63), 1]
    assert ds.types.vector(2, ds.u8)(255).to_list() == [255, 255]


def test_a_second_annotation_cannot_give_another_type():
    @ds.kernel
    def k() -> ds.f64:
        d: ds.i32 = 2
        d: ds.f32 = 2.5
        return d

    with pytest.raises(KernelTypeError, match="`d` is an i32 already, and a local keeps its type") as error:
        k()
    (label,) = error.value.diagnostics[0].labels
    assert label.text == "its type comes from here"
    assert label.span.line == error.value.diagnostics[0].span.line - 1


def test_annotations_that_agree():
    @ds.kernel
    def k(n: ds.i32) -> ds.f64:
        s: ds.f64 = 0
        for i in range(n):
            d: ds.f64 = i
            s += d
        for i in range(n):
            d: ds.i32 = i
            s += d
        s: ds.f64 = s + 0.5
        return s

    assert k(3) == 6.5


def test_annotations_with_types_of_vectors():
    ds.init(default_fp=ds.f32)

    @ds.kernel
    def k(v: ds.types.vector(2, ds.f64)) -> ds.f64:
        w: ds.math.vec2 = v
        u: ds.types.vector(2, ds.i32) = [1.0, 2.0]
        return w.x + u.y // 2

    assert k([0.1, 1.0]) == np.float32(0.1) + np.float32(1.0)

    @ds.kernel
    def wrong() -> ds.f64:
        w: ds.math.vec3 = ds.Vector([1.0, 2.0])
        return w.x

    with pytest.raises(KernelTypeError, match="annotated as a vector of 3, but the value is a vector of 2"):
        wrong()


@pytest.mark.parametrize(("default_ip", "wanted"), [(ds.i32, 5_000_000_000 % 2**32), (ds.i64, 5_000_000_000)])
def test_unsigned_vectors_are_as_wide_as_the_default(default_ip, wanted):
    ds.init(default_ip=default_ip)
    unsigned = ds.u32 if default_ip == ds.i32 else ds.u64
    x = ds.math.uvec2.field(shape=1)

    @ds.kernel
    def k(n: ds.u64) -> ds.u64:
        v = ds.math.uvec2(n, 1)
        x[0] = v
        return v.x + v.y

    assert x.dtype == unsigned
    assert k(5_000_000_000) == wanted + 1
    assert x[0][0] == wanted
    assert ds.math.uvec2(7, 1).to_numpy().tolist() == [7, 1]


def same(a, b):
    """Whether two floats are the same number, or both NaN; 0.0 and -0.0 differ."""
    return float.hex(a) == float.hex(b)


@pytest.mark.parametrize(
    ("a", "b"), [(1.0, math.nan), (math.nan, 1.0), (0.0, -0.0), (-0.0, 0.0), (1.0, 2.0), (2.0, 1.0)]
)
def test_extremes_of_constants_are_those_of_values_at_run_time(a, b):
    ds.init(default_fp=ds.f64)

    @ds.kernel
    def captured() -> ds.types.vector(4, float):
        return ds.Vector([ds.max(a, b), ds.min(a, b), max(a, b), min(a, b)])

    @ds.kernel
    def passed_in(x: float, y: float) -> ds.types.vector(4, float):
        return ds.Vector([ds.max(x, y), ds.min(x, y), max(x, y), min(x, y)])

    for constant, at_run_time in zip(captured(), passed_in(a, b), strict=True):
        assert same(constant, at_run_time)
