"""Identities over an operand and its definition: ``-(-x)`` is x, ``(i + 1) + 2`` is ``i + 3``.

Only identities that hold bit for bit: sums of integers, which wrap, may be reassociated; those of floats not.
"""

from __future__ import annotations

from dsim.ir.build import FALSE, TRUE, const
from dsim.ir.nodes import Atom, Const, Let, Var
from dsim.ir.types import ScalarType

Definitions = dict[str, Let]  # variable → the statement that defines it

_SAME = {"eq": TRUE, "le": TRUE, "ge": TRUE, "ne": FALSE, "lt": FALSE, "gt": FALSE}
_OWN_INVERSE = ("neg", "bnot")


def simplified(s: Let, made: Definitions) -> Let | Atom:
    """`s`, or a simpler statement that defines the same variable, or the atom that it equals."""
    if len(s.args) == 1:
        return _unary(s, made)
    if s.op == "select":
        return _select(s, made)
    if len(s.args) == 2:
        return _binary(s, s.args[0], s.args[1], made)
    return s


def _maker(a: Atom, made: Definitions) -> Let | None:
    return made.get(a.name) if isinstance(a, Var) else None


def _unary(s: Let, made: Definitions) -> Let | Atom:
    inner = _maker(s.args[0], made)
    if s.op in _OWN_INVERSE and inner is not None and inner.op == s.op:
        return inner.args[0]
    return s


def _select(s: Let, made: Definitions) -> Let | Atom:
    """A select on a negated condition becomes one on the condition, with the arms swapped."""
    cond, yes, no = s.args
    inner = _maker(cond, made)
    if inner is not None and inner.op == "bnot":
        return Let(s.var, "select", (inner.args[0], no, yes), s.origin)
    if (yes, no) == (TRUE, FALSE):
        return cond
    return s


def _binary(s: Let, a: Atom, b: Atom, made: Definitions) -> Let | Atom:
    if s.op in ("add", "sub"):
        if a.type.is_integer:
            return _integer_sum(s, a, b, made)
        return _negated(s, a, b, made)
    if a == b and not a.type.is_float:  # not for floats: NaN != NaN
        if s.op in _SAME:
            return _SAME[s.op]
        if s.op in ("band", "bor", "max", "min"):
            return a
    return s


def _negated(s: Let, a: Atom, b: Atom, made: Definitions) -> Let:
    """``a + (-b)`` is ``a - b``, and the other way round: the same bits."""
    inner = _maker(b, made)
    if inner is not None and inner.op == "neg":
        return Let(s.var, "sub" if s.op == "add" else "add", (a, inner.args[0]), s.origin)
    inner = _maker(a, made)
    if s.op == "add" and inner is not None and inner.op == "neg":
        return Let(s.var, "sub", (b, inner.args[0]), s.origin)
    return s


def _integer_sum(s: Let, a: Atom, b: Atom, made: Definitions) -> Let | Atom:
    """Merges nested additions of constants into one."""
    if s.op == "sub" and a == b:
        return const(0, s.var.type)
    base, offset = split(a, made)
    other, more = split(b, made)
    if s.op == "sub" and base is not None and base == other:
        return const(offset - more, s.var.type)
    if isinstance(b, Const) or (isinstance(a, Const) and s.op == "add"):
        return _plus(
            s, base if isinstance(b, Const) else other, offset + more if s.op == "add" else offset - more
        )
    return s


def _plus(s: Let, base: Var | None, number: int) -> Let | Atom:
    """``base + number`` as a statement that defines the same variable; a negative number is subtracted."""
    total = const(number, s.var.type)
    if base is None or total.value == 0:
        return total if base is None else base
    op, shown = ("add", total) if total.value > 0 else ("sub", const(-total.value, s.var.type))
    args = (base, shown)
    return s if (s.op, s.args) == (op, args) else Let(s.var, op, args, s.origin)


def split(a: Atom, made: Definitions) -> tuple[Var | None, int]:
    """An integer atom as a variable plus a number: ``i + 2`` as ``(i, 2)``, ``3`` as ``(None, 3)``.

    The number is normalised to the wrapped range of the type, so that equal values give equal pairs.
    """
    if isinstance(a, Const):
        return None, int(a.value)
    inner = made.get(a.name)
    if inner is not None and inner.op in ("add", "sub") and a.type.is_integer:
        x, y = inner.args
        if isinstance(x, Var) and isinstance(y, Const):
            number = int(y.value) if inner.op == "add" else -int(y.value)
            return x, _wrapped(number, a.type)
    return a, 0


def _wrapped(number: int, t: ScalarType) -> int:
    """`number` wrapped to the integer type `t`."""
    half = 1 << (t.bits - 1)
    return (number + half) % (2 * half) - half if t.kind == "int" else number % (2 * half)
