"""THE table: every primitive, its type, its derivative, its spelling. Written once, used by all.

A derivative is given as products: ``times[i]`` maps the arguments, the result and a factor `t` to
``(∂ result / ∂ argument i) · t``, as formulas over this same table. Forward mode puts the
argument's tangent for `t` and sums; reverse mode puts the result's adjoint. `None` is a derivative
that is zero everywhere it exists.

Where a partial can be infinite the product is `mul_strong`, which is 0 when `t` is 0, so that a value
that nothing depends on never turns a gradient into NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dsim.ir.kinks import CORNER, HALF, POINT, QUOTIENT, TIE, WHOLE, WRAP, Kink
from dsim.ir.term import Term, select
from dsim.ir.types import ScalarType, u1, u32

Times = Callable[..., Term]


@dataclass(frozen=True, slots=True)
class Primitive:
    """One row.

    Attributes
    ----------
    name : str
        The `op` of a `Let`.
    signature : str
        Parameter and result types: ``T`` the one type that all T's share, ``b`` u1, ``i`` any
        integer, ``*`` whatever the result variable says, ``r`` u32. ``"bTT->T"``.
    over : str
        The kinds that T may be: ``F`` float, ``I`` integer, ``B`` bool.
    python : str
        Its spelling in Python over NumPy scalars; ``{0}`` the first argument, ``{to}`` the name of
        the result's type. Names in it are `np` and the functions of `arithmetic.py`.
    times : tuple
        Per argument the product with its partial derivative, or None.
    kink : Kink or None
        Where it has no derivative; None when it is smooth on its domain.
    domain : tuple of (float, float)
        Per argument an interval away from kinks and poles, for numeric checks.
    """

    name: str
    signature: str
    over: str
    python: str
    times: tuple[Times | None, ...] = ()
    kink: Kink | None = None
    domain: tuple[tuple[float, float], ...] = ()

    @property
    def parameters(self) -> str:
        """The parameter part of the signature, one letter an argument."""
        return self.signature.split("->")[0]

    def result_type(self, args: tuple[ScalarType, ...], wanted: ScalarType | None = None) -> ScalarType:
        """The type of the result for arguments of types `args`.

        Raises
        ------
        TypeError
            When the arguments do not fit the signature.
        """
        if len(args) != len(self.parameters):
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments, got {len(args)}")
        shared = {t for p, t in zip(self.parameters, args, strict=True) if p == "T"}
        if len(shared) > 1:
            raise TypeError(f"{self.name}: arguments of different types {[str(t) for t in args]}")
        for p, t in zip(self.parameters, args, strict=True):
            if not self._fits(p, t):
                raise TypeError(f"{self.name} does not take a {t}")
        result = self.signature.split("->")[1]
        if result == "*":
            if wanted is None:
                raise TypeError(f"{self.name} needs a result type")
            return wanted
        return {"T": next(iter(shared), u1), "b": u1, "r": u32}[result]

    def _fits(self, parameter: str, t: ScalarType) -> bool:
        if parameter == "b":
            return t is u1 or t == u1
        letter = "F" if t.is_float else "I" if t.is_integer else "B"
        return letter in ("I" if parameter == "i" else self.over)


def _safe(p: Term, t: Term) -> Term:
    return p.op("mul_strong", t)


def _pow_base(x: Term, y: Term, z: Term, t: Term) -> Term:
    return _safe(select(y.equals(0), 0, y * x.op("pow", y - 1)), t)


def _pow_exponent(x: Term, y: Term, z: Term, t: Term) -> Term:
    return _safe(select(x.equals(0), 0, z * x.op("log")), t)


def _powi_base(x: Term, n: Term, z: Term, t: Term) -> Term:
    return _safe(select(n.equals(0), 0, n.cast(x.type) * x.op("powi", n - 1)), t)


def _atan2(other: Term, y: Term, x: Term, t: Term) -> Term:
    return _safe(other / (x * x + y * y), t)


def _cast(x: Term, z: Term, t: Term) -> Term:
    """A tangent comes in the argument's type and leaves in the result's; an adjoint goes the other way."""
    return t.cast(z.type if t.type == x.type else x.type)


_ANY, _POSITIVE, _UNIT = (-2.0, 2.0), (0.2, 3.0), (-0.9, 0.9)


def _compare(name: str, sign: str, over: str = "FI") -> Primitive:
    return Primitive(name, "TT->b", over, f"{{0}} {sign} {{1}}", (None, None))


def _smooth(name: str, python: str, times: Times, domain: tuple[float, float] = _ANY) -> Primitive:
    return Primitive(name, "T->T", "F", python, (times,), domain=(domain,))


def _step(name: str, python: str, kink: Kink) -> Primitive:
    return Primitive(name, "T->T", "F", python, (None,), kink, ((0.1, 0.4),))


_ROWS: tuple[Primitive, ...] = (
    # arithmetic
    Primitive(
        "add", "TT->T", "FI", "{0} + {1}", (lambda x, y, z, t: t, lambda x, y, z, t: t), domain=(_ANY, _ANY)
    ),
    Primitive(
        "sub", "TT->T", "FI", "{0} - {1}", (lambda x, y, z, t: t, lambda x, y, z, t: -t), domain=(_ANY, _ANY)
    ),
    Primitive(
        "mul",
        "TT->T",
        "FI",
        "{0} * {1}",
        (lambda x, y, z, t: y * t, lambda x, y, z, t: x * t),
        domain=(_ANY, _ANY),
    ),
    Primitive(
        "div",
        "TT->T",
        "F",
        "{0} / {1}",
        (lambda x, y, z, t: _safe(1 / y, t), lambda x, y, z, t: _safe(-z / y, t)),
        domain=(_ANY, _POSITIVE),
    ),
    Primitive("neg", "T->T", "FI", "-{0}", (lambda x, z, t: -t,), domain=(_ANY,)),
    Primitive(
        "floordiv",
        "TT->T",
        "FI",
        "floordiv({0}, {1})",
        (None, None),
        QUOTIENT,
        ((0.1, 0.4), (1.0, 1.2)),
    ),
    Primitive(
        "mod",
        "TT->T",
        "FI",
        "mod({0}, {1})",
        (lambda x, y, z, t: t, lambda x, y, z, t: _safe(-x.op("floordiv", y), t)),
        WRAP,
        ((2.1, 2.9), (0.9, 1.0)),
    ),
    Primitive(
        "mul_strong",
        "TT->T",
        "F",
        "mul_strong({0}, {1})",
        (lambda p, t, z, s: _safe(s, t), lambda p, t, z, s: _safe(p, s)),
        domain=(_ANY, _POSITIVE),
    ),
    # choices
    Primitive(
        "max",
        "TT->T",
        "FI",
        "maximum({0}, {1})",
        (lambda x, y, z, t: select(x > y, t, 0), lambda x, y, z, t: select(x > y, 0, t)),
        TIE,
        ((-2.0, 0.0), (0.5, 2.0)),
    ),
    Primitive(
        "min",
        "TT->T",
        "FI",
        "minimum({0}, {1})",
        (lambda x, y, z, t: select(x < y, t, 0), lambda x, y, z, t: select(x < y, 0, t)),
        TIE,
        ((-2.0, 0.0), (0.5, 2.0)),
    ),
    Primitive(
        "abs",
        "T->T",
        "FI",
        "abs({0})",
        (lambda x, z, t: select(x > 0, t, select(x < 0, -t, 0)),),
        CORNER,
        (_POSITIVE,),
    ),
    Primitive(
        "select",
        "bTT->T",
        "FIB",
        "({1} if {0} else {2})",
        (None, lambda c, x, y, z, t: select(c, t, 0), lambda c, x, y, z, t: select(c, 0, t)),
        domain=((0.0, 1.0), _ANY, _ANY),
    ),
    # powers and transcendentals
    _smooth("sqrt", "np.sqrt({0})", lambda x, z, t: _safe(0.5 / z, t), _POSITIVE),
    Primitive(
        "sqrt0",
        "T->T",
        "F",
        "np.sqrt({0})",
        (lambda x, z, t: select(z.equals(0), 0, 0.5 / z * t),),  # not 0 · t: `t` may be infinite
        POINT,
        (_POSITIVE,),
    ),
    _smooth("rsqrt", "1 / np.sqrt({0})", lambda x, z, t: _safe(-0.5 * z * z * z, t), _POSITIVE),
    _smooth("exp", "np.exp({0})", lambda x, z, t: z * t),
    _smooth("log", "np.log({0})", lambda x, z, t: _safe(1 / x, t), _POSITIVE),
    _smooth("sin", "np.sin({0})", lambda x, z, t: x.op("cos") * t),
    _smooth("cos", "np.cos({0})", lambda x, z, t: -x.op("sin") * t),
    _smooth("tan", "np.tan({0})", lambda x, z, t: (1 + z * z) * t, (-1.0, 1.0)),
    _smooth("asin", "np.arcsin({0})", lambda x, z, t: _safe(1 / (1 - x * x).op("sqrt"), t), _UNIT),
    _smooth("acos", "np.arccos({0})", lambda x, z, t: _safe(-1 / (1 - x * x).op("sqrt"), t), _UNIT),
    _smooth("atan", "np.arctan({0})", lambda x, z, t: (1 / (1 + x * x)) * t),
    _smooth("sinh", "np.sinh({0})", lambda x, z, t: x.op("cosh") * t),
    _smooth("cosh", "np.cosh({0})", lambda x, z, t: x.op("sinh") * t),
    _smooth("tanh", "np.tanh({0})", lambda x, z, t: (1 - z * z) * t),
    Primitive(
        "atan2",
        "TT->T",
        "F",
        "np.arctan2({0}, {1})",
        (lambda y, x, z, t: _atan2(x, y, x, t), lambda y, x, z, t: -_atan2(y, y, x, t)),
        domain=(_POSITIVE, _POSITIVE),
    ),
    Primitive("pow", "TT->T", "F", "{0} ** {1}", (_pow_base, _pow_exponent), domain=(_POSITIVE, _ANY)),
    Primitive("powi", "Ti->T", "FI", "powi({0}, {1})", (_powi_base, None), domain=(_POSITIVE, (3, 3))),
    _step("floor", "np.floor({0})", WHOLE),
    _step("ceil", "np.ceil({0})", WHOLE),
    _step("round", "np.rint({0})", HALF),  # half to even
    # comparisons
    _compare("lt", "<"),
    _compare("le", "<="),
    _compare("gt", ">"),
    _compare("ge", ">="),
    _compare("eq", "==", "FIB"),
    _compare("ne", "!=", "FIB"),
    Primitive("isnan", "T->b", "F", "np.isnan({0})", (None,)),
    # bits and truth
    Primitive("band", "TT->T", "IB", "{0} & {1}", (None, None)),
    Primitive("bor", "TT->T", "IB", "{0} | {1}", (None, None)),
    Primitive("bxor", "TT->T", "IB", "{0} ^ {1}", (None, None)),
    Primitive("bnot", "T->T", "IB", "~{0}", (None,)),
    Primitive("shl", "TT->T", "I", "shl({0}, {1})", (None, None)),
    Primitive("shr", "TT->T", "I", "shr({0}, {1})", (None, None)),
    # conversions
    Primitive("cast", "T->*", "FIB", 'cast({0}, "{to}")', (_cast,), domain=(_ANY,)),
    Primitive("bit_cast", "T->*", "FI", 'bit_cast({0}, "{to}")', (None,)),
    # the value, cut off from derivatives
    Primitive("stop", "T->T", "FIB", "{0}", (None,)),
    # the value again, for one assignment: never merged with its like, nor moved
    _smooth("copy", "{0}", lambda x, z, t: t),
    # 32 random bits of (launch, iteration, draw)
    Primitive("random_bits", "iii->r", "I", "random_bits({0}, {1}, {2})", (None, None, None)),
)

TABLE: dict[str, Primitive] = {row.name: row for row in _ROWS}
