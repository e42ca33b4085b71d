"""Python's operators on values: on Python numbers exactly, on scalars as primitives, on vectors by entry."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence, Sized
from typing import Any

import numpy as np

from dsim.frontend.source.launch_numbers import Weak
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.values import (
    FieldValue,
    Mat,
    Method,
    Opaque,
    RecordValue,
    Scalar,
    StructFieldValue,
    StructValue,
    Value,
    component_names,
    describe,
    describe_shape,
    is_open,
    is_scalar,
    kind_of,
    listed,
)
from dsim.ir.build import const
from dsim.ir.nodes import Const
from dsim.ir.operators import MIRRORED
from dsim.ir.types import i64, u1, u64

SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip

EXACT: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod"}
_BITS = {"&": "band", "|": "bor", "^": "bxor"}
_SHIFTS = {"<<": "shl", ">>": "shr"}
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def matrix(e: Emitter, items: Sequence[Value]) -> Mat:
    """A vector of scalars, or a matrix of rows; entries in their common type."""
    rows: list[Value] = [matrix(e, v) if isinstance(v, tuple | list) else v for v in items]
    if not rows:
        e.refuse("shape", "a vector needs at least one entry")
    if all(is_scalar(r) for r in rows):
        return Mat((len(rows),), unified(e, rows))
    if not all(isinstance(r, Mat) and len(r.shape) == 1 for r in rows):
        odd = next((r for r in rows if not is_scalar(r) and not isinstance(r, Mat)), None)
        if odd is not None:
            e.refuse("type", f"{describe(odd)} cannot be an entry of a vector")
        e.refuse("shape", "the entries of a vector are scalars, or vectors of one length")
    widths = {r.shape[0] for r in rows}
    if len(widths) > 1:
        e.refuse(
            "shape",
            f"the rows of a matrix have different lengths: {', '.join(str(r.shape[0]) for r in rows)}",
        )
    entries = [s for r in rows if isinstance(r, Mat) for s in r.entries]
    return Mat((len(rows), widths.pop()), unified(e, entries))


def unified(e: Emitter, scalars: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """`scalars` in one type; numbers alone stay open, floats if one is."""
    if all(is_open(s) for s in scalars):
        if any(kind_of(s) is float for s in scalars):
            return tuple(e.computed(float, s) for s in scalars)
        return tuple(scalars)
    t = e.common(scalars)
    return tuple(e.atom(s, t) for s in scalars)


def operand(e: Emitter, value: Value, sign: str = "") -> Scalar | Mat:
    """`value` as something to compute with.

    Lists and tuples become vectors; all else is refused.
    """
    if is_scalar(value) or isinstance(value, Mat):
        return value
    if isinstance(value, Opaque) and isinstance(value.value, tuple | list) and _of_numbers(value.value):
        value = value.value  # noted where its name was read
    if isinstance(value, tuple | list):
        return matrix(e, value)
    what = f"`{sign}`" if sign else "arithmetic"
    e.refuse("type", f"{what} does not work on {describe(value)}", help=_advice(value))


def _of_numbers(items: Sequence[object]) -> bool:
    return all(
        _of_numbers(i) if isinstance(i, tuple | list) else isinstance(i, int | float) for i in items
    ) and bool(items)


def _advice(value: Value) -> str:
    if isinstance(value, FieldValue | StructFieldValue):
        return "index it, as in `x[i]`"
    if isinstance(value, StructValue | RecordValue):
        return f"compute with its members: {listed(value.members)}"
    if isinstance(value, Opaque) and isinstance(value.value, np.ndarray):
        return "keep the array in a field, or make it a `ds.Vector` or `ds.Matrix`"
    if isinstance(value, Method):
        return f"call it: `{ast.unparse(value.node)}.{value.name}()`"
    return ""


def elementwise(
    e: Emitter, f: Callable[..., Scalar], *values: Scalar | Mat, hint: str = "t", sign: str = ""
) -> Value:
    """``f(*scalars, hint)`` for each entry; scalars go with every entry of a vector."""
    shapes = {v.shape for v in values if isinstance(v, Mat)}
    if not shapes:
        return f(*values, hint)
    if len(shapes) > 1:
        given = " and ".join(describe_shape(v.shape) for v in values if isinstance(v, Mat))
        what = f"`{sign}`" if sign else "this operation"
        e.refuse("shape", f"{what} needs equal shapes, got {given}")
    shape = shapes.pop()
    names = component_names(hint, shape) if hint != "t" else [hint] * len(next(iter(_mats(values))).entries)
    rows = zip(*(v.entries if isinstance(v, Mat) else (v,) * len(names) for v in values), strict=True)
    return Mat(shape, tuple(f(*row, name) for row, name in zip(rows, names, strict=True)))


def _mats(values: Sequence[Scalar | Mat]) -> list[Mat]:
    return [v for v in values if isinstance(v, Mat)]


def binary(e: Emitter, sign: str, a: Value, b: Value, hint: str = "t") -> Value:
    """``a sign b`` for Python's binary operators and comparisons, but ``@``."""
    a, b = operand(e, a, sign), operand(e, b, sign)
    return elementwise(e, lambda x, y, name: scalar(e, sign, x, y, name), a, b, hint=hint, sign=sign)


