"""Every primitive of `dsim.ir.primitives.TABLE` as LLVM instructions.

One function a primitive or family; `EMIT` is the table. `dsim.ir.arithmetic` says what they mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dsim.backends.llvm.arithmetic import integers, powers, remainders
from dsim.backends.llvm.target import Target
from dsim.backends.llvm.text import TYPE, Function, number
from dsim.ir.nodes import Atom, Const, Var
from dsim.ir.types import ScalarType


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a primitive: where it is written to, and its operands.

    Attributes
    ----------
    atoms, args : tuple
        The operands, as the IR and as LLVM name them.
    result : ScalarType
        The type of the result.
    dividend : pair of int or None
        Of a remainder that is a dividend or its neighbour by one divisor: between what the dividend lies.
    """

    f: Function
    target: Target
    op: str
    atoms: tuple[Atom, ...]
    args: tuple[str, ...]
    result: ScalarType
    dividend: tuple[int, int] | None = None

    @property
    def type(self) -> ScalarType:
        """The type of the first operand."""
        return self.atoms[0].type

    def known(self, i: int) -> int | None:
        """Operand `i` where it is a constant integer."""
        atom = self.atoms[i]
        return int(atom.value) if isinstance(atom, Const) and not atom.type.is_float else None


def _arithmetic(float_name: str, integer_name: str) -> Callable[[Use], str]:
    def emit(u: Use) -> str:
        name = f"{float_name}{u.f.module.flags}" if u.type.is_float else integer_name
        return u.f.let(f"{name} {TYPE[u.type]} {u.args[0]}, {u.args[1]}")

    return emit


def _neg(u: Use) -> str:
    if u.type.is_float:
        return u.target.negate(u.f, u.type, u.args[0])
    return u.f.let(f"sub {TYPE[u.type]} 0, {u.args[0]}")


def _floordiv(u: Use) -> str:
    a, b = u.args
    if not u.type.is_float:
        return integers.divide(u.f, u.type, a, b, u.known(1), remainder=False)
    return remainders.divide(u.f, u.target, u.type, a, b, remainder=False)


def _mod(u: Use) -> str:
    a, b = u.args
    if not u.type.is_float:
        divisor = u.known(1)
        if u.dividend is not None and divisor is not None:
            return integers.near_remainder(u.f, u.type, a, divisor, u.dividend)
        return integers.divide(u.f, u.type, a, b, divisor, remainder=True)
    return remainders.divide(u.f, u.target, u.type, a, b, remainder=True)


def _mul_strong(u: Use) -> str:
    ty, zero = TYPE[u.type], number(0, u.type)
    product = u.f.let(f"fmul{u.f.module.flags} {ty} {u.args[0]}, {u.args[1]}")
    still = u.f.let(f"fcmp oeq {ty} {u.args[1]}, {zero}")
    return u.f.let(f"select i1 {still}, {ty} {zero}, {ty} {product}")


_SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}


def compare(f: Function, op: str, t: ScalarType, a: str, b: str) -> str:
    """The truth of comparison `op`; every one but ``ne`` is false of a NaN."""
    if t.is_float:
        return f.let(f"fcmp {'une' if op == 'ne' else 'o' + op} {TYPE[t]} {a}, {b}")
    name = _SIGNED[op]
    if t.kind != "int" and name[0] == "s":
        name = "u" + name[1:]
    return f.let(f"icmp {name} {TYPE[t]} {a}, {b}")


def _compare(u: Use) -> str:
    return compare(u.f, u.op, u.type, *u.args)


def _choose(op: str) -> Callable[[Use], str]:
    def emit(u: Use) -> str:
        a, b = u.args
        better = compare(u.f, op, u.type, a, b)
        return u.f.let(f"select i1 {better}, {TYPE[u.type]} {a}, {TYPE[u.type]} {b}")

    return emit


