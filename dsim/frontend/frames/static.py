"""`static(…)`: values that must be known at compile time."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

import numpy as np

from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.items import items
from dsim.frontend.source.problems import asked
from dsim.frontend.values.operators import condition
from dsim.frontend.values.values import (
    FieldValue,
    Grid,
    Mat,
    Opaque,
    Range,
    StructFieldValue,
    Unrolled,
    Value,
    describe,
    is_scalar,
)
from dsim.ir.nodes import Const


def evaluate(f: Frame, node: ast.Call) -> Value:
    """The value of ``static(a)``, or the tuple of those of ``static(a, b)``."""
    if node.keywords or not node.args:
        f.refuse("argument", "`static` takes the values to be known at compile time", node)
    with f.statically():
        values = [_one(f, f.value(n), n) for n in node.args]
    return values[0] if len(values) == 1 else tuple(values)


def _one(f: Frame, value: Value, node: ast.expr) -> Value:
    if isinstance(value, Const):
        return value.value
    if is_scalar(value) and not isinstance(value, int | float):
        f.refuse("static", f"`static` needs a value known at compile time, got {describe(value)}", node)
    if isinstance(value, Range | Grid):
        return Unrolled(tuple(items(f, value, node)))
    return value


def is_static_call(f: Frame, node: ast.expr) -> bool:
    """Whether `node` is a call of `static`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return False
    callee = f.place(node.func)
    return isinstance(callee, Opaque) and getattr(callee.value, "__dsim_builtin__", None) == "static"


def unrolled(f: Frame, node: ast.expr) -> tuple[list[Value], bool] | None:
    """The items of ``static(…)`` as the iterable of a loop; None when `node` is no such call.

    And whether they are items of a sequence, which could be changed.
    """
    node = _chosen(f, node)
    if not is_static_call(f, node):
        return None
    assert isinstance(node, ast.Call)
    with f.at(node):
        value = evaluate(f, node)
    return items(f, value, node), isinstance(value, list | tuple | Mat | Opaque)


def _chosen(f: Frame, node: ast.expr) -> ast.expr:
    """`a` or `b` of ``a if static(c) else b``: a loop may be unrolled in one case only."""
    while isinstance(node, ast.IfExp) and is_static_call(f, node.test):
        node = node.body if truth(f, f.value(node.test), node.test) else node.orelse
    return node


def compile_time(f: Frame, value: Value, node: ast.AST) -> Any:
    """`value` as a Python object; refused when it is known at run time only."""
    if isinstance(value, Opaque) and isinstance(value.value, np.ndarray) and value.path is not None:
        f.c.captures.constant(value.path, value.value)
    if isinstance(value, Const | Opaque):
        return value.value
    if isinstance(value, FieldValue | StructFieldValue):
        return value.field
    if isinstance(value, Range):
        return range(*(compile_time(f, v, node) for v in (value.start, value.stop, value.step)))
    if isinstance(value, tuple | list):
        return type(value)(compile_time(f, v, node) for v in value)
    if isinstance(value, Mat):
        rows = value.rows() if len(value.shape) == 2 else value.entries
        return [compile_time(f, v, node) for v in rows]
    if isinstance(value, int | float | str) or value is None:
        return value
    f.refuse("static", f"this must be known at compile time, but is {describe(value)}", node)


def truth(f: Frame, value: Value, node: ast.expr) -> bool:
    """The truth of a Python object, by its own ``__bool__`` or ``__len__``; fields have none."""
    if isinstance(value, FieldValue | StructFieldValue):
        with f.at(node):
            return condition(f.emit, value)
    known = compile_time(f, value, node)
    if isinstance(known, np.ndarray) and known.size != 1:
        message = f"an array of shape {known.shape} is not a truth value"
        f.refuse("type", message, node, help="reduce it with `.all()` or `.any()`")

    def refuse(why: str) -> NoReturn:
        message = f"{describe(value)} cannot be a condition: {why}"
        f.refuse("type", message, node, help="write a comparison that Python can compute, such as `a.n > 0`")

    return asked(lambda: bool(known), refuse)


def static_assert(f: Frame, node: ast.Call) -> None:
    """``static_assert(condition, message)``, checked at compile time."""
    if not node.args:
        f.refuse("argument", "`static_assert` takes a condition", node)
    with f.statically():
        holds = truth(f, f.value(node.args[0]), node.args[0])
        message = compile_time(f, f.value(node.args[1]), node) if len(node.args) > 1 else ""
    if not holds:
        f.refuse("static", f"a static assertion failed{': ' if message else ''}{message}", node)