def scalar(e: Emitter, sign: str, a: Scalar, b: Scalar, hint: str = "t") -> Scalar:
    """``a sign b`` of two scalars."""
    if is_open(a) and is_open(b):
        return _fold(e, sign, a, b)
    if sign in COMPARISONS:
        return compare(e, COMPARISONS[sign], a, b, hint)
    if sign in _ARITHMETIC:
        t = e.by_value((a, b)) if sign in ("//", "%") else e.common((a, b))
        t = e.type_of(e.number(0)) if t == u1 else t
        return e.let(_ARITHMETIC[sign], e.atom(a, t), e.atom(b, t), hint=hint)
    if sign == "/":
        x, y = e.floating(a, b)
        return e.let("div", x, y, hint=hint)
    if sign == "**":
        return power(e, a, b, hint)
    return _bitwise(e, sign, a, b, hint)


MOST_BITS = 4096  # of an integer at compile time
MOST_ITEMS = 100_000  # of a repeated list or text


def exact(e: Emitter, sign: str, a: Any, b: Any) -> Any:
    """``a sign b`` of Python objects, at compile time; refused when the result would fill the memory."""
    if _bits(sign, a, b) > MOST_BITS:
        message = f"this number would have more than {MOST_BITS} bits"
        e.refuse("limit", message, help="compute it in floats: `2.0 ** 100`, or drop the upper bits")
    for items, times in ((a, b), (b, a)) if sign == "*" else ():
        count = len(items) * times if isinstance(items, tuple | list | str) and isinstance(times, int) else 0
        if count > MOST_ITEMS:
            message = f"this list would have {count} items; {MOST_ITEMS} is the most"
            e.refuse("limit", message, help="store many numbers in a field")
    return EXACT[sign](a, b)


def _bits(sign: str, a: Any, b: Any) -> int:
    """At least how many bits the integer ``a sign b`` has, where these may be many; else 0."""
    if isinstance(a, int) and isinstance(b, int) and b > 0 and a != 0:
        if sign == "**" and abs(a) > 1:
            return (a.bit_length() - 1) * b
        if sign == "<<":
            return a.bit_length() + b
    return 0


def _limited(sign: str) -> Callable[..., Any]:
    """``a sign b`` as a launch computes it, where the result may become long."""

    def operate(a: Any, b: Any) -> Any:
        if _bits(sign, a, b) > MOST_BITS:
            raise OverflowError
        return EXACT[sign](a, b)

    return operate


_LIMITED = {sign: _limited(sign) for sign in ("**", "<<")}


def _fold(e: Emitter, sign: str, a: Any, b: Any) -> Scalar:
    try:
        result = exact(e, sign, *(s.value if isinstance(s, Weak) else s for s in (a, b)))
    except ZeroDivisionError:
        e.refuse("type", "this divides by zero", help="guard it with an `if` on the divisor")
    except (TypeError, OverflowError, ValueError) as error:
        e.refuse("type", f"this cannot be computed: {error}")
    if isinstance(result, complex):
        e.refuse("type", "a negative number to a fractional power is not real", help="take a positive base")
    if sign in _LIMITED:
        return e.computed(_LIMITED[sign], a, b)
    return e.computed(EXACT[sign], a, b, sign=sign)


def compare(e: Emitter, op: str, a: Scalar, b: Scalar, hint: str = "t") -> Scalar:
    """Comparison `op` of two scalars, in their common type; of a signed and an unsigned integer by value."""
    t = e.common((a, b))
    if t == u1 and op not in ("eq", "ne"):
        return e.let(op, e.number(a), e.number(b), hint=hint)
    if t.kind == "uint" and (e.may_be_negative(a) or e.may_be_negative(b)):
        if t.bits == 64:
            return _compare_with_u64(e, op, a, b, hint)
        t = i64
    return e.let(op, e.atom(a, t), e.atom(b, t), hint=hint)


