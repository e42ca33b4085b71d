"""Mathematical functions: on scalars as primitives of the table, on vectors entry by entry."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection
from functools import cache

from dsim.frontend.values import bits, linear
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.operators import binary, elementwise, operand, power
from dsim.frontend.values.values import (
    FieldValue,
    Mat,
    Opaque,
    Scalar,
    Value,
    describe,
    is_number,
    is_open,
    is_scalar,
    kind_of,
)
from dsim.ir import arithmetic
from dsim.ir.build import evaluate
from dsim.ir.nodes import Atom, Const
from dsim.ir.primitive import Primitive
from dsim.ir.primitives import TABLE
from dsim.ir.types import f64, i32, u1

Function = Callable[..., Value]
_MOST = 100  # the order of a polygamma function

# The rows of the table that are functions of the dialect as they are: of floats, entry by entry.
_SPELLED = {
    r.spelling.name: r for r in TABLE.values() if r.spelling and r.over == "F" and r.signature.endswith("->T")
}
STEPS = tuple(name for name, r in _SPELLED.items() if r.signature == "T->T" and r.times == (None,))


def _of_floats(name: str, row: Primitive) -> Function:
    if name in STEPS:
        return _step(row.name)
    if row.signature == "nT->T":
        return _of_order(row.name)
    return _smooth(row.name) if row.signature == "T->T" else _of_two(row.name)


def _smooth(op: str) -> Function:
    def one(e: Emitter, x: Scalar, hint: str) -> Scalar:
        if is_open(x):
            return e.computed(_exactly(op), x)
        return e.let(op, *e.floating(x), hint=hint)

    return _by_entry(one)


@cache
def _exactly(op: str, *first: Const) -> Callable[..., float]:
    """Primitive `op` of `first` and Python numbers, in double precision whatever the default is."""
    return lambda *xs: float(evaluate(op, (*first, *(Const(float(x), f64) for x in xs)), f64).value)


def _of_order(op: str) -> Function:
    def many(e: Emitter, order: Value, x: Value, hint: str = "t") -> Value:
        if not isinstance(order, int) or isinstance(order, bool) or not 0 <= order <= _MOST:
            what = f"{order}" if is_number(order) else describe(order)
            whole = f"a whole number from 0 to {_MOST}, known when compiling"
            e.refuse("argument", f"the order of `{op}` is {what}", help=f"it is {whole}")
        n = Const(order, i32)

        def one(e: Emitter, x: Scalar, hint: str) -> Scalar:
            if is_open(x):
                return e.computed(_exactly(op, n), x)
            return e.let(op, n, *e.floating(x), hint=hint)

        return _by_entry(one)(e, x, hint=hint)

    return many


def _by_entry(one: Callable[..., Scalar]) -> Function:
    """A function of scalars, made to work on vectors; a trailing `hint` names its result."""

    def many(e: Emitter, *args: Value, hint: str = "t") -> Value:
        return elementwise(e, lambda *a: one(e, *a), *(operand(e, a) for a in args), hint=hint)

    return many


def _step(op: str) -> Function:
    def one(e: Emitter, x: Scalar, hint: str) -> Scalar:
        if is_open(x):
            return e.computed(_exactly(op), x) if kind_of(x) is float else x
        return x if not e.type_of(x).is_float else e.let(op, *e.floating(x), hint=hint)

    return _by_entry(one)


def _abs(e: Emitter, x: Scalar, hint: str) -> Scalar:
    return e.computed(abs, x) if is_open(x) else e.let("abs", e.number(x), hint=hint)


def _extreme(op: str, of_numbers: Callable[..., float]) -> Function:
    def one(e: Emitter, x: Scalar, y: Scalar, hint: str) -> Scalar:
        if is_open(x) and is_open(y):
            return e.computed(of_numbers, x, y)
        t = e.by_value((x, y))
        a, b = (e.number(x), e.number(y)) if t == u1 else (e.atom(x, t), e.atom(y, t))
        return e.let(op, a, b, hint=hint)

    pair = _by_entry(one)

    def many(e: Emitter, *args: Value, hint: str = "t") -> Value:
        if len(args) == 1:
            args = tuple(_items(e, args[0], op))
        result = args[0]
        for i, a in enumerate(args[1:], 2):
            result = pair(e, result, a, hint=hint if i == len(args) else "t")
        return result

    return many


def _items(e: Emitter, value: Value, what: str) -> list[Value]:
    if isinstance(value, Mat) and value.entries:
        return list(value.entries)
    if isinstance(value, tuple | list) and value:
        return list(value)
    help, place = "", e.builder.origin.span
    if isinstance(value, FieldValue):
        help = "compute it in a loop over the field: `for i in x:`"
    elif isinstance(value, Opaque) and isinstance(value.value, Collection) and place is not None:
        help = f"let Python compute it, when the kernel is compiled: `ds.static({place.text})`"
    e.refuse("argument", f"`{what}` needs two arguments, or a vector, got {describe(value)}", help=help)


def _power(e: Emitter, a: Value, b: Value, hint: str = "t") -> Value:
    return binary(e, "**", a, b, hint)


def _float_power(e: Emitter, x: Scalar, y: Scalar, hint: str) -> Scalar:
    """``math.pow``, which is a float of integers, too."""
    if is_open(x) and is_open(y):
        return e.computed(math.pow, x, y)
    if e.type_of(x).is_float or e.type_of(y).is_float:
        return power(e, x, y, hint)
    return e.let("pow", *e.floating(x, y), hint=hint)


def _of_two(op: str) -> Function:
    def one(e: Emitter, x: Scalar, y: Scalar, hint: str) -> Scalar:
        if is_open(x) and is_open(y):
            return e.computed(_exactly(op), x, y)
        return e.let(op, *e.floating(x, y), hint=hint)

    return _by_entry(one)


def _mod(e: Emitter, x: Value, y: Value, hint: str = "t") -> Value:
    return binary(e, "%", x, y, hint)


def _fmod(e: Emitter, x: Scalar, y: Scalar, hint: str) -> Scalar:
    """The remainder with the sign of `x`; its derivative by `x` is 1, at 0 too."""
    a, b = e.floating(x, y)
    below = e.let("lt", a, e.atom(0.0, a.type))
    size = e.let("select", below, e.let("neg", a), a)
    rest = e.let("mod", size, e.let("abs", b))
    return e.let("select", below, e.let("neg", rest), rest, hint=hint)


def _raw_mod(e: Emitter, x: Scalar, y: Scalar, hint: str) -> Scalar:
    return (_fmod if e.common((x, y)).is_float else bits.remainder)(e, x, y, hint)


def _filled(number: int) -> Function:
    """`zero` and `one`: a value like another one, of its types."""

    def one(e: Emitter, x: Scalar, hint: str) -> Scalar:
        if is_open(x):
            return float(number) if kind_of(x) is float else number
        return e.atom(number, e.type_of(x))

    return _by_entry(one)


def _select(e: Emitter, cond: Scalar, yes: Scalar, no: Scalar, hint: str) -> Scalar:
    if is_open(cond) and is_open(yes) and is_open(no):
        return e.computed(_chosen, cond, yes, no)
    e.joins(yes, no)
    truth = e.truth(cond)
    if isinstance(truth, bool):
        return yes if truth else no
    t = e.by_value((yes, no))
    return e.let("select", truth, e.atom(yes, t), e.atom(no, t), hint=hint)


def _chosen(cond: float, yes: float, no: float) -> float:
    return yes if cond else no


def _sign(e: Emitter, x: Scalar, hint: str) -> Scalar:
    a = e.number(x)
    zero, one = e.atom(0, a.type), e.atom(1, a.type)
    below = e.let("select", e.let("lt", a, zero), e.atom(-1, a.type), zero)
    return e.let("select", e.let("gt", a, zero), one, below, hint=hint)


def _isnan(e: Emitter, x: Scalar, hint: str) -> Scalar:
    return e.let("isnan", *e.floating(x), hint=hint)


def _isinf(e: Emitter, x: Scalar, hint: str) -> Scalar:
    (a,) = e.floating(x)
    return e.let("eq", e.let("abs", a), e.atom(math.inf, a.type), hint=hint)


def _isfinite(e: Emitter, x: Scalar, hint: str) -> Scalar:
    (a,) = e.floating(x)
    return e.let("lt", e.let("abs", a), e.atom(math.inf, a.type), hint=hint)  # a NaN is not less


def _stop(e: Emitter, x: Scalar, hint: str) -> Scalar:
    return x if is_open(x) else e.let("stop", e.atom(x), hint=hint)


def _fract(e: Emitter, x: Scalar, hint: str) -> Scalar:
    (a,) = e.floating(x)
    return e.let("sub", a, e.let("floor", a), hint=hint)


def _scaled(factor: float) -> Function:
    return lambda e, x, hint="t": binary(e, "*", x, factor, hint)


def _log_base(base: float) -> Function:
    log = _smooth("log")
    return lambda e, x, hint="t": binary(e, "/", log(e, x), math.log(base), hint)


def _exp2(e: Emitter, x: Value, hint: str = "t") -> Value:
    return _smooth("exp")(e, binary(e, "*", x, math.log(2.0)), hint=hint)


def _clamp(e: Emitter, x: Value, low: Value, high: Value, hint: str = "t") -> Value:
    return FUNCTIONS["min"](e, high, FUNCTIONS["max"](e, low, x), hint=hint)


def _mix(e: Emitter, x: Value, y: Value, a: Value, hint: str = "t") -> Value:
    return binary(e, "+", binary(e, "*", x, binary(e, "-", 1.0, a)), binary(e, "*", y, a), hint)


def _step_at(e: Emitter, edge: Scalar, x: Scalar, hint: str) -> Scalar:
    a, b = e.floating(edge, x)
    return e.let("select", e.let("lt", b, a), e.atom(0.0, a.type), e.atom(1.0, a.type), hint=hint)


def _smoothstep(e: Emitter, low: Value, high: Value, x: Value, hint: str = "t") -> Value:
    share = binary(e, "/", binary(e, "-", x, low), binary(e, "-", high, low))
    t = _clamp(e, share, 0.0, 1.0)
    return binary(e, "*", binary(e, "*", t, t), binary(e, "-", 3.0, binary(e, "*", 2.0, t)), hint)


def _dot(e: Emitter, a: Value, b: Value, hint: str = "t") -> Value:
    return linear.dot(e, linear.vector(e, a, "dot"), linear.vector(e, b, "dot"), hint)


def _cross(e: Emitter, a: Value, b: Value, hint: str = "t") -> Value:
    return linear.cross(e, linear.vector(e, a, "cross"), linear.vector(e, b, "cross"), hint)


def _length(e: Emitter, a: Value, hint: str = "t") -> Value:
    return linear.norm(e, linear.vector(e, a, "length"), hint=hint)


def _distance(e: Emitter, a: Value, b: Value, hint: str = "t") -> Value:
    return _length(e, binary(e, "-", a, b), hint)


def _normalize(e: Emitter, a: Value, hint: str = "t") -> Value:
    return linear.normalized(e, linear.vector(e, a, "normalize"), hint=hint)


def _reflect(e: Emitter, x: Value, n: Value, hint: str = "t") -> Value:
    return binary(e, "-", x, binary(e, "*", binary(e, "*", 2.0, _dot(e, x, n)), n), hint)


def _sum(e: Emitter, value: Value, start: Value = 0, hint: str = "t") -> Value:
    terms = _items(e, value, "sum")
    result = terms[0] if is_scalar(start) and e.is_known(start, operator.eq, 0) else start
    for term in terms[1:] if result is terms[0] else terms:
        result = binary(e, "+", result, term, hint)
    return result


def _all(sign: str) -> Function:
    def every(e: Emitter, value: Value, hint: str = "t") -> Value:
        truths = [e.truth(s) for s in _items(e, value, "all" if sign == "&" else "any") if is_scalar(s)]
        return linear.total(e, truths, sign, hint)

    return every


def _matrix_function(f: Callable[..., Value], what: str) -> Function:
    return lambda e, m, hint="t": f(e, linear.square(e, m, what, 4), hint)


FUNCTIONS: dict[str, Function] = {
    **{name: _of_floats(name, row) for name, row in _SPELLED.items()},
    "abs": _by_entry(_abs),
    "max": _extreme("max", arithmetic.maximum),  # not Python's, which returns another one at a tie or a NaN
    "min": _extreme("min", arithmetic.minimum),
    "pow": _power,
    "float_pow": _by_entry(_float_power),
    "mod": _mod,
    "fmod": _by_entry(_fmod),
    "raw_mod": _by_entry(_raw_mod),
    "zero": _filled(0),
    "one": _filled(1),
    **bits.FUNCTIONS,
    "select": _by_entry(_select),
    "sign": _by_entry(_sign),
    "isnan": _by_entry(_isnan),
    "isinf": _by_entry(_isinf),
    "isfinite": _by_entry(_isfinite),
    "stop_grad": _by_entry(_stop),
    "fract": _by_entry(_fract),
    "radians": _scaled(math.pi / 180.0),
    "degrees": _scaled(180.0 / math.pi),
    "log2": _log_base(2.0),
    "log10": _log_base(10.0),
    "exp2": _exp2,
    "inversesqrt": _smooth("rsqrt"),
    "digamma": lambda e, x, hint="t": _of_order("polygamma")(e, 0, x, hint=hint),
    "clamp": _clamp,
    "mix": _mix,
    "step": _by_entry(_step_at),
    "smoothstep": _smoothstep,
    "dot": _dot,
    "cross": _cross,
    "length": _length,
    "distance": _distance,
    "normalize": _normalize,
    "reflect": _reflect,
    "sum": _sum,
    "all": _all("&"),
    "any": _all("|"),
    "determinant": _matrix_function(linear.determinant, "determinant"),
    "inverse": _matrix_function(linear.inverse, "inverse"),
}

ARITY: dict[str, tuple[int, int | None]] = {
    **{name: (len(row.parameters), len(row.parameters)) for name, row in _SPELLED.items()},
    **dict.fromkeys(("max", "min"), (1, None)),
    **dict.fromkeys(
        (
            "mod",
            "float_pow",
            "fmod",
            "step",
            "dot",
            "cross",
            "distance",
            "reflect",
            "bit_shr",
            "raw_div",
            "raw_mod",
        ),
        (2, 2),
    ),
    **dict.fromkeys(("select", "clamp", "mix", "smoothstep"), (3, 3)),
    "sum": (1, 2),
}


def check_count(e: Emitter, name: str, count: int) -> None:
    """Refuses a wrong number of arguments."""
    low, high = ARITY.get(name, (1, 1))
    if count < low or (high is not None and count > high):
        wanted = f"{low} argument{'s' * (low != 1)}" if low == high else f"at least {low}"
        e.refuse("argument", f"`{name}` takes {wanted}, got {count}")


def cast(e: Emitter, value: Value, to, hint: str = "t") -> Value:
    """`value` as a scalar type, entry by entry."""
    return elementwise(e, lambda x, name: e.atom(x, to, name), operand(e, value), hint=hint)


def as_atom(e: Emitter, value: Value, what: str) -> Atom:
    """One scalar in the IR."""
    if not is_scalar(value):
        e.refuse("type", f"`{what}` needs a scalar, got {describe(value)}")
    return e.atom(value)
