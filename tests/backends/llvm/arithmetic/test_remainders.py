"""`%` and `//` of floats equal Python's: in compiled kernels, the readable Python and constants."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import dsim as ds
from dsim.ir import arithmetic

TYPES = {np.float64: ds.f64, np.float32: ds.f32, np.float16: ds.f16}
COUNT = 4000
Numbers = ds.types.ndarray(ndim=1)
_CASES = [0.0, -0.0, 1.0, -1.0, 1.3, 3.9, -3.9, 0.1, 49.0, 1e16, 2.0**23, 2.0**52, -1e-20, 1 / 3]


def numbers(rng, kind):
    """Of all sizes, and the corners of the type."""
    limits = np.finfo(kind)
    corners = [float(v) for v in (limits.tiny, limits.smallest_subnormal, limits.max)]
    corners += [math.inf, -math.inf, math.nan, *_CASES]

    def one():
        r = rng.random()
        if r < 0.3:
            return rng.choice(corners)
        if r < 0.7:
            return rng.randint(-50, 50) * 0.1 + rng.choice((0.0, rng.random()))
        low = int(limits.minexp) if r > 0.9 else -40
        return math.ldexp(rng.uniform(-1.0, 1.0), rng.randint(low, min(limits.maxexp - 1, 60)))

    with np.errstate(over="ignore"):
        return np.array([one() for _ in range(COUNT)]).astype(kind)


def pythons(a, b, kind):
    """The remainder and the quotient in Python's own floats, which for a divisor of 0 only NumPy has."""
    with np.errstate(all="ignore"):
        if kind is np.float32:
            return a % b, a // b
        x, y = float(a), float(b)
        try:
            return kind(x % y), kind(x // y)
        except ZeroDivisionError:
            return kind(math.nan), kind(np.float64(x) / np.float64(y))


def same(a, b):
    return bool(a == b and np.signbit(a) == np.signbit(b)) or bool(np.isnan(a) and np.isnan(b))


def without_subnormals(a):
    return np.where(np.abs(a) < np.finfo(a.dtype).tiny, np.copysign(a.dtype.type(0), a), a)


@pytest.fixture(params=TYPES, ids=lambda t: t.__name__)
def drawn(request):
    kind, rng = request.param, random.Random(7)
    a, b = numbers(rng, kind), numbers(rng, kind)
    with np.errstate(all="ignore"):
        a[::7] = b[::7] * kind(rng.randint(-20, 20))  # quotients that are whole but for rounding
    return kind, a, b


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("serial", [False, True])
def test_compiled(drawn, serial, fast):
    """With fast arithmetic, subnormal floats are zeros: no operand, remainder or result may be one."""
    ds.init(fast_math=fast)
    kind, a, b = drawn
    zeros = fast and kind is not np.float16
    if zeros:
        a, b = without_subnormals(a), without_subnormals(b)
        with np.errstate(all="ignore"):
            b = np.where(np.fmod(a, b) == without_subnormals(np.fmod(a, b)), b, kind(1))
    rest, quotient = np.zeros(COUNT, kind), np.zeros(COUNT, kind)

    @ds.kernel
    def k(a: Numbers, b: Numbers, rest: Numbers, quotient: Numbers):
        ds.loop_config(serialize=serial)
        for i in range(COUNT):
            rest[i] = a[i] % b[i]
            quotient[i] = a[i] // b[i]

    k(a, b, rest, quotient)
    for x, y, r, q in zip(a, b, rest, quotient, strict=True):
        wanted = np.array(pythons(x, y, kind))
        if zeros:
            wanted = without_subnormals(wanted)
        assert same(r, wanted[0]), (x, y, r, wanted[0])
        assert same(q, wanted[1]), (x, y, q, wanted[1])


def test_what_constants_are_folded_with(drawn):
    kind, a, b = drawn
    with np.errstate(all="ignore"):
        for x, y in zip(a[:1000], b[:1000], strict=True):
            wanted = pythons(x, y, kind)
            assert same(arithmetic.mod(x, y), wanted[0]), (x, y)
            assert same(arithmetic.floordiv(x, y), wanted[1]), (x, y)


@pytest.mark.parametrize("default", [ds.f32, ds.f64])
@pytest.mark.parametrize(
    ("a", "b"), [(3.9, 1.3), (-3.9, 1.3), (3.9, -1.3), (49.0, 49.0), (-1e-20, 1.0), (7.0, 0.1)]
)
def test_constants_and_values_of_run_time_agree(default, a, b):
    ds.init(default_fp=default)
    kind = default.numpy.type

    @ds.kernel
    def at_run_time(x: float, y: float) -> ds.types.vector(4, float):
        return [x % y, x // y, ds.math.mod(x, y), ds.raw_mod(x, y)]

    @ds.kernel
    def half_known(x: float, y: ds.template()) -> ds.types.vector(2, float):
        return [x % y, x // y]

    x, y = kind(a), kind(b)
    wanted = [x % y, x // y, x % y, np.fmod(x, y)]
    assert at_run_time(float(x), float(y)).to_numpy().tolist() == [float(v) for v in wanted]
    assert half_known(float(x), float(y)).to_numpy().tolist() == [float(v) for v in wanted[:2]]


def test_literals_are_pythons():
    ds.init(default_fp=ds.f64)

    @ds.kernel
    def k() -> ds.types.vector(4, float):
        return [3.9 % 1.3, 3.9 // 1.3, ds.sqrt(3.9 % 1.3), -3.9 % 1.3]

    assert k().to_numpy().tolist() == [3.9 % 1.3, 3.9 // 1.3, math.sqrt(3.9 % 1.3), -3.9 % 1.3]


def test_derivatives():
    """By the dividend 1, by the divisor the quotient."""
    ds.init(default_fp=ds.f64)

    @ds.kernel
    def k(x: float, y: float) -> ds.types.vector(2, float):
        slopes = ds.grad(lambda a, b: a % b)(x, y)
        return [slopes[0], slopes[1]]

    for x, y in ((3.9, 1.3), (-3.9, 1.3), (7.25, -2.0), (1.0, 3.0)):
        assert k(x, y).to_numpy().tolist() == [1.0, -(x // y)]


@pytest.mark.parametrize("default", [ds.i32, ds.i64])
def test_integers(default):
    ds.init(default_ip=default)

    @ds.kernel
    def k(a: int, b: int) -> ds.types.vector(2, int):
        return [a % b, a // b]

    for a in (-7, -6, -1, 0, 5, 6, 2**31 - 1, -(2**31) + 1):
        for b in (-3, -1, 2, 6, 7):
            assert k(a, b).to_numpy().tolist() == [a % b, a // b]
