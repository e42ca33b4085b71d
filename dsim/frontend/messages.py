"""`print` and `assert`."""

from __future__ import annotations

import ast

from dsim.diagnostics import Diagnostic
from dsim.frontend import text
from dsim.frontend.frame import Frame
from dsim.frontend.operators import condition
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
            f.refuse("argument", f"`{k.arg}` is to be a string", k.value)
        options[k.arg] = value
    shown: list[text.Part] = []
    for i, n in enumerate(node.args):
        shown += [options["sep"]] if i else []
        shown += text.parts(f, n)
    f.emit.builder.add(Print(text.merged(shown), options["end"], f.emit.builder.origin, text.formats(shown)))


def report_assert(f: Frame, node: ast.Assert) -> None:
    """``assert condition, message``."""
    truth = condition(f.emit, f.value(node.test))
    if truth is True:
        return
    parts = text.parts(f, node.msg) if node.msg is not None else []
    message = text.merged(parts)
    if text.formats(parts):
        note = "formats are ignored in the message of an `assert`: it shows all digits"
        f.emit.problems.note(Diagnostic("fallback", note, f.span(node)))
    f.emit.builder.add(Assert(FALSE if truth is False else truth, message, f.emit.builder.origin))
