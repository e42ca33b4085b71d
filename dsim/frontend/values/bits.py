"""Bit operations, and division with rounding towards 0."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.operators import elementwise, operand, scalar
from dsim.frontend.values.values import Mat, Scalar, Value, describe, is_open
from dsim.ir.nodes import Atom
from dsim.ir.types import ScalarType, f16, f32, from_numpy, i32

Function = Callable[..., Value]


def _by_entry(one: Callable[..., Scalar]) -> Function:
    def many(e: Emitter, *args: Value, hint: str = "t") -> Value:
        return elementwise(e, lambda *a: one(e, *a), *(operand(e, a) for a in args), hint=hint)

    return many


def _integer(e: Emitter, x: Scalar, what: str) -> Atom:
    if e.type_of(x).is_float:
        e.refuse("type", f"`{what}` works on integers, got {describe(x)}")
    return e.number(x)


def _unsigned(t: ScalarType) -> ScalarType:
    return t if t.kind == "uint" else from_numpy(f"uint{t.bits}")


def _mask(bits: int, width: int) -> int:
    """A number of `bits` bits with alternating runs of `width` ones and zeros, ones first."""
    return sum(((1 << width) - 1) << at for at in range(0, bits, 2 * width))


def _count(e: Emitter, x: Atom) -> Atom:
    """How many bits of the unsigned `x` are set: neighbours are added, in pairs, then fours, then eights."""
    t, width = x.type, 1
    while width < t.bits:
        mask = e.atom(_mask(t.bits, width), t)
        high = e.let("band", e.let("shr", x, e.atom(width, t)), mask)
        x = e.let("add", e.let("band", x, mask), high)
        width *= 2
    return x


def _ones(e: Emitter, x: Scalar, hint: str) -> Scalar:
    a = _integer(e, x, "popcnt")
    return e.atom(_count(e, e.atom(a, _unsigned(a.type))), i32, hint)


def _leading_zeros(e: Emitter, x: Scalar, hint: str) -> Scalar:
    a = _integer(e, x, "clz")
    t = _unsigned(a.type)
    filled, width = e.atom(a, t), 1
    while width < t.bits:  # every bit below the highest is set
        filled = e.let("bor", filled, e.let("shr", filled, e.atom(width, t)))
        width *= 2
    return e.atom(_count(e, e.let("bnot", filled)), i32, hint)


def _shift_right(e: Emitter, x: Scalar, amount: Scalar, hint: str) -> Scalar:
    a, n = _integer(e, x, "bit_shr"), _integer(e, amount, "bit_shr")
    t = _unsigned(a.type)
    return e.atom(e.let("shr", e.atom(a, t), e.atom(n, t)), a.type, hint)


def _pair(e: Emitter, x: Scalar, y: Scalar) -> tuple[Atom, Atom]:
    t = e.common((x, y))
    return e.number(x, None if t.kind == "bool" else t), e.number(y, None if t.kind == "bool" else t)


def _differs(e: Emitter, a: Atom, b: Atom, rest: Atom) -> Atom:
    """Whether rounding down and truncation differ: the signs do, and the remainder is not 0."""
    zero = e.atom(0, a.type)
    signs = e.let("ne", e.let("lt", a, zero), e.let("lt", b, zero))
    return e.let("band", signs, e.let("ne", rest, zero))


def _quotient(e: Emitter, x: Scalar, y: Scalar, hint: str) -> Scalar:
    if e.common((x, y)).is_float or (is_open(x) and e.is_known(y, operator.eq, 0)):
        return scalar(e, "/", x, y, hint)
    a, b = _pair(e, x, y)
    down = e.let("floordiv", a, b)
    up = e.let("add", down, e.atom(1, a.type))
    return e.let("select", _differs(e, a, b, e.let("mod", a, b)), up, down, hint=hint)


def remainder(e: Emitter, x: Scalar, y: Scalar, hint: str) -> Scalar:
    """The remainder of two integers, with the sign of `x`."""
    a, b = _pair(e, x, y)
    rest = e.let("mod", a, b)
    return e.let("select", _differs(e, a, b, rest), e.let("sub", rest, b), rest, hint=hint)


def _taken_apart(e: Emitter, x: Scalar) -> tuple[Atom, Atom]:
    """The fraction and the exponent of a float; for 0, infinity and NaN, the number itself and 0.

    The factor between the two is selected, not the result: `scale` means nothing for numbers that are kept,
    and an adjoint of 0 times it may be NaN. Where a launch treats subnormal numbers as zeros, `normal` is 0
    for them.
    """
    (given,) = e.floating(x)
    a = e.atom(given, f32) if given.type == f16 else given
    t, bits = a.type, from_numpy(f"int{a.type.bits}")
    digits, bias = (23, 126) if t == f32 else (52, 1022)  # of the format, without the leading one
    size = e.let("abs", a)
    tiny = e.let("lt", size, e.atom(2.0 ** (1 - bias), t))  # subnormal: it is normalised
    normal = e.let("select", tiny, e.let("mul", a, e.atom(2.0**digits, t)), a)
    raw = e.let(
        "bit_cast", e.let("stop", e.let("abs", normal)), type=bits
    )  # the power is a step: it has no slope
    stored = e.let("shr", raw, e.atom(digits, bits))
    power = e.let("sub", stored, e.atom(bias, bits))
    infinite = e.let("eq", size, e.atom(math.inf, t))
    kept = e.let("bor", e.let("bor", infinite, e.let("isnan", a)), e.let("eq", normal, e.atom(0.0, t)))
    scale = e.let("shl", e.let("sub", e.atom(bias + 3, bits), power), e.atom(digits, bits))
    as_it_was = e.let("select", tiny, e.atom(4.0 * 2.0**-digits, t), e.atom(4.0, t))  # 0 has the power 0
    factor = e.let("select", kept, as_it_was, e.let("bit_cast", scale, type=t))
    quadruple = e.let("mul", normal, factor)  # in [2, 4): no power of two overflows
    fraction = e.let("mul", quadruple, e.atom(0.25, t))
    less = e.let("select", tiny, e.atom(digits, bits), e.atom(0, bits))
    power = e.let("select", kept, e.atom(0, bits), e.let("sub", power, less))
    return e.atom(fraction, given.type), e.atom(power, i32)


def frexp(e: Emitter, x: Value, hint: str = "t") -> tuple[Value, Value]:
    """``(m, n)`` with ``x = m * 2**n`` and ``0.5 <= abs(m) < 1``, entry by entry; see `math.frexp`."""
    of = operand(e, x)
    if isinstance(of, Mat):
        pairs = [_taken_apart(e, s) for s in of.entries]
        return Mat(of.shape, tuple(m for m, _ in pairs)), Mat(of.shape, tuple(n for _, n in pairs))
    return _taken_apart(e, of)


FUNCTIONS: dict[str, Function] = {
    "popcnt": _by_entry(_ones),
    "clz": _by_entry(_leading_zeros),
    "bit_shr": _by_entry(_shift_right),
    "raw_div": _by_entry(_quotient),
    "frexp": frexp,
}
