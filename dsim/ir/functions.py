"""Rows of the table: powers and the functions of mathematical libraries. `primitives.py` joins all rows."""

from __future__ import annotations

import math
from typing import Any

from dsim.ir.gamma import polygamma
from dsim.ir.kinks import HALF, ORIGIN, POINT, WHOLE, ZERO_TO_ZERO, Kink
from dsim.ir.nodes import Atom, Const
from dsim.ir.operators import ANY, POSITIVE, ROUNDED, safe
from dsim.ir.primitive import Formula, Intrinsic, Libm, Primitive, Spelling, Times
from dsim.ir.term import Term, select
from dsim.ir.types import i32

_UNIT = (-0.9, 0.9)
_SLOPE_OF_ERF = 2 / math.sqrt(math.pi)


def _pow_base(x: Term, y: Term, z: Term, t: Term) -> Term:
    """0 at the exponent 0, by a product: a selection would have derivative 0 by `y` there, not ``1 / x``."""
    return safe(safe(x.op("pow", y - 1), y), t)


def _pow_exponent(x: Term, y: Term, z: Term, t: Term) -> Term:
    return safe(select(x.equals(0), 0, z * x.op("log")), t)


def _powi_base(x: Term, n: Term, z: Term, t: Term) -> Term:
    return safe(select(n.equals(0), 0, n.cast(x.type) * x.op("powi", n - 1)), t)


def _atan2(other: Term, y: Term, x: Term, t: Term) -> Term:
    return safe(other / (x * x + y * y), t)


def _polygamma(order: int, x: Term) -> Term:
    return Term(x.builder, Const(order, i32)).op("polygamma", x)


def _somewhere(args: tuple[Atom, ...]) -> bool:
    return True


def _negative_power(args: tuple[Atom, ...]) -> bool:
    return not (isinstance(args[1], Const) and args[1].value >= 0)


def _smooth(
    spelling: Spelling, python: str, times: Times, domain: tuple[float, float] = ANY, **more: Any
) -> Primitive:
    """A smooth function of one float, from C's mathematical library."""
    more = {"lowering": Libm(spelling.name), "cost": 16, **more}
    return Primitive(
        spelling.name, "T->T", "F", python, (times,), domain=(domain,), spelling=spelling, **more
    )


def _step(spelling: Spelling, python: str, kink: Kink, intrinsic: str) -> Primitive:
    more: dict[str, Any] = {"spelling": spelling, "lowering": Intrinsic(intrinsic), "ends": ROUNDED}
    return Primitive(spelling.name, "T->T", "F", python, (None,), kink, ((0.1, 0.4),), **more)


