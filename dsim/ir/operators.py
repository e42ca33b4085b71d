"""Rows of the table: arithmetic, selection, comparisons, bits and casts. `primitives.py` joins all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from dsim.ir.kinks import CORNER, QUOTIENT, TIE, WRAP
from dsim.ir.nodes import Atom, Const
from dsim.ir.primitive import Ends, Instruction, Primitive, Spelling
from dsim.ir.term import Term, select

ANY, POSITIVE = (-2.0, 2.0), (0.2, 3.0)
# Each comparison with its arguments exchanged, and the one that holds where it does not (of numbers but NaN).
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
COMPARISONS = tuple(MIRRORED)
ROUNDED = Ends("rounded here", "rounding has derivative 0: leave it out")
_COMPARED = Ends(
    "only compared here", "a comparison has no derivative: let the number itself enter the result"
)


def safe(p: Term, t: Term) -> Term:
    """``p * t``, but 0 where `t` is 0: the product for a partial `p` that may be infinite."""
    known = isinstance(t.atom, Const) and t.atom.value != 0
    return p * t if known else p.op("mul_strong", t)


def quotient(t: Term, y: Term) -> Term:
    """``t / y``, but 0 where `t` is 0: the product for the partial ``1 / y``, which may be infinite."""
    return safe(1 / y, t) if isinstance(y.atom, Const) else t.op("div_strong", y)


def _cast(x: Term, z: Term, t: Term) -> Term:
    """Casts a tangent from the argument's type to the result's, an adjoint the other way."""
    return t.cast(z.type if t.type == x.type else x.type)


def _by_zero(args: tuple[Atom, ...]) -> bool:
    return not (isinstance(args[1], Const) and args[1].value != 0)


def _compare(name: str, sign: str) -> Primitive:
    return Primitive(name, "TT->b", "FI", f"{{0}} {sign} {{1}}", (None, None), ends=_COMPARED)


def _equal(name: str, sign: str) -> Primitive:
    return replace(_compare(name, sign), over="FIB", commutative=True)


def _bits(name: Literal["band", "bor", "bxor"], sign: str, instruction: str) -> Primitive:
    return Primitive(
        name,
        "TT->T",
        "IB",
        f"{{0}} {sign} {{1}}",
        (None, None),
        lowering=Instruction(instruction, instruction),
        commutative=True,
        reduction=name,
    )


ARITHMETIC: tuple[Primitive, ...] = (
    Primitive(
        "add",
        "TT->T",
        "FI",
        "{0} + {1}",
        (lambda x, y, z, t: t, lambda x, y, z, t: t),
        domain=(ANY, ANY),
        lowering=Instruction("fadd", "add"),
        guarded=True,
        commutative=True,
        reduction="add",
        full_width=True,
    ),
    Primitive(
        "sub",
        "TT->T",
        "FI",
        "{0} - {1}",
        (lambda x, y, z, t: t, lambda x, y, z, t: -t),
        domain=(ANY, ANY),
        lowering=Instruction("fsub", "sub"),
        guarded=True,
        reduction="add",
        full_width=True,
    ),
    Primitive(
        "mul",
        "TT->T",
        "FI",
        "{0} * {1}",
        (lambda x, y, z, t: y * t, lambda x, y, z, t: x * t),
        domain=(ANY, ANY),
        lowering=Instruction("fmul", "mul"),
        commutative=True,
        reduction="mul",
        full_width=True,
    ),
    Primitive(
        "div",
        "TT->T",
        "F",
        "{0} / {1}",
        (lambda x, y, z, t: quotient(t, y), lambda x, y, z, t: (-z).op("mul_div_strong", t, y)),
        domain=(ANY, POSITIVE),
        lowering=Instruction("fdiv", "fdiv"),
        cost=4,
        pole=_by_zero,
        guarded=True,
    ),
    Primitive(
        "neg", "T->T", "FI", "-{0}", (lambda x, z, t: -t,), domain=(ANY,), guarded=True, full_width=True
    ),
    Primitive(
        "floordiv",
        "TT->T",
        "FI",
        "floordiv({0}, {1})",
        (None, None),
        QUOTIENT,
        ((0.1, 0.4), (1.0, 1.2)),
        cost=4,
        ends=ROUNDED,
    ),
    Primitive(
        "mod",
        "TT->T",
        "FI",
        "mod({0}, {1})",
        (lambda x, y, z, t: t, lambda x, y, z, t: safe(-x.op("floordiv", y), t)),
        WRAP,
        ((2.1, 2.9), (0.9, 1.0)),
        spelling=Spelling("mod", "`x` modulo `y`, with the sign of `y`.", numpy=("mod",)),
        cost=4,
        pole=_by_zero,
    ),
    Primitive(
        "mul_strong",
        "TT->T",
        "F",
        "mul_strong({0}, {1})",
        (lambda p, t, z, s: safe(s, t), lambda p, t, z, s: safe(p, s)),
        domain=(ANY, POSITIVE),
        cost=4,
    ),
    Primitive(
        "div_strong",
        "TT->T",
        "F",
        "div_strong({0}, {1})",
        (lambda t, y, z, s: quotient(s, y), lambda t, y, z, s: safe(quotient(-s, y), z)),
        domain=(POSITIVE, POSITIVE),
        cost=5,
        pole=_by_zero,
    ),
    Primitive(
        "mul_div_strong",
        "TTT->T",
        "F",
        "mul_div_strong({0}, {1}, {2})",
        (
            lambda p, t, y, z, s: s.op("mul_div_strong", t, y),
            lambda p, t, y, z, s: p.op("mul_div_strong", s, y),
            lambda p, t, y, z, s: safe(quotient(-s, y), z),
        ),
        domain=(ANY, POSITIVE, POSITIVE),
        cost=6,
        pole=lambda args: _by_zero(args[1:]),
    ),
    # selection
    Primitive(
        "max",
        "TT->T",
        "FI",
        "maximum({0}, {1})",
        (lambda x, y, z, t: select(x > y, t, 0), lambda x, y, z, t: select(x > y, 0, t)),
        TIE,
        ((-2.0, 0.0), (0.5, 2.0)),
        spelling=Spelling("max", "The greatest argument, entry by entry.", numpy=("maximum",)),
        guarded=True,
        reduction="max",
        full_width=True,
    ),
    Primitive(
        "min",
        "TT->T",
        "FI",
        "minimum({0}, {1})",
        (lambda x, y, z, t: select(x < y, t, 0), lambda x, y, z, t: select(x < y, 0, t)),
        TIE,
        ((-2.0, 0.0), (0.5, 2.0)),
        spelling=Spelling("min", "The least argument, entry by entry.", numpy=("minimum",)),
        guarded=True,
        reduction="min",
        full_width=True,
    ),
    Primitive(
        "abs",
        "T->T",
        "FI",
        "abs({0})",
        (lambda x, z, t: select(x > 0, t, select(x < 0, -t, 0)),),
        CORNER,
        (POSITIVE,),
        spelling=Spelling(
            "abs", "The absolute value of `x`; its derivative at 0 is 0.", ("fabs",), ("abs", "absolute")
        ),
        guarded=True,
        full_width=True,
    ),
    Primitive(
        "select",
        "bTT->T",
        "FIB",
        "({1} if {0} else {2})",
        (None, lambda c, x, y, z, t: select(c, t, 0), lambda c, x, y, z, t: select(c, 0, t)),
        domain=((0.0, 1.0), ANY, ANY),
        spelling=Spelling("select", "`yes` where `cond` holds, else `no`.", numpy=("where",)),
        guarded=True,
        full_width=True,
    ),
)

TRUTH: tuple[Primitive, ...] = (
    # comparisons
    _compare("lt", "<"),
    _compare("le", "<="),
    _compare("gt", ">"),
    _compare("ge", ">="),
    _equal("eq", "=="),
    _equal("ne", "!="),
    Primitive(
        "isnan",
        "T->b",
        "F",
        "np.isnan({0})",
        (None,),
        spelling=Spelling("isnan", "Whether `x` is not a number.", ("isnan",), ("isnan",)),
    ),
    # bits and truth
    _bits("band", "&", "and"),
    _bits("bor", "|", "or"),
    _bits("bxor", "^", "xor"),
    Primitive("bnot", "T->T", "IB", "~{0}", (None,)),
    Primitive("shl", "TT->T", "I", "shl({0}, {1})", (None, None)),
    Primitive("shr", "TT->T", "I", "shr({0}, {1})", (None, None)),
    # conversions
    Primitive(
        "cast",
        "T->*",
        "FIB",
        'cast({0}, "{to}")',
        (_cast,),
        domain=(ANY,),
        guarded=True,
        full_width=True,
        ends=Ends("an integer from here on", "keep the number a float where its change is to count"),
    ),
    Primitive("bit_cast", "T->*", "FI", 'bit_cast({0}, "{to}")', (None,)),
    # identity with derivative 0
    Primitive(
        "stop",
        "T->T",
        "FIB",
        "{0}",
        (None,),
        kept=True,
        full_width=True,
        ends=Ends("cut off here", "leave out `stop_grad`, `no_grad` or `needs_grad=False` if it is to count"),
    ),
    # identity that stands for one assignment: CSE does not merge it, LICM does not move it
    Primitive(
        "copy",
        "T->T",
        "F",
        "{0}",
        (lambda x, z, t: t,),
        domain=(ANY,),
        guarded=True,
        kept=True,
        full_width=True,
    ),
    # 32 random bits of (launch, iteration, draw)
    Primitive(
        "random_bits",
        "iii->r",
        "I",
        "random_bits({0}, {1}, {2})",
        (None, None, None),
        cost=16,
        kept=True,
    ),
)
