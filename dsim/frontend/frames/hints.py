"""`static_print`, and Taichi's optimisation hints, which have no effect."""

from __future__ import annotations

import ast

from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.values import FieldValue, Mat, Opaque, StructFieldValue, Value, describe, is_number
from dsim.ir.nodes import Const


def static_print(f: Frame, name: str, node: ast.Call, used: bool) -> Value:
    """``static_print(a, b, sep=…, end=…)``: prints compile-time values, when the kernel is compiled."""
    options = {"sep": " ", "end": "\n"}
    for k in node.keywords:
        value = f.value(k.value)
        if k.arg not in options or not isinstance(value, str):
            f.refuse("argument", "`static_print` takes `sep` and `end`, two strings", k.value)
        options[k.arg] = value
    with f.statically():
        shown = [_shown(f.place(n)) for n in node.args]
    f.c.printed.append(options["sep"].join(shown) + options["end"])


def _shown(value: Value) -> str:
    """The value, or its type when it is known only at run time."""
    if isinstance(value, FieldValue | StructFieldValue):
        return repr(value.field)
    if isinstance(value, tuple | list):
        inner = ", ".join(map(_shown, value))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, Mat) and all(is_number(s) or isinstance(s, Const) for s in value.entries):
        return _shown(list(value.rows()) if len(value.shape) == 2 else list(value.entries))
    if isinstance(value, Opaque | Const):
        value = value.value
    elif not isinstance(value, str | int | float) and value is not None:
        return f"<{describe(value)}>"
    return str(value)


def about_fields(f: Frame, name: str, node: ast.Call, used: bool) -> Value:
    """``block_local(x)`` and similar functions: hints about caches, without effect."""
    for n in node.args:
        value = f.place(n)
        if not isinstance(value, FieldValue | StructFieldValue):
            f.refuse("argument", f"`{name}` takes fields, got {describe(value)}", n)


def assume_in_range(f: Frame, hint: str, val: Value, base: Value, low: Value, high: Value) -> Value:
    """``assume_in_range(i, base, low, high)``: returns `i`; indices are checked in any case."""
    return val


def loop_unique(f: Frame, hint: str, val: Value, covers: Value = None) -> Value:
    """``loop_unique(i)``: returns `i`; the dependence test runs in any case."""
    return val
