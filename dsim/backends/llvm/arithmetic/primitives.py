"""Every primitive of `dsim.ir.primitives.TABLE` as LLVM instructions.

Most rows name their instruction or function; for the others there is one function for each
primitive or family here. `EMIT` has them all. `dsim.ir.arithmetic` defines them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dsim.backends.llvm.arithmetic import integers, powers, remainders
from dsim.backends.llvm.arithmetic.mathematics import math
from dsim.backends.llvm.target import Target
from dsim.backends.llvm.text import TYPE, Function, constant, number
from dsim.ir.build import Builder
from dsim.ir.nodes import Atom, Const, Let, Var
from dsim.ir.primitive import Formula, Instruction, Intrinsic, Libm, Lowering
from dsim.ir.primitives import TABLE
from dsim.ir.term import OfTerms, Term
from dsim.ir.types import ScalarType


class Use(NamedTuple):
    """One use of a primitive: its output function, and its operands.

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


def _neg(u: Use) -> str:
    if u.type.is_float:
        return u.f.let(f"fneg {TYPE[u.type]} {u.args[0]}")
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


def _floating(u: Use, op: str, a: str, b: str) -> str:
    return u.f.let(f"{op}{u.f.module.flags(op)} {TYPE[u.type]} {a}, {b}")


def _unless_zero(u: Use, seed: str, value: str) -> str:
    """`value`, or 0 where `seed` is 0."""
    ty, zero = TYPE[u.type], number(0, u.type)
    still = u.f.let(f"fcmp oeq {ty} {seed}, {zero}")
    return u.f.let(f"select i1 {still}, {ty} {zero}, {ty} {value}")


def _mul_strong(u: Use) -> str:
    p, t = u.args
    return _unless_zero(u, t, _floating(u, "fmul", p, t))


def _div_strong(u: Use) -> str:
    t, y = u.args
    return _unless_zero(u, t, _floating(u, "fdiv", t, y))


def _mul_div_strong(u: Use) -> str:
    p, t, y = u.args
    return _unless_zero(u, t, _floating(u, "fmul", p, _floating(u, "fdiv", t, y)))


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


_FABS = Intrinsic("fabs")


def _abs(u: Use) -> str:
    if u.type.is_float:
        return math(u.f, u.target, _FABS, u.type, u.args)
    if u.type.kind == "uint":
        return u.args[0]
    ty = TYPE[u.type]
    minus = u.f.let(f"sub {ty} 0, {u.args[0]}")
    below = u.f.let(f"icmp slt {ty} {u.args[0]}, 0")
    return u.f.let(f"select i1 {below}, {ty} {minus}, {ty} {u.args[0]}")


def _select(u: Use) -> str:
    ty = TYPE[u.result]
    return u.f.let(f"select i1 {u.args[0]}, {ty} {u.args[1]}, {ty} {u.args[2]}")


def _powi(u: Use) -> str:
    return powers.power(u.f, u.type, u.args[0], u.args[1], u.atoms[1].type, u.known(1))


def _isnan(u: Use) -> str:
    return u.f.let(f"fcmp uno {TYPE[u.type]} {u.args[0]}, {number(0, u.type)}")


def _bnot(u: Use) -> str:
    ones = "true" if u.type.kind == "bool" else "-1"
    return u.f.let(f"xor {TYPE[u.type]} {u.args[0]}, {ones}")


def _shift(u: Use) -> str:
    return integers.shift(u.f, u.type, u.args[0], u.args[1], left=u.op == "shl")


def _cast(u: Use) -> str:
    return integers.cast(u.f, u.args[0], u.type, u.result)


def _bit_cast(u: Use) -> str:
    if TYPE[u.type] == TYPE[u.result]:
        return u.args[0]
    return u.f.let(f"bitcast {TYPE[u.type]} {u.args[0]} to {TYPE[u.result]}")


def _stop(u: Use) -> str:
    return u.args[0]


def _random_bits(u: Use) -> str:
    return powers.random_bits(u.f, u.args, tuple(a.type for a in u.atoms))


def _lowered(lowering: Lowering) -> Callable[[Use], str]:
    """What a row of the table asks for."""
    match lowering:
        case Instruction(floats, integers):
            return lambda u: u.f.let(
                f"{floats + u.f.module.flags(floats) if u.type.is_float else integers}"
                f" {TYPE[u.type]} {u.args[0]}, {u.args[1]}"
            )
        case Libm() | Intrinsic():
            return lambda u: math(u.f, u.target, lowering, u.type, u.args)
        case Formula(of):
            return lambda u: _spelled_out(u, of)


def _spelled_out(u: Use, formula: OfTerms[Term]) -> str:
    """The other primitives that `u` is made of.

    A float that is a constant here, in an exact kernel, is computed with as any other.
    """
    b = Builder()
    known = [isinstance(a, Const) and not a.type.is_float for a in u.atoms]
    atoms = [a if fixed else b.fresh("a", a.type) for a, fixed in zip(u.atoms, known, strict=True)]
    result = formula(*map(b.term, atoms)).atom
    names: dict[Atom, str] = dict(zip(atoms, u.args, strict=True))
    for s in b.close().statements:
        assert isinstance(s, Let)
        args = tuple(names[a] if isinstance(a, Var) else constant(a) for a in s.args)
        names[s.var] = EMIT[s.op](Use(u.f, u.target, s.op, s.args, args, s.var.type))
    return names[result]


_OWN: dict[str, Callable[[Use], str]] = {
    "neg": _neg,
    "floordiv": _floordiv,
    "mod": _mod,
    "mul_strong": _mul_strong,
    "div_strong": _div_strong,
    "mul_div_strong": _mul_div_strong,
    "max": _choose("gt"),
    "min": _choose("lt"),
    "abs": _abs,
    "select": _select,
    "powi": _powi,
    "isnan": _isnan,
    "bnot": _bnot,
    "shl": _shift,
    "shr": _shift,
    "cast": _cast,
    "bit_cast": _bit_cast,
    "stop": _stop,
    "copy": _stop,
    "random_bits": _random_bits,
    **dict.fromkeys(_SIGNED, _compare),
}

EMIT: dict[str, Callable[[Use], str]] = {
    row.name: _lowered(row.lowering) if row.lowering is not None else _OWN[row.name] for row in TABLE.values()
}


def binary(f: Function, target: Target, op: str, t: ScalarType, a: str, b: str) -> str:
    """Primitive `op` of two operands of type `t` of which nothing more is known."""
    left, right = Var("a", t), Var("b", t)
    return EMIT[op](Use(f, target, op, (left, right), (a, b), t))