FUNCTIONS: tuple[Primitive, ...] = (
    _smooth(
        Spelling("sqrt", "The square root of `x`.", ("sqrt",), ("sqrt",)),
        "np.sqrt({0})",
        lambda x, z, t: safe(0.5 / z, t),
        POSITIVE,
        lowering=Intrinsic("sqrt", rounds=True),
        cost=4,
        pole=_somewhere,
    ),
    Primitive(
        "sqrt0",
        "T->T",
        "F",
        "np.sqrt({0})",
        (lambda x, z, t: select(z.equals(0), 0, 0.5 / z * t),),  # not 0 · t: `t` may be infinite
        POINT,
        (POSITIVE,),
        lowering=Intrinsic("sqrt", rounds=True),
        cost=4,
    ),
    _smooth(
        Spelling("rsqrt", "One over the square root of `x`."),
        "1 / np.sqrt({0})",
        lambda x, z, t: safe(-0.5 * z * z * z, t),
        POSITIVE,
        lowering=Formula(lambda x: 1 / x.op("sqrt")),
        cost=4,
        pole=_somewhere,
    ),
    _smooth(
        Spelling("exp", "e to the power `x`.", ("exp",), ("exp",)),
        "np.exp({0})",
        lambda x, z, t: z * t,
        pole=_somewhere,
    ),
    _smooth(
        Spelling("log", "The natural logarithm of `x`.", ("log",), ("log",)),
        "np.log({0})",
        lambda x, z, t: safe(1 / x, t),
        POSITIVE,
        pole=_somewhere,
    ),
    _smooth(
        Spelling("sin", "The sine of `x` in radians.", ("sin",), ("sin",)),
        "np.sin({0})",
        lambda x, z, t: x.op("cos") * t,
    ),
    _smooth(
        Spelling("cos", "The cosine of `x` in radians.", ("cos",), ("cos",)),
        "np.cos({0})",
        lambda x, z, t: -x.op("sin") * t,
    ),
    _smooth(
        Spelling("tan", "The tangent of `x` in radians.", ("tan",), ("tan",)),
        "np.tan({0})",
        lambda x, z, t: (1 + z * z) * t,
        (-1.0, 1.0),
    ),
    _smooth(
        Spelling("asin", "The angle in [-π/2, π/2] whose sine is `x`.", ("asin",), ("arcsin",)),
        "np.arcsin({0})",
        lambda x, z, t: safe(1 / (1 - x * x).op("sqrt"), t),
        _UNIT,
        pole=_somewhere,
    ),
    _smooth(
        Spelling("acos", "The angle in [0, π] whose cosine is `x`.", ("acos",), ("arccos",)),
        "np.arccos({0})",
        lambda x, z, t: safe(-1 / (1 - x * x).op("sqrt"), t),
        _UNIT,
        pole=_somewhere,
    ),
    _smooth(
        Spelling("atan", "The angle in (-π/2, π/2) whose tangent is `x`.", ("atan",), ("arctan",)),
        "np.arctan({0})",
        lambda x, z, t: (1 / (1 + x * x)) * t,
    ),
    _smooth(
        Spelling("sinh", "The hyperbolic sine of `x`.", ("sinh",), ("sinh",)),
        "np.sinh({0})",
        lambda x, z, t: x.op("cosh") * t,
        pole=_somewhere,
    ),
    _smooth(
        Spelling("cosh", "The hyperbolic cosine of `x`.", ("cosh",), ("cosh",)),
        "np.cosh({0})",
        lambda x, z, t: x.op("sinh") * t,
        pole=_somewhere,
    ),
    _smooth(
        Spelling("tanh", "The hyperbolic tangent of `x`.", ("tanh",), ("tanh",)),
        "np.tanh({0})",
        lambda x, z, t: (1 - z * z) * t,
    ),
    _smooth(
        Spelling("expm1", "e to the power `x`, minus 1, exact near 0.", ("expm1",), ("expm1",), ("expm1",)),
        "np.expm1({0})",
        lambda x, z, t: x.op("exp") * t,  # not z + 1, which cancels for x far below 0
        pole=_somewhere,
    ),
    _smooth(
        Spelling(
            "log1p", "The natural logarithm of 1 + `x`, exact near 0.", ("log1p",), ("log1p",), ("log1p",)
        ),
        "np.log1p({0})",
        lambda x, z, t: safe(1 / (1 + x), t),
        _UNIT,
        pole=_somewhere,
    ),
    _smooth(
        Spelling("cbrt", "The cube root of `x`, of either sign.", ("cbrt",), ("cbrt",), ("cbrt",)),
        "np.cbrt({0})",
        lambda x, z, t: safe(1 / (3 * z * z), t),
        POSITIVE,
        pole=_somewhere,
    ),
    _smooth(
        Spelling(
            "erf",
            "The error function, 2/√π times the integral of exp(-s²) from 0 to `x`.",
            ("erf",),
            special=("erf",),
        ),
        "erf({0})",
        lambda x, z, t: _SLOPE_OF_ERF * (-(x * x)).op("exp") * t,
    ),
    _smooth(
        Spelling("erfc", "1 - ``erf(x)``, exact where that is close to 0.", ("erfc",), special=("erfc",)),
        "erfc({0})",
        lambda x, z, t: -_SLOPE_OF_ERF * (-(x * x)).op("exp") * t,
    ),
    _smooth(
        Spelling(
            "lgamma",
            "The logarithm of the absolute value of the gamma function.",
            ("lgamma",),
            special=("gammaln",),
        ),
        "lgamma({0})",
        lambda x, z, t: safe(_polygamma(0, x), t),
        POSITIVE,
        cost=32,
        pole=_somewhere,
    ),
    Primitive(
        "polygamma",
        "nT->T",
        "F",
        "polygamma({0}, {1})",
        (None, lambda n, x, z, t: safe((n + 1).op("polygamma", x), t)),
        domain=((1, 1), POSITIVE),
        spelling=Spelling(
            "polygamma",
            "Derivative number `n` of ``digamma(x)``, for a constant `n`.",
            special=("polygamma",),
        ),
        lowering=Formula(polygamma),
        cost=100,
        pole=_somewhere,
    ),
    Primitive(
        "hypot",
        "TT->T",
        "F",
        "np.hypot({0}, {1})",
        (
            lambda x, y, z, t: select(z.equals(0), 0, x / z * t),
            lambda x, y, z, t: select(z.equals(0), 0, y / z * t),
        ),
        ORIGIN,
        (POSITIVE, POSITIVE),
        spelling=Spelling("hypot", "The length of the vector (x, y).", ("hypot",), ("hypot",)),
        lowering=Libm("hypot"),
        cost=16,
    ),
    Primitive(
        "atan2",
        "TT->T",
        "F",
        "np.arctan2({0}, {1})",
        (lambda y, x, z, t: _atan2(x, y, x, t), lambda y, x, z, t: -_atan2(y, y, x, t)),
        domain=(POSITIVE, POSITIVE),
        spelling=Spelling(
            "atan2", "The angle of the point (x, y), given as ``atan2(y, x)``.", ("atan2",), ("arctan2",)
        ),
        lowering=Libm("atan2"),
        cost=16,
    ),
    Primitive(
        "pow",
        "TT->T",
        "F",
        "{0} ** {1}",
        (_pow_base, _pow_exponent),
        ZERO_TO_ZERO,
        (POSITIVE, ANY),
        spelling=Spelling("pow", "`x` to the power `y`.", ("pow",), ("power",)),
        lowering=Libm("pow"),
        cost=16,
        pole=_somewhere,
    ),
    Primitive(
        "powi",
        "Ti->T",
        "FI",
        "powi({0}, {1})",
        (_powi_base, None),
        domain=(POSITIVE, (3, 3)),
        cost=4,
        pole=_negative_power,
    ),
    _step(
        Spelling(
            "floor",
            "The greatest whole number that is not above `x`, as a `dtype` if given.",
            numpy=("floor",),
        ),
        "np.floor({0})",
        WHOLE,
        "floor",
    ),
    _step(
        Spelling(
            "ceil", "The least whole number that is not below `x`, as a `dtype` if given.", numpy=("ceil",)
        ),
        "np.ceil({0})",
        WHOLE,
        "ceil",
    ),
    _step(
        Spelling(
            "round",
            "The whole number nearest to `x`, of two the even one, as a `dtype` if given.",
            numpy=("rint",),
        ),
        "np.rint({0})",
        HALF,
        "rint",
    ),
)
