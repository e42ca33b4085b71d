"""Numbers of the plain interpreter: floats that carry derivatives, and integers of 32 bits.

They follow the language's page: integers wrap and divide as Python's do (by 0: 0), of a tie `max` and `min`
take the right operand, the derivative of `abs` at 0 is 0. `Watch` notes how near a run came to a point where
rounding decides what happens; there is nothing to compare then.
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


def watched() -> Watch:
    """Begins to watch anew."""
    global WATCH  # noqa: PLW0603
    WATCH = Watch()
    return WATCH


class Int(int):
    """An i32."""

    def __add__(self, other):
        return wrapped(int(self) + int(other)) if isinstance(other, int) else NotImplemented

    def __sub__(self, other):
        return wrapped(int(self) - int(other)) if isinstance(other, int) else NotImplemented

    def __mul__(self, other):
        return wrapped(int(self) * int(other)) if isinstance(other, int) else NotImplemented

    def __floordiv__(self, other):
        return wrapped(int(self) // int(other)) if other else Int(0)

    def __mod__(self, other):
        return wrapped(int(self) % int(other)) if other else Int(0)

    def __neg__(self):
        return wrapped(-int(self))

    def __abs__(self):
        return wrapped(abs(int(self)))

    def __and__(self, other):
        return Int(int(self) & int(other))

    def __or__(self, other):
        return Int(int(self) | int(other))

    def __xor__(self, other):
        return Int(int(self) ^ int(other))

    def __rshift__(self, other):
        return Int(int(self) >> (int(other) % 32))


def wrapped(value: int) -> Int:
    """`value` in 32 bits."""
    return Int((value + 2**31) % 2**32 - 2**31)


class Dual:
    """A float with its derivatives in all directions at once."""

    __slots__ = ("d", "v")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, v: float, d: Tangent = 0.0) -> None:
        self.v, self.d = v, d

    def __add__(self, other):
        other = dual(other)
        return Dual(self.v + other.v, self.d + other.d)

    def __sub__(self, other):
        other = dual(other)
        return Dual(self.v - other.v, self.d - other.d)

    def __mul__(self, other):
        if not isinstance(other, Dual | int | float):
            return NotImplemented  # a vector
        other = dual(other)
        return Dual(self.v * other.v, self.d * other.v + other.d * self.v)

    def __truediv__(self, other):
        other = dual(other)
        value = self.v / other.v
        return Dual(value, (self.d - other.d * value) / other.v)

    def __pow__(self, exponent):
        if isinstance(exponent, int):
            return self * self * self if exponent == 3 else self * self
        return FUNCTIONS["exp"](FUNCTIONS["log"](self) * exponent)

    def __mod__(self, other):
        times = floored(self / other)
        return self - dual(other) * times

    def __radd__(self, other):
        return dual(other) + self

    def __rsub__(self, other):
        return dual(other) - self

    def __rmul__(self, other):
        return dual(other) * self

    def __rtruediv__(self, other):
        return dual(other) / self

    def __neg__(self):
        return Dual(-self.v, -self.d)

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


def dual(value) -> Dual:
    """`value` as a float."""
    return value if isinstance(value, Dual) else Dual(float(value))


def compared(a: Dual, b) -> Dual:
    """`a`, which is compared with `b`."""
    b = dual(b)
    if not _same(a, b):
        WATCH.tie(a.v, b.v)
    return a


def literal(value):
    """A literal of the program as a number of its type."""
    return Dual(value) if isinstance(value, float) else wrapped(value)


def larger(a, b):
    """The larger of the two, and of a tie the right one."""
    return _chosen(a, b, lambda p, q: p > q)


def smaller(a, b):
    """The smaller of the two, and of a tie the right one."""
    return _chosen(a, b, lambda p, q: p < q)


def _chosen(a, b, better):
    if isinstance(a, int) and isinstance(b, int):
        return a if better(a, b) else b
    a, b = dual(a), dual(b)
    if not _same(a, b):
        WATCH.tie(a.v, b.v)
    return a if better(a.v, b.v) else b


def truncated(value) -> Int:
    """`value` without its fraction."""
    if isinstance(value, int):
        return wrapped(value)
    return wrapped(int(_away_from_steps(value.v)))


def floored(value):
    """The next lower whole number."""
    return Dual(float(math.floor(_away_from_steps(value.v))))


def _away_from_steps(v: float) -> float:
    """`v`, whose fraction decides; what is too large for that is not compared."""
    if not abs(v) < 1e6:
        WATCH.largest = math.inf
        return 0.0
    WATCH.tie(v, round(v))
    return v


def _same(a: Dual, b: Dual) -> bool:
    """Whether two floats are one: no rounding makes them differ."""
    return a.v == b.v and np.array_equal(a.d, b.d)


def _smooth(value, slope):
    """The function of a float with the value and the derivative that the two functions give."""

    def function(x):
        x = dual(x)
        try:
            v = value(x.v)
        except (ValueError, OverflowError):
            return Dual(math.nan)
        return Dual(v, x.d * slope(x.v, v))

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
    return Dual(math.atan2(y.v, x.v), (y.d * x.v - x.d * y.v) / square)
