"""Recursive funcs: inlined as long as a compile-time argument differs in each call."""

from __future__ import annotations

import ast

from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.values import FieldValue, Opaque, RecordValue, StructFieldValue, Value
from dsim.ir.nodes import Const

DEEPEST = 64  # the deepest recursion of one func
MOST = 2000  # the most recursive calls in one kernel


def checked(f: Frame, name: str, key: object, given: object, node: ast.AST) -> None:
    """Refuses the recursive call at `node` of a func that is being inlined, if the recursion does not end.

    `key` is the func, and `given` what `known` says of its arguments.
    """
    outer = [args for function, args in f.c.active if function is key]
    if not outer:
        return
    f.c.repeated += 1
    if given in outer:
        help = "write a loop, or end the recursion by a compile-time number"
        f.refuse("recursion", f"`{name}` calls itself", node, help=help)
    if len(outer) >= DEEPEST:
        f.refuse("recursion", f"`{name}` calls itself more than {DEEPEST} times", node, help="write a loop")
    if f.c.repeated > MOST:
        message = f"`{name}` would be inlined more than {MOST} times"
        f.refuse("recursion", message, node, help="write a loop: every call of a func is inlined")


def known(value: Value) -> object:
    """The compile-time part of an argument, as a value to compare."""
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Opaque):
        return id(value.value)
    if isinstance(value, FieldValue | StructFieldValue):
        return id(value.field)
    if isinstance(value, tuple | list):
        return tuple(map(known, value))
    if isinstance(value, RecordValue):
        return tuple(map(known, value.members.values()))
    return value if isinstance(value, int | float | str) else None
