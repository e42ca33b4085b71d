"""Derivatives of the logarithm of the gamma function, as formulas over other primitives.

``polygamma(n, x)`` is derivative number n + 1. For x > 0 the recurrence shifts x to where the asymptotic
series has full precision (Abramowitz and Stegun, Handbook of Mathematical Functions, 6.4.6 and 6.4.11); for
x <= 0 the reflection formula (6.4.7) applies, its angle reduced before it is multiplied by π. It has no
branches and no loops, so that it vectorises where `log`, `sin` and `cos` do; it is computed in f64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dsim.ir.nodes import Const
from dsim.ir.term import Term, select
from dsim.ir.types import f64

# B₂, B₄ … B₂₀, as numerators and denominators
_BERNOULLI = (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798),
    (-174611, 330),
)  # fmt: skip
_FAR = 10  # from here on the series has full precision for the first derivative; higher ones need more


def polygamma(order: Term, x: Term) -> Term:
    """Derivative number `order` of the digamma function at `x`; `order` is a constant."""
    assert isinstance(order.atom, Const)
    n, t, x = int(order.atom.value), x.type, x.cast(f64)
    below = x.op("le", 0)
    above = _above(n, select(below, 1 - x, x))
    angle = select(x.equals(0), x, x - x.op("round")) * math.pi  # keeps the sign of -0
    turn = _cotangent(n, angle.op("cos") / angle.op("sin"))
    reflected = (-above if n % 2 else above) - turn * math.pi ** (n + 1)
    if n % 2 == 0:  # the infinities on the two sides of the pole differ in sign
        reflected = select(x.op("lt", 0).op("band", angle.equals(0)), math.nan, reflected)
    return select(below, reflected, above).cast(t)


def _above(n: int, x: Term) -> Term:
    """`polygamma` for x > 0."""
    steps = _FAR + n
    total, w = _power(1 / x, n + 1), 1 / (x + steps)
    for k in range(1, steps):
        total = total + _power(1 / (x + k), n + 1)
    square = w * w
    terms = enumerate(_BERNOULLI, 1)
    series = _polynomial(
        [a * math.factorial(2 * k + n - 1) / (b * math.factorial(2 * k)) for k, (a, b) in terms], square
    )
    if n == 0:
        return (x + steps).op("log") - (w * 0.5 + series * square) - total
    tail = _power(w, n) * (math.factorial(n - 1) + w * (0.5 * math.factorial(n)) + series * square)
    result = total * math.factorial(n) + tail
    return result if n % 2 else -result


def _power(x: Term, n: int) -> Term:
    result = x
    for _ in range(n - 1):
        result = result * x
    return result


def _cotangent(n: int, c: Term) -> Term:
    """Derivative number `n` of the cotangent, a polynomial in the cotangent `c`: ``c' = -(1 + c²)``."""
    coefficients = [0, 1]  # coefficients of c⁰, c¹ …
    for _ in range(n):
        slope = [k * a for k, a in enumerate(coefficients)][1:]
        coefficients = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return _polynomial(coefficients, c)


def _polynomial(coefficients: Sequence[float], x: Term) -> Term:
    """A polynomial by Horner's scheme; `coefficients` begin with the constant one."""
    result = x.constant(coefficients[-1])
    for a in reversed(coefficients[:-1]):
        result = result * x + a
    return result
