"""Funcs that call themselves: written out as long as something known when compiling differs in each call."""

from __future__ import annotations

import ast

from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.values import FieldValue, Opaque, RecordValue, StructFieldValue, Value
from dsim.ir.nodes import Const

DEEPEST = 64  # so many calls of one func may stand one within the other
MOST = 2000  # so many calls of funcs by themselves may stand in one kernel


def checked(f: Frame, name: str, key: object, given: object, node: ast.AST) -> None:
    """Refuses the call at `node` of a func that is being inlined, where that would not come to an end.

    `key` is the func, and `given` what `known` says of its arguments.
    """
    outer = [args for function, args in f.c.active if function is key]
    if not outer:
        return
    f.c.repeated += 1
    if given in outer:
        help = "write a loop, or let a number known when compiling decide where it ends"
        f.refuse("recursion", f"`{name}` calls itself", node, help=help)
    if len(outer) >= DEEPEST:
        f.refuse("recursion", f"`{name}` calls itself more than {DEEPEST} times", node, help="write a loop")
    if f.c.repeated > MOST:
        message = f"`{name}` would be written out more than {MOST} times"
        f.refuse("recursion", message, node, help="write a loop: every call of a func is written out")


def known(value: Value) -> object:
    """What of an argument is known when compiling, as something to compare."""
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
