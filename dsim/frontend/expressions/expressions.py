"""Expressions, by the kind of their syntax node."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import NoReturn

from dsim.frontend.expressions import branches, closures, logic, overloads, structs, subscripts
from dsim.frontend.expressions.assign import assign_name
from dsim.frontend.expressions.elements import load
from dsim.frontend.frames import items, names, text
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.static import compile_time
from dsim.frontend.source.problems import asked
from dsim.frontend.values.linear import matmul
from dsim.frontend.values.operators import COMPARISONS, SIGNS, binary, condition, exact, unary
from dsim.frontend.values.types import matrix_type, scalar_type
from dsim.frontend.values.values import (
    LocalFunc,
    Mat,
    Method,
    Opaque,
    Partial,
    StructValue,
    Value,
    describe,
    is_open,
    is_scalar,
    kind_of,
)
from dsim.ir.nodes import Const

Evaluate = Callable[[Frame, ast.expr, str], Value]


def place(f: Frame, node: ast.expr, hint: str = "t") -> Value:
    """The value of `node`; an element of a memory is not loaded yet."""
    evaluate = _BY_NODE.get(type(node))
    if evaluate is None:
        what, help = _UNSUPPORTED.get(type(node), ("this expression", ""))
        f.refuse("syntax", f"kernels have no {what}", node, help=help)
    if isinstance(node, ast.Constant | ast.Name):
        return evaluate(f, node, hint)
    with f.at(node):
        return evaluate(f, node, hint)


_UNSUPPORTED: dict[type, tuple[str, str]] = {
    ast.Yield: ("yield", "store the values in a field"),
    ast.YieldFrom: ("yield", "store the values in a field"),
    ast.Await: ("await", "kernels run at once"),
    ast.Set: ("sets", "use a field"),
    ast.DictComp: ("dictionary comprehensions", 'write the members out: `{"a": 1.0, "b": 2.0}`'),
    ast.SetComp: ("sets", "use a field"),
    ast.GeneratorExp: ("generators", "write a loop, or a list in brackets"),
    ast.Starred: ("`*` here", "list the values"),
}


def _constant(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.Constant)
    value = node.value
    if isinstance(value, float) and math.isinf(value):  # Python silently parses `1e400` as infinity
        with f.at(node):
            message = "this number is too large for any float: it is infinity"
            f.emit.warn("type-change", message, help="write `math.inf` if infinity is intended")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    what = {complex: "complex numbers", bytes: "bytes"}.get(type(value), "`...`")
    f.refuse("syntax", f"kernels have no {what}", node)


def _name(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.Name)
    return names.name(f, node)


def _subscript(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.Subscript)
    return subscripts.subscript(f, node, hint)


def _attribute(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.Attribute)
    return subscripts.attribute(f, node, hint)


def _binary(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.BinOp)
    a, b = f.value(node.left), f.value(node.right)
    return operate(f, SIGNS[type(node.op)], a, b, hint)


def operate(f: Frame, sign: str, a: Value, b: Value, hint: str = "t") -> Value:
    """``a sign b`` for any of Python's binary operators."""
    if f.static and (isinstance(a, _PYTHON) or isinstance(b, _PYTHON)):
        return _in_python(f, sign, a, b)
    made = overloads.binary(f, sign, a, b, hint)
    if made is not None:
        return made
    if sign in ("+", "*") and _is_sequence_arithmetic(sign, a, b):
        a, b = f.emit.known(a), f.emit.known(b)
        return exact(f.emit, sign, a, b)
    if sign == "@":
        return matmul(f.emit, a, b, hint)
    if sign == "%" and isinstance(a, str):
        f.emit.refuse("type", "strings are allowed only in `print` and `assert`", help=_NUMBER)
    return binary(f.emit, sign, a, b, hint)


def _is_sequence_arithmetic(sign: str, a: Value, b: Value) -> bool:
    """Whether this joins or repeats lists, as in ``[0.0] * 3``; a list beside a vector is a vector."""
    if sign == "+":
        return isinstance(a, tuple | list) and type(a) is type(b)
    pairs = ((a, b), (b, a))
    return any(isinstance(x, tuple | list) and is_open(n) and kind_of(n) is not float for x, n in pairs)