def _compare_with_u64(e: Emitter, op: str, a: Scalar, b: Scalar, hint: str) -> Scalar:
    """Comparison `op` of a u64 and a signed integer, for which no type holds all values of both."""
    if e.type_of(a).kind != "int":
        return _compare_with_u64(e, MIRRORED[op], b, a, hint)
    negative = e.let("lt", e.atom(a), const(0, e.type_of(a)))
    holds = e.let(op, e.atom(a, u64), e.atom(b, u64))
    if op in ("lt", "le", "ne"):
        return e.let("bor", negative, holds, hint=hint)
    return e.let("band", e.let("bnot", negative), holds, hint=hint)


def power(e: Emitter, a: Scalar, b: Scalar, hint: str = "t") -> Scalar:
    """``a ** b``: by multiplications when `b` is an integer, else `pow`."""
    ta, tb = e.type_of(a), e.type_of(b)
    if ta.is_float and tb.is_float and is_open(b) and e.known(e.computed(_is_small_and_whole, b)):
        return e.let("powi", e.atom(a), e.atom(e.computed(int, b)), hint=hint)
    if tb.is_float:
        x, y = e.floating(a, b)
        return e.let("pow", x, y, hint=hint)
    if not ta.is_float and (e.is_known(b, operator.lt, 0) or (isinstance(b, Const) and b.value < 0)):
        e.refuse(
            "type", "an integer to a negative power is a fraction", help="make the base a float: `2.0 ** -1`"
        )
    base = e.number(a, e.common((a, b)) if not ta.is_float else ta)
    return e.let("powi", base, e.number(b), hint=hint)


def _is_small_and_whole(exponent: float) -> bool:
    return float(exponent).is_integer() and abs(exponent) <= 64  # Python 3.11's integers do not know that


def _bitwise(e: Emitter, sign: str, a: Scalar, b: Scalar, hint: str) -> Scalar:
    t = e.common((a, b))
    if t.is_float:
        e.refuse("type", f"`{sign}` works on integers, got {describe(a)} and {describe(b)}")
    if sign in _BITS:
        return e.let(_BITS[sign], e.atom(a, t), e.atom(b, t), hint=hint)
    left = e.number(a)
    if isinstance(b, int) and not 0 <= b < left.type.bits:
        low = b % left.type.bits
        message = f"a shift of an {left.type} uses the low bits of its amount: by {low} instead of {b}"
        wider = "shift an i64, or " if left.type.bits <= b < 64 else ""
        e.warn("type-change", message, help=f"{wider}write {low} if this is intended")
    return e.let(_SHIFTS[sign], left, e.atom(b, left.type), hint=hint)


def unary(e: Emitter, sign: str, a: Value, hint: str = "t") -> Value:
    """``-a``, ``+a``, ``~a``, ``not a``."""
    if sign == "not":
        return negation(e, a, hint)
    a = operand(e, a, sign)
    return elementwise(e, lambda x, name: _unary(e, sign, x, name), a, hint=hint)


def _unary(e: Emitter, sign: str, x: Scalar, hint: str) -> Scalar:
    if is_open(x):
        if sign == "~" and kind_of(x) is float:
            e.refuse("type", "`~` works on integers, got a float")
        return e.computed({"-": operator.neg, "+": operator.pos, "~": operator.invert}[sign], x)
    if sign == "+":
        return e.atom(x)
    if sign == "-":
        return e.let("neg", e.number(x), hint=hint)
    if e.type_of(x).is_float:
        e.refuse("type", f"`~` works on integers, got {describe(x)}")
    return e.let("bnot", e.atom(x), hint=hint)


def negation(e: Emitter, a: Value, hint: str = "t") -> Scalar:
    """``not a``."""
    if is_open(a):
        return e.computed(operator.not_, a)
    t = condition(e, a)
    return not t if isinstance(t, bool) else e.let("bnot", t, hint=hint)


def condition(e: Emitter, a: Value) -> Any:
    """`a` as a truth value: a bool when known, else a u1 atom."""
    if is_scalar(a):
        return e.truth(a)
    if isinstance(a, Mat | tuple | list):
        shape = describe(a)
        e.refuse("type", f"{shape} is not a truth value", help="reduce it with `.all()` or `.any()`")
    sized = isinstance(a, Opaque) and isinstance(a.value, Sized)
    help = "compare its length: `len(…) > 0`" if sized else ""
    if isinstance(a, FieldValue | StructFieldValue):
        help = "index it, as in `x[i]`"
    e.refuse("type", f"{describe(a)} cannot be a condition", help=help)
