"""Numbers of the plain interpreter: floats with derivatives, and integers of 32 bits.

They follow the language's page: of two types the result has the wider, integers wrap and divide as Python's
do (by 0: 0), of a tie `max` and `min` take the right operand, the derivative of `abs` at 0 is 0. A float of
32 bits is rounded whenever it is computed, and so is its derivative; `Rounding` may do that a little
differently each time, which shows how much rounding matters. `Watch` notes how near a run came to a point
where rounding decides what happens; there is nothing to compare then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

Tangent = np.ndarray | float


@dataclass
class Watch:
    """What a run met.

    Attributes
    ----------
    margin : float
        The smallest distance from a comparison's tie, relative to what was compared.
    largest : float
        The largest number, or derivative, that was written to a field.
    overwritten : int
        How often an element was overwritten that had been read.
    """

    margin: float = math.inf
    largest: float = 0.0
    overwritten: int = 0
    events: set[str] = field(default_factory=set)

    def tie(self, a: float, b: float) -> None:
        """Two floats are compared."""
        self.margin = min(self.margin, abs(a - b) / (1.0 + abs(a)))

    def written(self, number: Dual) -> None:
        """A float is written to a field."""
        size = max(abs(number.v), float(np.max(np.abs(number.d))))
        if not size <= self.largest:  # nan counts as large
            self.largest = size if size == size else math.inf


WATCH = Watch()


class Rounding:
    """How floats of 32 bits are rounded; `noise` moves what is rounded by up to a unit in the last place."""

    def __init__(self, default_bits: int = 64, noise: np.random.Generator | None = None) -> None:
        self.default_bits, self.noise = default_bits, noise

    def __call__(self, value: Tangent) -> Tangent:
        if self.noise is not None:
            value = value * (1.0 + UNIT * self.noise.uniform(-1.0, 1.0, np.shape(value)))
        rounded = np.float32(value)
        return float(rounded) if rounded.ndim == 0 else rounded.astype(np.float64)


UNIT = float(np.finfo(np.float32).eps)
ROUNDING = Rounding()


def rounding(how: Rounding) -> None:
    """Rounds as `how` says from now on."""
    global ROUNDING  # noqa: PLW0603
    ROUNDING = how


def watched() -> Watch:
    """Begins to watch anew."""
    global WATCH  # noqa: PLW0603
    WATCH = Watch()
    return WATCH


class Int(int):
    """An i32."""

    bits = 32

    def __add__(self, other):
        return self._with(other, int.__add__)

    def __sub__(self, other):
        return self._with(other, int.__sub__)

    def __mul__(self, other):
        return self._with(other, int.__mul__)

    def __floordiv__(self, other):
        return self._with(other, lambda a, b: a // b if b else 0)

    def __mod__(self, other):
        return self._with(other, lambda a, b: a % b if b else 0)

    def __neg__(self):
        return wrapped(-int(self), self.bits)

    def __abs__(self):
        return wrapped(abs(int(self)), self.bits)

    def __and__(self, other):
        return self._with(other, int.__and__)

    def __or__(self, other):
        return self._with(other, int.__or__)

    def __xor__(self, other):
        return self._with(other, int.__xor__)

    def __rshift__(self, other):
        return wrapped(int(self) >> (int(other) % self.bits), self.bits)

    def _with(self, other, operation):
        if not isinstance(other, int):
            return NotImplemented
        return wrapped(operation(int(self), int(other)), max(self.bits, getattr(other, "bits", 32)))


class Long(Int):
    """An i64."""

    bits = 64


def wrapped(value: int, bits: int = 32) -> Int:
    """`value` in so many bits."""
    half = 1 << (bits - 1)
    return (Int if bits == 32 else Long)((value + half) % (2 * half) - half)


class Dual:
    """A float with its derivatives in all directions at once."""

    __slots__ = ("bits", "d", "v")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, v: float, d: Tangent = 0.0, bits: int = 64) -> None:
        self.bits = bits
        self.v, self.d = (v, d) if bits == 64 else (ROUNDING(v), ROUNDING(d))

    def __add__(self, other):
        other = dual(other, self.bits)
        return Dual(self.v + other.v, self.d + other.d, max(self.bits, other.bits))

    def __sub__(self, other):
        other = dual(other, self.bits)
        return Dual(self.v - other.v, self.d - other.d, max(self.bits, other.bits))

    def __mul__(self, other):
        if not isinstance(other, Dual | int | float):
            return NotImplemented  # a vector
        other = dual(other, self.bits)
        bits = max(self.bits, other.bits)
        return Dual(self.v * other.v, self.d * other.v + other.d * self.v, bits)

    def __truediv__(self, other):
        other = dual(other, self.bits)
        value = self.v / other.v
        return Dual(value, (self.d - other.d * value) / other.v, max(self.bits, other.bits))

    def __pow__(self, exponent):
        if isinstance(exponent, int):
            return self * self * self if exponent == 3 else self * self
        return FUNCTIONS["exp"](FUNCTIONS["log"](self) * exponent)

    def __mod__(self, other):
        times = floored(self / other)
        return self - dual(other, self.bits) * times

    def __radd__(self, other):
        return dual(other, self.bits) + self

    def __rsub__(self, other):
        return dual(other, self.bits) - self

    def __rmul__(self, other):
        return dual(other, self.bits) * self

    def __rtruediv__(self, other):
        return dual(other, self.bits) / self

    def __neg__(self):
        return Dual(-self.v, -self.d, self.bits)

    def __abs__(self):
        compared(self, 0.0)
        return self * float((self.v > 0) - (self.v < 0))

    def __lt__(self, other):
        return compared(self, other).v < dual(other).v

    def __le__(self, other):
        return compared(self, other).v <= dual(other).v

    def __gt__(self, other):
        return compared(self, other).v > dual(other).v

    def __ge__(self, other):
        return compared(self, other).v >= dual(other).v


Number = Dual | Int


def dual(value, bits: int = 64) -> Dual:
    """`value` as a float; one without a type gets so many bits."""
    return value if isinstance(value, Dual) else Dual(float(value), 0.0, bits)


def cast(value, bits: int) -> Dual:
    """`value` as a float of so many bits."""
    return Dual(float(value), 0.0, bits) if isinstance(value, int) else Dual(value.v, value.d, bits)


def default_float(value) -> Dual:
    """`value` as a float of the type that floats have where nothing is said."""
    return cast(value, ROUNDING.default_bits)


def compared(a: Dual, b) -> Dual:
    """`a`, which is compared with `b`."""
    b = dual(b)
    if not _same(a, b):
        WATCH.tie(a.v, b.v)
    return a


def literal(value):
    """A literal of the program as a number of its type."""
    return Dual(value, 0.0, ROUNDING.default_bits) if isinstance(value, float) else wrapped(value)


def larger(a, b):
    """The larger of the two, and of a tie the right one."""
    return _chosen(a, b, lambda p, q: p > q)


def smaller(a, b):
    """The smaller of the two, and of a tie the right one."""
    return _chosen(a, b, lambda p, q: p < q)


def nearest(value, like):
    """An integer beyond the type of the integer `like` as the nearest of that type; others as they are."""
    if not (isinstance(value, int) and isinstance(like, int)):
        return value
    half = 1 << (like.bits - 1)
    return wrapped(max(-half, min(int(value), half - 1)), like.bits)


def _chosen(a, b, better):
    if isinstance(a, int) and isinstance(b, int):
        return wrapped(int(a if better(a, b) else b), max(a.bits, b.bits))
    a, b = dual(a), dual(b)
    if not _same(a, b):
        WATCH.tie(a.v, b.v)
    return a if better(a.v, b.v) else b


def truncated(value, bits: int = 32) -> Int:
    """`value` without its fraction."""
    if isinstance(value, int):
        return wrapped(int(value), bits)
    return wrapped(int(_away_from_steps(value.v)), bits)


def floored(value):
    """The next lower whole number."""
    return Dual(float(math.floor(_away_from_steps(value.v))), 0.0, value.bits)


def _away_from_steps(v: float) -> float:
    """`v`, whose fraction decides; what is too large for that is not compared."""
    if not abs(v) < 1e6:
        WATCH.largest = math.inf
        return 0.0
    WATCH.tie(v, round(v))
    return v


def _same(a: Dual, b: Dual) -> bool:
    """Whether two floats are one: no rounding makes them differ."""
    return a.v == b.v and bool(np.all(np.equal(a.d, b.d)))


def _smooth(value, slope):
    """The function of a float with the value and the derivative that the two functions give."""

    def function(x):
        x = dual(x)
        try:
            v = value(x.v)
        except (ValueError, OverflowError):
            return Dual(math.nan)
        return Dual(v, x.d * slope(x.v, v), x.bits)

    return function


FUNCTIONS = {
    "sin": _smooth(math.sin, lambda x, v: math.cos(x)),
    "cos": _smooth(math.cos, lambda x, v: -math.sin(x)),
    "tanh": _smooth(math.tanh, lambda x, v: 1.0 - v * v),
    "asin": _smooth(math.asin, lambda x, v: 1.0 / math.sqrt(1.0 - x * x)),
    "tan": _smooth(math.tan, lambda x, v: 1.0 + v * v),
    "sinh": _smooth(math.sinh, lambda x, v: math.cosh(x)),
    "rsqrt": _smooth(lambda x: 1.0 / math.sqrt(x), lambda x, v: -0.5 * v * v * v),
    "atan": _smooth(math.atan, lambda x, v: 1.0 / (1.0 + x * x)),
    "sqrt": _smooth(math.sqrt, lambda x, v: 0.5 / v),
    "exp": _smooth(math.exp, lambda x, v: v),
    "log": _smooth(math.log, lambda x, v: 1.0 / x),
}


def angle(y, x):
    """``atan2(y, x)``."""
    y, x = dual(y), dual(x)
    square = x.v * x.v + y.v * y.v
    slope = (y.d * x.v - x.d * y.v) / square
    return Dual(math.atan2(y.v, x.v), slope, max(x.bits, y.bits))