_NUMBER = "use numbers for the cases, or choose outside the kernel"
_PYTHON = (Opaque, str, tuple)


def _in_python(f: Frame, sign: str, a: Value, b: Value) -> Value:
    """``a sign b`` of Python objects, at compile time."""
    node = f.text.node

    def refuse(why: str) -> NoReturn:
        f.emit.refuse("type", f"`{sign}` does not work on {describe(a)} and {describe(b)}: {why}")

    known = compile_time(f, a, node), compile_time(f, b, node)
    return names.imported(f, asked(lambda: exact(f.emit, sign, *known), refuse), None, node)


def _unary(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not):
        return logic.negation(f, node)
    return overloads.unary(f, SIGNS[type(node.op)], f.value(node.operand), hint)


def _compare(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.Compare)
    return _chain(f, node, f.value(node.left), 0, hint)


def _chain(f: Frame, node: ast.Compare, left: Value, at: int, hint: str) -> Value:
    """``left op a op b …`` from operator number `at` on: what does not decide is not evaluated."""
    op, last = node.ops[at], at == len(node.ops) - 1
    right = f.value(node.comparators[at])
    note(f, left, right)
    name = hint if len(node.ops) == 1 else "t"
    own = None if f.static else overloads.binary(f, SIGNS.get(type(op), ""), left, right, name)
    one = compare(f, op, left, right, node, name) if own is None else own
    if last:
        return one
    holds = condition(f.emit, one)
    return branches.choose(f, holds, lambda: _chain(f, node, right, at + 1, hint), lambda: False, hint)


def compare(f: Frame, op: ast.cmpop, a: Value, b: Value, node: ast.AST, hint: str = "t") -> Value:
    """``a op b`` for one of Python's comparisons."""
    if isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        alike = _same_type(f, a, b)
        if alike is not None:
            return alike == isinstance(op, ast.Eq | ast.Is)
    if isinstance(op, ast.Is | ast.IsNot):
        if a is None or b is None or f.static:
            return _identical(f, a, b, node) == isinstance(op, ast.Is)
        f.refuse("syntax", "kernels have no `is`", node, help="compare with `==`")
    if isinstance(op, ast.In | ast.NotIn):
        return _member(f, op, a, b, node)
    sign = SIGNS[type(op)]
    numbers = (is_scalar(a) and is_scalar(b)) or isinstance(a, Mat) or isinstance(b, Mat)
    if f.static and not numbers and sign in ("==", "!="):
        return _equal(f, a, b, node) == (sign == "==")
    if sign not in COMPARISONS:
        f.refuse("syntax", f"kernels have no `{sign}`", node)
    if isinstance(a, str) and isinstance(b, str):
        return (a == b) == (sign == "==")
    return binary(f.emit, sign, a, b, hint)


def _same_type(f: Frame, a: Value, b: Value) -> bool | None:
    """Whether `a` and `b` are one type of numbers, vectors or matrices; None when they are no types.

    Python's ``float`` is the type that it means.
    """
    if not isinstance(a, Opaque) or not isinstance(b, Opaque):
        return None
    known = [scalar_type(v, f.emit.settings) or matrix_type(v) for v in (a, b)]
    return None if None in known else known[0] == known[1]


def note(f: Frame, *compared: Value) -> None:
    """Notes functions and other Python objects, whose identity `static` depends on, as captured."""
    for value in compared if f.static else ():
        if not isinstance(value, Opaque) or value.path is None:
            continue
        if value.path.text not in f.c.captures.constants:
            f.c.captures.function(value.path, value.value)


def _identical(f: Frame, a: Value, b: Value, node: ast.AST) -> bool:
    """``a is b`` of compile-time values; no other value is None."""
    return a is b or (a is not None and b is not None and _object(f, a, node) is _object(f, b, node))


def _equal(f: Frame, a: Value, b: Value, node: ast.AST) -> bool:
    """``a == b``, likewise; a number never equals a string."""
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return bool(_plain(a) == _plain(b))
    one, other = _object(f, a, node), _object(f, b, node)

    def refuse(why: str) -> NoReturn:  # arrays compare entry by entry
        help = "compare what decides: an attribute, or `(a == b).all()` of arrays"
        f.refuse("static", f"these cannot be compared as a whole: {why}", node, help=help)

    return asked(lambda: bool(one == other), refuse)