def _abs(u: Use) -> str:
    if u.type.is_float:
        return u.target.math(u.f, "abs", u.type, u.args)
    if u.type.kind == "uint":
        return u.args[0]
    ty = TYPE[u.type]
    minus = u.f.let(f"sub {ty} 0, {u.args[0]}")
    below = u.f.let(f"icmp slt {ty} {u.args[0]}, 0")
    return u.f.let(f"select i1 {below}, {ty} {minus}, {ty} {u.args[0]}")


def _select(u: Use) -> str:
    ty = TYPE[u.result]
    return u.f.let(f"select i1 {u.args[0]}, {ty} {u.args[1]}, {ty} {u.args[2]}")


def _math(u: Use) -> str:
    return u.target.math(u.f, u.op, u.type, u.args)


def _rsqrt(u: Use) -> str:
    root = u.target.math(u.f, "sqrt", u.type, u.args)
    return u.f.let(f"fdiv{u.f.module.flags} {TYPE[u.type]} {number(1, u.type)}, {root}")


def _sqrt0(u: Use) -> str:
    return u.target.math(u.f, "sqrt", u.type, u.args)


def _powi(u: Use) -> str:
    return powers.power(u.f, u.type, u.args[0], u.args[1], u.atoms[1].type, u.known(1))


def _isnan(u: Use) -> str:
    return u.f.let(f"fcmp uno {TYPE[u.type]} {u.args[0]}, {number(0, u.type)}")


def _bits(name: str) -> Callable[[Use], str]:
    return lambda u: u.f.let(f"{name} {TYPE[u.type]} {u.args[0]}, {u.args[1]}")


def _bnot(u: Use) -> str:
    ones = "true" if u.type.kind == "bool" else "-1"
    return u.f.let(f"xor {TYPE[u.type]} {u.args[0]}, {ones}")


def _shift(u: Use) -> str:
    return integers.shift(u.f, u.type, u.args[0], u.args[1], left=u.op == "shl")


def _cast(u: Use) -> str:
    return integers.cast(u.f, u.target, u.args[0], u.type, u.result)


def _bit_cast(u: Use) -> str:
    if TYPE[u.type] == TYPE[u.result]:
        return u.args[0]
    return u.f.let(f"bitcast {TYPE[u.type]} {u.args[0]} to {TYPE[u.result]}")


def _stop(u: Use) -> str:
    return u.args[0]


def _random_bits(u: Use) -> str:
    return powers.random_bits(u.f, u.args, tuple(a.type for a in u.atoms))


_MATH = [
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "atan2",
    "pow",
    "floor",
    "ceil",
    "round",
]

EMIT: dict[str, Callable[[Use], str]] = {
    "add": _arithmetic("fadd", "add"),
    "sub": _arithmetic("fsub", "sub"),
    "mul": _arithmetic("fmul", "mul"),
    "div": _arithmetic("fdiv", "fdiv"),
    "neg": _neg,
    "floordiv": _floordiv,
    "mod": _mod,
    "mul_strong": _mul_strong,
    "max": _choose("gt"),
    "min": _choose("lt"),
    "abs": _abs,
    "select": _select,
    "sqrt0": _sqrt0,
    "rsqrt": _rsqrt,
    "powi": _powi,
    "isnan": _isnan,
    "band": _bits("and"),
    "bor": _bits("or"),
    "bxor": _bits("xor"),
    "bnot": _bnot,
    "shl": _shift,
    "shr": _shift,
    "cast": _cast,
    "bit_cast": _bit_cast,
    "stop": _stop,
    "copy": _stop,
    "random_bits": _random_bits,
    **dict.fromkeys(_MATH, _math),
    **dict.fromkeys(_SIGNED, _compare),
}


def binary(f: Function, target: Target, op: str, t: ScalarType, a: str, b: str) -> str:
    """Primitive `op` of two operands of type `t` of which nothing more is known."""
    left, right = Var("a", t), Var("b", t)
    return EMIT[op](Use(f, target, op, (left, right), (a, b), t))
