"""Methods of fields that return compile-time values: members, and nodes of the layout."""

from __future__ import annotations

import ast

from dsim.frontend.expressions.structs import refuse_member
from dsim.frontend.frames import names
from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.values import FieldValue, Method, StructFieldValue, Value


def _member_field(f: Frame, owner: StructFieldValue, args: list[Value], node: ast.Call) -> Value:
    if len(args) != 1 or not isinstance(args[0], str):
        f.refuse("argument", "`get_member_field` takes the name of a member", node)
    if args[0] not in owner.keys:
        refuse_member(f, owner, args[0], node)
    return names.member_field(f, owner, args[0], node)


def _parent(f: Frame, owner: FieldValue, args: list[Value], node: ast.Call) -> Value:
    if len(args) > 1 or not all(type(a) is int and a > 0 for a in args):
        f.refuse("argument", "`parent` takes how many nodes to go up, at least 1", node)
    return names.imported(f, owner.field.parent(*args), None, node)


_METHODS = {"get_member_field": _member_field, "parent": _parent}


def call(f: Frame, method: Method, args: list[Value], node: ast.Call) -> Value:
    """``x.parent()``, ``s.get_member_field("a")``."""
    return _METHODS[method.name](f, method.owner, args, node)


def is_one(method: Method) -> bool:
    """Whether this file implements `method` of a field."""
    return isinstance(method.owner, FieldValue | StructFieldValue) and method.name in _METHODS
