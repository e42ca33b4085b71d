"""The exact semantics of integer and corner-case arithmetic, on NumPy scalars; one definition for all users.

Constant folding and the readable Python backend call these; the LLVM emitter must agree with them.
A kernel's arithmetic never traps: an integer division by zero gives 0, a shift uses the low bits of
its amount, a cast from float to integer truncates and saturates (NaN becomes 0).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from dsim.ir.types import BY_NAME, ScalarType

Number = Any  # a NumPy scalar


def floordiv(a: Number, b: Number) -> Number:
    """``a // b`` rounded towards minus infinity, for floats as in Python; an integer divided by 0 gives 0."""
    if _is_float(a):
        return _wide(a) // _wide(b) if a.dtype != np.float16 else np.float16(_wide(a) // _wide(b))
    return a.dtype.type(0) if b == 0 else a // b


def mod(a: Number, b: Number) -> Number:
    """``a % b`` with the sign of `b`, for floats as in Python; an integer divided by 0 gives 0."""
    if _is_float(a):
        return _wide(a) % _wide(b) if a.dtype != np.float16 else np.float16(_wide(a) % _wide(b))
    return a.dtype.type(0) if b == 0 else a % b


def _is_float(a: Number) -> bool:
    return isinstance(a, np.floating)


def _is_array(a: Number) -> bool:
    return isinstance(a, np.ndarray)


def _wide(a: Number) -> Number:
    """`a`, widened from f16 to f64: NumPy's own remainder of f16 values rounds twice."""
    return np.float64(a) if a.dtype == np.float16 else a


def maximum(a: Number, b: Number) -> Number:
    """`a` if it is greater, else `b`; a tie or a NaN gives `b`."""
    return a if a > b else b  # noqa: FURB136 (max() keeps the first of a tie)


def minimum(a: Number, b: Number) -> Number:
    """`a` if it is less, else `b`; a tie or a NaN gives `b`."""
    return a if a < b else b  # noqa: FURB136


def mul_strong(p: Number, t: Number) -> Number:
    """``p * t``, but 0 where `t` is 0, even if `p` is infinite or NaN (a partial times no change)."""
    return p.dtype.type(0) if t == 0 else p * t


def div_strong(t: Number, y: Number) -> Number:
    """``t / y``, but 0 where `t` is 0, even if `y` is 0 or NaN."""
    return t if t == 0 else t / y


def mul_div_strong(p: Number, t: Number, y: Number) -> Number:
    """``p * (t / y)``, but 0 where `t` is 0, even if `p` is infinite or `y` is 0."""
    return t if t == 0 else p * (t / y)


def powi(x: Number, n: Number) -> Number:
    """`x` to the integer `n` by squaring; a negative `n` gives ``1 / x**-n`` (0 for integers except ±1)."""
    one = x.dtype.type(1)
    count = abs(int(n))
    result, square = one, x
    while count:
        if count & 1:
            result = result * square
        count >>= 1
        if count:
            square = square * square
    if n >= 0:
        return result
    return (
        one / result
        if isinstance(x, np.floating)
        else floordiv(one, result)
        if abs(int(x)) == 1
        else x.dtype.type(0)
    )


def shl(a: Number, b: Number) -> Number:
    """``a << b``; the low bits of `b` are the amount."""
    return a << (b & b.dtype.type(a.dtype.itemsize * 8 - 1))


def shr(a: Number, b: Number) -> Number:
    """``a >> b``; the low bits of `b` are the amount; an arithmetic shift if `a` is signed."""
    return a >> (b & b.dtype.type(a.dtype.itemsize * 8 - 1))


def cast(a: Number, to: str) -> Number:
    """`a` as the scalar type named `to`: floats truncate towards 0 and saturate, integers wrap."""
    target = BY_NAME[to]
    if target.kind == "bool":
        return np.bool_(a != 0)
    if target.is_integer and isinstance(a, np.floating):
        return _saturate(a, target)
    return np.asarray(a).astype(target.numpy)[()]


def _saturate(a: Number, target: ScalarType) -> Number:
    limits = np.iinfo(target.numpy)
    if np.isnan(a):
        return target.numpy.type(0)
    if np.isinf(a):
        return target.numpy.type(limits.max if a > 0 else limits.min)
    return target.numpy.type(min(max(int(a), int(limits.min)), int(limits.max)))


def bit_cast(a: Number, to: str) -> Number:
    """The bits of `a` read as the scalar type named `to`, of the same width."""
    return a.view(BY_NAME[to].numpy)


_MASK = 0xFFFFFFFF


def random_bits(launch: Number, iteration: Number, draw: Number) -> Number:
    """32 random bits of the counter (launch, iteration, draw): Threefry-2x32, 20 rounds.

    Key (launch low, launch high xor draw), counter (iteration low, iteration high); Salmon et al.,
    "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    key, count = int(launch) & (1 << 64) - 1, int(iteration) & (1 << 64) - 1
    k0, k1 = key & _MASK, (key >> 32) ^ (int(draw) & _MASK)
    keys = (k0, k1, 0x1BD11BDA ^ k0 ^ k1)
    x0, x1 = (count + k0) & _MASK, ((count >> 32) + k1) & _MASK
    rotations = (13, 15, 26, 6), (17, 29, 16, 24)
    for group in range(5):
        for r in rotations[group % 2]:
            x0 = (x0 + x1) & _MASK
            x1 = ((x1 << r | x1 >> (32 - r)) & _MASK) ^ x0
        x0 = (x0 + keys[(group + 1) % 3]) & _MASK
        x1 = (x1 + keys[(group + 2) % 3] + group + 1) & _MASK
    return np.uint32(x0)


def erf(x: Number) -> Number:
    """The error function, computed in double precision."""
    return _in_doubles(math.erf, x)


def erfc(x: Number) -> Number:
    """One minus the error function, without cancellation."""
    return _in_doubles(math.erfc, x)


def lgamma(x: Number) -> Number:
    """The logarithm of the absolute value of the gamma function; infinite at its poles."""
    return _in_doubles(_lgamma, x)


def polygamma(order: Number, x: Number) -> Number:
    """Derivative number `order` of the digamma function; NaN at a pole whose sides differ, except at 0."""
    return _in_doubles(partial(_polygamma, int(order)), x)


def _in_doubles(function: Callable[[float], float], x: Number) -> Number:
    """`function` of a NumPy float, an array of floats or a Python number, computed in f64; keeps the type."""
    if _is_array(x):
        return np.vectorize(function, otypes=[x.dtype if x.dtype.kind == "f" else np.float64])(x)
    value = function(float(x))
    return x.dtype.type(value) if _is_float(x) else value


# C's lgamma: Python's loses up to four digits near its zeros at 1 and 2.
_lgamma = ctypes.CDLL(None).lgamma
_lgamma.restype, _lgamma.argtypes = ctypes.c_double, (ctypes.c_double,)


def _polygamma(n: int, x: float) -> float:
    if x == 0:
        return math.inf if n % 2 else -math.copysign(math.inf, x)
    if x == -math.inf or (n % 2 == 0 and x < 0 and x == math.floor(x)):
        return math.nan
    # slow to import and rarely needed
    special = import_module("scipy.special")
    return float(special.polygamma(n, x) if n else special.digamma(x))
