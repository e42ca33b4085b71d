"""`and`, `or` and `not`: as conditions, whose truth alone matters, and as values, as in Python."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from dsim.frontend.expressions.branches import choose
from dsim.frontend.frames import static
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.static import is_static_call
from dsim.frontend.values import operators
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.operators import condition, elementwise, operand
from dsim.frontend.values.values import Mat, Scalar, Value, describe, is_open, is_scalar
from dsim.ir.nodes import Atom
from dsim.ir.types import u1


def truth(f: Frame, node: ast.expr) -> Atom | bool:
    """`node` as a condition: whether it holds, a bool when that is known."""
    if f.static or is_static_call(f, node):
        return of_value(f, f.value(node), node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        with f.at(node):
            return _opposite(f.emit, truth(f, node.operand))
    if isinstance(node, ast.BoolOp):
        with f.at(node):
            return _truth_of_several(f, node.values, isinstance(node.op, ast.And))
    return condition(f.emit, f.value(node))


def of_value(f: Frame, value: Value, node: ast.expr) -> Atom | bool:
    """The truth of `value`, in `static` of any Python object."""
    return (
        condition(f.emit, value)
        if is_scalar(value) or isinstance(value, Mat)
        else static.truth(f, value, node)
    )


def _truth_of_several(f: Frame, nodes: Sequence[ast.expr], conjunction: bool) -> Atom | bool:
    """Short-circuits: computes an operand only if needed, where that can be observed."""
    with f.at(nodes[0]):
        first = _checked(f, nodes[0], conjunction) if _is_plain(nodes[0]) else truth(f, nodes[0])
        first = condition(f.emit, first)
    if len(nodes) == 1:
        return first

    def rest() -> Value:
        return _truth_of_several(f, nodes[1:], conjunction)

    return _decided(f, first, rest, lambda: not conjunction, conjunction, "t")


def _is_plain(node: ast.expr) -> bool:
    return not isinstance(node, ast.BoolOp) and not (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _decided(
    f: Frame,
    first: Atom | bool,
    rest: Callable[[], Value],
    short: Callable[[], Value],
    conjunction: bool,
    hint: str,
) -> Value:
    """The value of ``first and rest``, or ``or``; `short` is the value when `first` decides."""
    return choose(f, first, rest, short, hint) if conjunction else choose(f, first, short, rest, hint)


# ------------------------------------------------------------------ values


def boolean(f: Frame, node: ast.BoolOp, hint: str = "t") -> Value:
    """``a and b`` is `b` if `a` holds, else `a`; ``a or b`` the other way round."""
    conjunction = isinstance(node.op, ast.And)
    if f.static:
        return _in_python(f, node.values, conjunction)
    return _value_of_several(f, node.values, conjunction, hint)


def _value_of_several(f: Frame, nodes: Sequence[ast.expr], conjunction: bool, hint: str) -> Value:
    with f.at(nodes[0]):
        first = _checked(f, nodes[0], conjunction)
    if len(nodes) == 1:
        return first

    def rest() -> Value:
        return _value_of_several(f, nodes[1:], conjunction, hint)

    if isinstance(first, Mat):
        return _of_vectors(f.emit, first, operand(f.emit, rest()), conjunction, hint)
    holds = condition(f.emit, first)
    alone = f.emit.type_of(first) == u1 and not is_open(first)
    return _decided(f, holds, rest, lambda: not conjunction if alone else first, conjunction, hint)


def _of_vectors(e: Emitter, a: Mat, b: Value, conjunction: bool, hint: str) -> Value:
    """Entry by entry, without short-circuit."""

    def one(x: Scalar, y: Scalar, name: str) -> Scalar:
        e.joins(x, y)
        holds = e.truth(x)
        if isinstance(holds, bool):
            return y if holds == conjunction else x
        t = e.by_value((x, y))
        yes, no = (y, x) if conjunction else (x, y)
        return e.let("select", holds, e.atom(yes, t), e.atom(no, t), hint=name)

    return elementwise(e, one, a, b, hint=hint, sign="and" if conjunction else "or")


def negation(f: Frame, node: ast.UnaryOp) -> Value:
    """``not a``; of a vector, entry by entry."""
    if f.static:
        return _opposite(f.emit, of_value(f, f.value(node.operand), node.operand))
    if isinstance(node.operand, ast.BoolOp):
        return _opposite(f.emit, truth(f, node.operand))
    value = f.value(node.operand)
    if isinstance(value, Mat):
        return elementwise(f.emit, lambda x, _: operators.negation(f.emit, x), value)
    return operators.negation(f.emit, value)


def _opposite(e: Emitter, holds: Atom | bool) -> Atom | bool:
    return not holds if isinstance(holds, bool) else e.let("bnot", holds)


def _checked(f: Frame, node: ast.expr, conjunction: bool) -> Value:
    """An operand: a truth value, an integer, or a vector of them."""
    value = f.value(node)
    given = operand(f.emit, value) if isinstance(value, Mat | tuple | list) else value
    parts = given.entries if isinstance(given, Mat) else (given,) if is_scalar(given) else ()
    if any(f.emit.type_of(p).is_float for p in parts):
        f.refuse(
            "type",
            f"`{'and' if conjunction else 'or'}` works on truth values, got {describe(value)}",
            node,
            help="compare it first: `a != 0`",
        )
    if not parts:
        condition(f.emit, value)
    return given


# ------------------------------------------------------------------ at compile time


def _in_python(f: Frame, nodes: Sequence[ast.expr], conjunction: bool) -> Value:
    value: Value = None
    for node in nodes:
        value = f.value(node)
        if node is not nodes[-1] and static.truth(f, value, node) != conjunction:
            return value
    return value