def _object(f: Frame, value: Value, node: ast.AST) -> object:
    """The Python object that `value` represents."""
    if isinstance(value, StructValue):
        return {name: _object(f, member, node) for name, member in value.members.items()}
    if isinstance(value, LocalFunc | Partial | Method):
        return value
    return compile_time(f, value, node)


def _plain(value: Value) -> Value:
    return value.value if isinstance(value, Opaque | Const) else value


def _member(f: Frame, op: ast.cmpop, a: Value, b: Value, node: ast.AST) -> Value:
    group = b.value if isinstance(b, Opaque) else b
    if not isinstance(group, list | tuple | set | frozenset | Mapping | range):
        f.refuse("type", f"`in` does not work on {describe(b)}", node, help="compare with `==`")
    types = [_same_type(f, a, names.imported(f, i, None, node) if b is not group else i) for i in group]
    if types and None not in types:
        return any(types) == isinstance(op, ast.In)
    known = _plain(a)
    if not isinstance(known, int | float | str) or not all(
        isinstance(_plain(i), int | float | str) for i in group
    ):
        found: Value = False
        for i in group:
            found = _either(f, found, binary(f.emit, "==", a, i))
    else:
        found = known in [_plain(i) for i in group]
    return unary(f.emit, "not", found) if isinstance(op, ast.NotIn) else found


def _either(f: Frame, a: Value, b: Value) -> Value:
    if is_open(a) and is_open(b):
        return f.emit.computed(_or, a, b)
    f.emit.joins(a, b)
    x, y = condition(f.emit, a), condition(f.emit, b)
    if isinstance(x, bool):
        return True if x else y
    return f.emit.let("bor", x, f.emit.atom(y))


def _or(a: float, b: float) -> bool:
    return bool(a) or bool(b)


def _boolean(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.BoolOp)
    return logic.boolean(f, node, hint)


def _ternary(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.IfExp)
    cond = logic.truth(f, node.test)
    return branches.choose(
        f, cond, lambda: f.value(node.body, hint), lambda: f.value(node.orelse, hint), hint
    )


def _tuple(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.Tuple | ast.List)
    out: list[Value] = []
    for n in node.elts:
        if isinstance(n, ast.Starred):
            out.extend(items.items(f, f.value(n.value), n.value))
        else:
            out.append(f.value(n))
    return out if isinstance(node, ast.List) else tuple(out)


def _dictionary(f: Frame, node: ast.expr, hint: str) -> Value:
    """A struct without a type, from the argument of ``StructValue({…})``."""
    assert isinstance(node, ast.Dict)
    members: dict[str, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = None if key is None else f.value(key)
        if not isinstance(name, str) or name in members:
            f.refuse(
                "syntax",
                "a dictionary in a kernel is a struct: its keys are different strings",
                key or value,
                help='name the members: `{"a": 1.0}`',
            )
        members[name] = f.value(value)
    return structs.untyped(f, members, node)


def _call(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.Call)
    return f.call(node, hint)


def _lambda(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.Lambda)
    return closures.from_lambda(f, node)


def _comprehension(f: Frame, node: ast.expr, hint: str) -> Value:
    assert isinstance(node, ast.ListComp)
    return items.comprehension(f, node)


def _named(f: Frame, node: ast.expr, hint: str) -> Value:
    """``(name := value)``: assigns the local, whose first assignment fixes its type."""
    assert isinstance(node, ast.NamedExpr)
    assign_name(f, node.target, f.value(node.value, node.target.id), node.target)
    return f.value(node.target)


def _formatted(f: Frame, node: ast.expr, hint: str) -> Value:
    parts = text.parts(f, node)
    if f.static and all(isinstance(p, str) for p in parts):
        return "".join(str(p) for p in parts)
    f.refuse("type", "strings are allowed only in `print` and `assert`", node, help=_NUMBER)


_BY_NODE: dict[type, Evaluate] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _ternary,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Call: _call,
    ast.Dict: _dictionary,
    ast.ListComp: _comprehension,
    ast.JoinedStr: _formatted,
    ast.Lambda: _lambda,
    ast.NamedExpr: _named,
}

__all__ = ["compare", "load", "note", "operate", "place"]
