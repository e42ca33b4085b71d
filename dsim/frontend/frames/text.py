"""Message formatting for `print` and `assert`."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence
from string import Formatter

from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.values import Mat, Opaque, StructValue, Value, describe, is_number, is_scalar
from dsim.ir.nodes import Atom, Const
from dsim.records import record


@record
class Formatted:
    """A scalar to be shown as `format` says; see `Print`."""

    atom: Atom
    format: str


Part = str | Atom | Formatted


def parts(f: Frame, node: ast.expr) -> list[Part]:
    """Text and scalars of an expression that is to be shown: a string, an f-string, a value."""
    if isinstance(node, ast.JoinedStr):
        return [p for n in node.values for p in parts(f, n)]
    if isinstance(node, ast.FormattedValue):
        return shown(f, f.value(node.value), _specification(f, node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
        return _percent(f, node)
    if isinstance(node, ast.Call) and _is_format(node):
        return _format_call(f, node)
    return shown(f, f.value(node))


def _specification(f: Frame, node: ast.FormattedValue) -> str:
    if node.format_spec is None:
        return ""
    pieces = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else [node.format_spec]
    return ":" + "".join(_known(f, piece, node) for piece in pieces)


def _known(f: Frame, piece: ast.expr, node: ast.expr) -> str:
    """A part of a format, which may be a value in braces: a number of the kernel's text, or of Python's."""
    known = parts(f, piece)
    if not all(isinstance(part, str | Const) for part in known):
        f.refuse("static", "a format must be known when the kernel is compiled", node, help="write it out")
    return "".join(str(part.value) if isinstance(part, Const) else str(part) for part in known)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_format(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "format" and _is_text(node.func.value)


_PERCENT = re.compile(r"(%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z%])")


def _percent(f: Frame, node: ast.BinOp) -> list[Part]:
    """``"x = %.2f" % x``."""
    assert isinstance(node.left, ast.Constant)
    values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    texts, formats = [""], []
    for i, piece in enumerate(_PERCENT.split(str(node.left.value))):
        if i % 2 == 0 or piece == "%%":
            texts[-1] += "%" if i % 2 else piece
        else:
            formats.append("" if piece == "%s" else piece)
            texts.append("")
    return _woven(f, texts, formats, values, node)


def _format_call(f: Frame, node: ast.Call) -> list[Part]:
    """``"x = {:.2f}".format(x)``."""
    assert isinstance(node.func, ast.Attribute)
    assert isinstance(node.func.value, ast.Constant)
    texts, formats, values = [""], [], []
    try:
        pieces = [*Formatter().parse(str(node.func.value.value))]
    except ValueError as error:
        f.refuse("argument", f"this string cannot be formatted: {error}", node)
    if any("{" in (spec or "") for _, _, spec, _ in pieces):
        f.refuse("static", "a format in this string has braces of its own", node, help="write it out")
    places = _numbered(f, node, [name for _, name, _, _ in pieces if name is not None])
    for text, name, spec, _ in pieces:
        texts[-1] += text
        if name is not None:
            values.append(_argument(f, node, places[len(values)]))
            formats.append(f":{spec}" if spec else "")
            texts.append("")
    return _woven(f, texts, formats, values, node)


def _numbered(f: Frame, node: ast.Call, names: list[str]) -> list[str]:
    """The fields of a format string, with the empty ones numbered."""
    empty = names.count("")
    if empty and any(name.isdecimal() for name in names):
        f.refuse(
            "argument",
            "some braces of this string are numbered, some are empty",
            node,
            help="number all of them, or none",
        )
    if empty == len(names) != len(node.args):
        f.refuse("argument", f"the string has {empty} braces for {len(node.args)} values", node)
    count = itertools.count()
    return [name or str(next(count)) for name in names]


def _argument(f: Frame, node: ast.Call, name: str) -> ast.expr:
    """The argument of ``format`` that `name` in braces refers to."""
    named = {k.arg: k.value for k in node.keywords}
    if name in named:
        return named[name]
    at = int(name) if name.isdecimal() else len(node.args)
    if at >= len(node.args):
        f.refuse("argument", f"`format` has no value for `{{{name}}}`", node)
    return node.args[at]


def _woven(
    f: Frame, texts: list[str], formats: list[str], values: Sequence[ast.expr], node: ast.expr
) -> list[Part]:
    if len(formats) != len(values):
        f.refuse("argument", f"the string has {len(formats)} formats for {len(values)} values", node)
    out: list[Part] = [texts[0]]
    for value, given, text in zip(values, formats, texts[1:], strict=True):
        out += [*(shown(f, f.value(value), given) if given else parts(f, value)), text]
    return [p for p in out if p != ""]


def shown(f: Frame, value: Value, given: str = "") -> list[Part]:
    """Text and scalars of a value, each scalar in the format that is `given`: vectors in brackets."""
    if isinstance(value, str | Opaque) or is_number(value) or value is None:
        return [_in_format(f, value.value if isinstance(value, Opaque) else value, given)]
    if is_scalar(value):
        return [_scalar(f, f.emit.whole(value), given)]
    if isinstance(value, Mat):
        return _listed(f, value.rows() if len(value.shape) == 2 else value.entries, "[]", given)
    if isinstance(value, tuple | list):
        return _listed(f, value, "()" if isinstance(value, tuple) else "[]", given)
    if isinstance(value, StructValue):
        return _struct(f, value)
    f.emit.refuse("type", f"{describe(value)} cannot be printed", help="print its elements one by one")


def _scalar(f: Frame, atom: Atom, given: str) -> Part:
    if not given:
        return atom
    _in_format(f, 1.5 if atom.type.is_float else atom.type.kind == "bool" or 1, given)  # is it one?
    return Formatted(atom, given)


def _in_format(f: Frame, value: object, given: str) -> str:
    """The compile-time `value` as text; an invalid format is refused."""
    try:
        return given % value if given.startswith("%") else format(value, given[1:]) if given else str(value)
    except (ValueError, TypeError) as error:
        f.emit.refuse("argument", f"`{given.removeprefix(':')}` does not format {describe(value)}: {error}")


def _listed(f: Frame, values: Sequence[Value], brackets: str, given: str) -> list[Part]:
    out: list[Part] = [brackets[0]]
    for i, v in enumerate(values):
        out += [", "] if i else []
        out += shown(f, v, given)
    return [*out, brackets[1]]


def _struct(f: Frame, value: StructValue) -> list[Part]:
    out: list[Part] = [f"{value.kind.name or 'Struct'}(" if value.kind is not None else "Struct("]
    for i, (name, v) in enumerate(value.members.items()):
        out += [f"{', ' if i else ''}{name}=", *shown(f, v)]
    return [*out, ")"]


def merged(given: Sequence[Part]) -> tuple[str | Atom, ...]:
    """`given` with adjacent strings joined, without formats."""
    out: list[str | Atom] = []
    for part in given:
        p = part.atom if isinstance(part, Formatted) else part
        if isinstance(p, str) and out and isinstance(out[-1], str):
            out[-1] += p
        elif p != "":
            out.append(p)
    return tuple(out)


def formats(given: Sequence[Part]) -> tuple[str, ...]:
    """The format of each scalar among `given`; none when all are shown plainly."""
    found = tuple(p.format if isinstance(p, Formatted) else "" for p in given if not isinstance(p, str))
    return found if any(found) else ()
