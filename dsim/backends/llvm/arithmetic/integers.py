"""Integer primitives that are not one LLVM instruction: ``//``, ``%``, powers, casts.

`dsim.ir.arithmetic` defines them; nothing here traps or is undefined.
"""

from __future__ import annotations

from dsim.backends.llvm.text import TYPE, Function, number
from dsim.ir.types import ScalarType, f16, f32


def near_remainder(f: Function, t: ScalarType, a: str, divisor: int, between: tuple[int, int]) -> str:
    """``a % divisor`` of an `a` that lies `between` two numbers, within one divisor of the result.

    It is not a mask even where `divisor` is a power of two: LLVM vectorises a selection correctly.
    """
    ty = TYPE[t]
    if between[0] < 0:
        below, more = f.let(f"icmp slt {ty} {a}, 0"), f.let(f"add {ty} {a}, {divisor}")
        a = f.let(f"select i1 {below}, {ty} {more}, {ty} {a}")
    if between[1] >= divisor:
        compare = "sge" if t.kind == "int" else "uge"
        above, less = f.let(f"icmp {compare} {ty} {a}, {divisor}"), f.let(f"sub {ty} {a}, {divisor}")
        a = f.let(f"select i1 {above}, {ty} {less}, {ty} {a}")
    return a


def divide(f: Function, t: ScalarType, a: str, b: str, divisor: int | None, *, remainder: bool) -> str:
    """``a // b`` or ``a % b``, rounded towards minus infinity; `divisor` is `b` where that is known."""
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        return _by_power_of_two(f, t, a, divisor, remainder)
    if divisor == 0:
        return "0"
    signed = t.kind == "int"
    safe = b if divisor not in (None, -1) else _safe_divisor(f, t, a, b)
    name, ty = "s" if signed else "u", TYPE[t]
    if not signed:
        result = f.let(f"{name}{'rem' if remainder else 'div'} {ty} {a}, {safe}")
    else:
        result = _floored(f, ty, a, safe, remainder)
    if divisor is not None:
        return result
    zero = f.let(f"icmp eq {ty} {b}, 0")
    return f.let(f"select i1 {zero}, {ty} 0, {ty} {result}")


def _by_power_of_two(f: Function, t: ScalarType, a: str, divisor: int, remainder: bool) -> str:
    if remainder:
        return f.let(f"and {TYPE[t]} {a}, {divisor - 1}")
    shift = "ashr" if t.kind == "int" else "lshr"
    return f.let(f"{shift} {TYPE[t]} {a}, {divisor.bit_length() - 1}")


def _safe_divisor(f: Function, t: ScalarType, a: str, b: str) -> str:
    """`b`, or 1 where dividing by `b` would trap (the result is then a itself, or thrown away)."""
    ty = TYPE[t]
    bad = f.let(f"icmp eq {ty} {b}, 0")
    if t.kind == "int":
        least = f.let(f"icmp eq {ty} {a}, {-(1 << (t.bits - 1))}")
        minus = f.let(f"icmp eq {ty} {b}, -1")
        wraps = f.let(f"and i1 {least}, {minus}")
        bad = f.let(f"or i1 {bad}, {wraps}")
    return f.let(f"select i1 {bad}, {ty} 1, {ty} {b}")


def _floored(f: Function, ty: str, a: str, b: str, remainder: bool) -> str:
    rest = f.let(f"srem {ty} {a}, {b}")
    signs = f.let(f"xor {ty} {rest}, {b}")
    differ = f.let(f"icmp slt {ty} {signs}, 0")
    some = f.let(f"icmp ne {ty} {rest}, 0")
    below = f.let(f"and i1 {differ}, {some}")
    if remainder:
        moved = f.let(f"add {ty} {rest}, {b}")
        return f.let(f"select i1 {below}, {ty} {moved}, {ty} {rest}")
    quotient = f.let(f"sdiv {ty} {a}, {b}")
    lower = f.let(f"sub {ty} {quotient}, 1")
    return f.let(f"select i1 {below}, {ty} {lower}, {ty} {quotient}")


def shift(f: Function, t: ScalarType, a: str, b: str, *, left: bool) -> str:
    """`a` shifted by the low bits of `b`."""
    amount = f.let(f"and {TYPE[t]} {b}, {t.bits - 1}")
    name = "shl" if left else "ashr" if t.kind == "int" else "lshr"
    return f.let(f"{name} {TYPE[t]} {a}, {amount}")


def cast(f: Function, a: str, source: ScalarType, to: ScalarType) -> str:
    """`a` of type `source` as a `to`: floats truncate and saturate, integers wrap."""
    if source == to:
        return a
    if to.kind == "bool":
        test = "fcmp une" if source.is_float else "icmp ne"
        return f.let(f"{test} {TYPE[source]} {a}, {number(0, source)}")
    if source.is_float:
        return resized(f, a, source, to) if to.is_float else _truncated(f, a, source, to)
    if to.is_float:
        name = "sitofp" if source.kind == "int" else "uitofp"
        return f.let(f"{name} {TYPE[source]} {a} to {TYPE[to]}")
    return widened(f, a, source, to)


def widened(f: Function, a: str, source: ScalarType, to: ScalarType) -> str:
    """The integer or bool `a` with as many bits as the integer type `to` has."""
    if source.bits == to.bits:
        return a
    name = "trunc" if source.bits > to.bits else "sext" if source.kind == "int" else "zext"
    return f.let(f"{name} {TYPE[source]} {a} to {TYPE[to]}")


def _truncated(f: Function, a: str, source: ScalarType, to: ScalarType) -> str:
    if source == f16:  # where processors convert halves themselves, LLVM's conversion of NaN gives -32768
        a, source = resized(f, a, source, f32), f32
    sign = "s" if to.kind == "int" else "u"
    name = f"llvm.fpto{sign}i.sat.i{to.bits}.f{source.bits}"
    f.module.declare(name, f"declare i{to.bits} @{name}({TYPE[source]})")
    return f.call(f"i{to.bits}", name, f"{TYPE[source]} {a}")


def resized(f: Function, a: str, source: ScalarType, to: ScalarType) -> str:
    """The float `a` as a float of another width, rounded once."""
    if source.bits == 64 and to.bits == 16:
        return f.let(f"fptrunc float {_odd(f, a)} to half")
    name = "fptrunc" if source.bits > to.bits else "fpext"
    return f.let(f"{name} {TYPE[source]} {a} to {TYPE[to]}")


def _odd(f: Function, a: str) -> str:
    """The double `a` as a float rounded to odd, so that rounding that to half rounds only once."""
    near = f.let(f"fptrunc double {a} to float")
    back = f.let(f"fpext float {near} to double")
    bits = f.let(f"bitcast float {near} to i32")
    size, original = (f.let(f"call double @{_fabs(f)}(double {v})") for v in (back, a))
    above = f.let(f"fcmp ogt double {size}, {original}")
    down = f.let(f"sext i1 {above} to i32")
    towards_zero = f.let(f"add i32 {bits}, {down}")
    odd = f.let(f"or i32 {towards_zero}, 1")
    inexact = f.let(f"fcmp one double {back}, {a}")
    chosen = f.let(f"select i1 {inexact}, i32 {odd}, i32 {bits}")
    return f.let(f"bitcast i32 {chosen} to float")


def _fabs(f: Function) -> str:
    return f.module.declare("llvm.fabs.f64", "declare double @llvm.fabs.f64(double)")
