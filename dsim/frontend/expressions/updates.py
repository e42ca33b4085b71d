"""Changing a value in place: ``+=`` and similar functions, and the atomic functions.

On an element of a field, adding and bitwise operations are one `Accumulate`; other operators load,
compute and store. On a local, all are computed and assigned.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from dsim.diagnostics import Span
from dsim.frontend.expressions import assign, local_parts, overloads, subscripts
from dsim.frontend.expressions.elements import accumulate, load, store
from dsim.frontend.expressions.expressions import operate
from dsim.frontend.expressions.shared_locals import refuse_shared
from dsim.frontend.frames.frame import Frame
from dsim.frontend.values import elementary
from dsim.frontend.values.operators import SIGNS, unary
from dsim.frontend.values.values import Element, StructElement, Value, describe
from dsim.ir.nodes import AccumulateOp
from dsim.ir.types import u1

_IN_ONE_STEP: dict[str, AccumulateOp] = {"+": "add", "-": "add", "&": "band", "|": "bor", "^": "bxor"}

ATOMICS: dict[str, str] = {
    "atomic_add": "+",
    "atomic_sub": "-",
    "atomic_mul": "*",
    "atomic_min": "min",
    "atomic_max": "max",
    "atomic_and": "&",
    "atomic_or": "|",
    "atomic_xor": "^",
}
_ATOMIC_OPS: dict[str, AccumulateOp] = {**_IN_ONE_STEP, "*": "mul", "min": "min", "max": "max"}


def augmented(f: Frame, node: ast.AugAssign) -> None:
    """``target sign= value``."""
    sign = SIGNS[type(node.op)]
    if _is_place(f, node.target):
        x = assign.element(f, node.target)
        value = f.value(node.value)
        with f.at(node.target):
            if sign in _IN_ONE_STEP and isinstance(x, Element):
                _accumulate(f, x, sign, value, False)
            else:
                store(f, x, operate(f, sign, load(f, x), value))
        return
    _on_local(f, node.target, sign, lambda: f.value(node.value))


def _is_place(f: Frame, target: ast.expr) -> bool:
    """Whether `target` is in a memory (a field, or a local stored in one)."""
    if isinstance(target, ast.Name):
        return isinstance(f.scope.values.get(target.id), Element | StructElement)
    return subscripts.root_local(f, target) is None


def _accumulate(
    f: Frame, x: Element, sign: str, value: Value, used: bool, target: Span | None = None
) -> Value:
    if x.memory.type.is_float and sign in ("&", "|", "^"):
        f.emit.refuse("type", f"`{sign}` works on integers, but `{x.memory.name}` holds {x.memory.type}")
    if x.memory.type == u1 and sign in ("+", "-", "*"):
        message = f"`{sign}=` computes with numbers, but `{x.memory.name}` holds truth values (u1)"
        f.emit.refuse("type", message, help="take a field of integers, or combine by `|=`, `&=`, `^=`")
    if sign == "-":
        value = unary(f.emit, "-", value)
    return accumulate(f, x, _ATOMIC_OPS[sign], value, sign, used, target)


def _on_local(f: Frame, target: ast.expr, sign: str, value: Callable[[], Value]) -> Value:
    """``target = target sign value()`` on a local, or entries of one; returns the previous value.

    As in Python the target is read first, and `value` may assign to it.
    """
    if isinstance(target, ast.Name):
        old = f.value(target)
        given = value()
        local_parts.refuse_item(f, target.id, target)
        refuse_shared(f, target.id, target)
        assign.assign_name(f, target, _combined(f, sign, old, given, target.id), target)
        return old
    name = subscripts.root_local(f, target)
    if name is None:
        f.refuse("type", "this cannot be changed", target)
    p = local_parts.find(f, name, target)
    old = local_parts.read(f, p)
    given = value()
    local_parts.write(f, p, _combined(f, sign, old, given, "t"), target)
    return old


def _combined(f: Frame, sign: str, old: Value, value: Value, hint: str) -> Value:
    if sign in ("min", "max"):
        return elementary.FUNCTIONS[sign](f.emit, old, value, hint=hint)
    overloads.refuse_in_place(f, sign, old)
    return operate(f, sign, old, value, hint)


def atomic(f: Frame, name: str, node: ast.Call, used: bool) -> Value:
    """``atomic_add(target, value)`` and similar functions; returns the previous value when it is `used`."""
    if len(node.args) != 2 or node.keywords:
        f.refuse("argument", f"`{name}` takes a target and a value, got {len(node.args)} arguments", node)
    target, sign = node.args[0], ATOMICS[name]
    if not isinstance(target, ast.Name | ast.Subscript | ast.Attribute):
        f.refuse(
            "argument", f"`{name}` changes its first argument, which must be an element or a local", target
        )
    if _is_place(f, target):
        x = f.place(target)
        if not isinstance(x, Element):
            f.refuse(
                "type",
                f"`{name}` cannot change {describe(x)}",
                target,
                help="give an element of a field: `x[i]`",
            )
        return _accumulate(f, x, sign, f.value(node.args[1]), used, f.span(target))
    return _on_local(f, target, sign, lambda: f.value(node.args[1]))
