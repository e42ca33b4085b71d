"""The parts of a message: what `print` shows and what a failed `assert` says."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from dsim.diagnostics import Diagnostic
from dsim.frontend.frame import Frame
from dsim.frontend.values import Mat, Opaque, Struct, Value, describe, is_number, is_scalar
from dsim.ir.nodes import Atom

Part = str | Atom


def parts(f: Frame, node: ast.expr) -> list[Part]:
    """Text and scalars of an expression that is to be shown: a string, an f-string, a value."""
    if isinstance(node, ast.JoinedStr):
        return [p for n in node.values for p in parts(f, n)]
    if isinstance(node, ast.FormattedValue):
        if node.format_spec is not None or node.conversion != -1:
            note = Diagnostic("fallback", "formats are ignored: a kernel prints all digits", f.span(node))
            f.emit.problems.note(note)
        return shown(f, f.value(node.value))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
        return _percent(f, node)
    if isinstance(node, ast.Call) and _is_format(node):
        return _format_call(f, node)
    return shown(f, f.value(node))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_format(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "format" and _is_text(node.func.value)


def _percent(f: Frame, node: ast.BinOp) -> list[Part]:
    assert isinstance(node.left, ast.Constant)
    values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    pieces = re.split(r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]", node.left.value)  # type: ignore[arg-type]
    return _woven(f, [p.replace("%%", "%") for p in pieces], values, node)


def _format_call(f: Frame, node: ast.Call) -> list[Part]:
    assert isinstance(node.func, ast.Attribute)
    assert isinstance(node.func.value, ast.Constant)
    pieces = re.split(r"\{[^{}]*\}", node.func.value.value)  # type: ignore[arg-type]
    return _woven(f, pieces, node.args, node)


def _woven(f: Frame, pieces: list[str], values: Sequence[ast.expr], node: ast.expr) -> list[Part]:
    if len(pieces) != len(values) + 1:
        f.refuse("argument", f"the text has {len(pieces) - 1} places for {len(values)} values", node)
    out: list[Part] = [pieces[0]]
    for value, piece in zip(values, pieces[1:], strict=True):
        out += [*parts(f, value), piece]
    return [p for p in out if p != ""]


def shown(f: Frame, value: Value) -> list[Part]:
    """Text and scalars of a value: vectors in brackets."""
    if isinstance(value, str) or is_number(value) or value is None:
        return [str(value)]
    if is_scalar(value):
        return [f.emit.atom(value)]
    if isinstance(value, Mat):
        return _listed(f, value.rows() if len(value.shape) == 2 else value.entries, "[]")
    if isinstance(value, tuple | list):
        return _listed(f, value, "()" if isinstance(value, tuple) else "[]")
    if isinstance(value, Struct):
        return _struct(f, value)
    if isinstance(value, Opaque):
        return [str(value.value)]
    f.emit.refuse("type", f"{describe(value)} cannot be shown", help="show its elements one by one")


def _listed(f: Frame, values: Sequence[Value], brackets: str) -> list[Part]:
    out: list[Part] = [brackets[0]]
    for i, v in enumerate(values):
        out += [", "] if i else []
        out += shown(f, v)
    return [*out, brackets[1]]


def _struct(f: Frame, value: Struct) -> list[Part]:
    out: list[Part] = [f"{value.kind.name or 'Struct'}(" if value.kind is not None else "Struct("]
    for i, (name, v) in enumerate(value.members.items()):
        out += [f"{', ' if i else ''}{name}=", *shown(f, v)]
    return [*out, ")"]


def merged(given: Sequence[Part]) -> tuple[Part, ...]:
    """`given` with texts that follow one another joined."""
    out: list[Part] = []
    for p in given:
        if isinstance(p, str) and out and isinstance(out[-1], str):
            out[-1] += p
        elif p != "":
            out.append(p)
    return tuple(out)
