"""`print` and `assert`."""

from __future__ import annotations

import ast

from dsim.frontend.expressions.logic import truth
from dsim.frontend.frames import text
from dsim.frontend.frames.frame import Frame
from dsim.ir.build import FALSE
from dsim.ir.nodes import Assert, Print


def report_print(f: Frame, node: ast.Call) -> None:
    """``print(a, b, sep=…, end=…)``."""
    options = {"sep": " ", "end": "\n"}
    for k in node.keywords:
        if k.arg not in options:
            f.refuse("argument", f"`print` in a kernel takes `sep` and `end`, not `{k.arg}`", node)
        value = f.value(k.value)
        if not isinstance(value, str):
            f.refuse("argument", f"`{k.arg}` must be a string", k.value)
        options[k.arg] = value
    shown: list[text.Part] = []
    for i, n in enumerate(node.args):
        shown += [options["sep"]] if i else []
        shown += text.parts(f, n)
    f.emit.builder.add(Print(text.merged(shown), options["end"], f.emit.builder.origin, text.formats(shown)))


def report_assert(f: Frame, node: ast.Assert) -> None:
    """``assert condition, message``."""
    holds = truth(f, node.test)
    if holds is True:
        return
    parts = text.parts(f, node.msg) if node.msg is not None else []
    cond, origin = FALSE if holds is False else holds, f.emit.builder.origin
    f.emit.builder.add(Assert(cond, text.merged(parts), origin, text.formats(parts)))
