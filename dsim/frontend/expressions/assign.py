"""Giving values to targets: locals, parts of locals, elements of fields, several at once."""

from __future__ import annotations

import ast

from dsim.frontend.expressions import local_parts, shared_locals, subscripts
from dsim.frontend.expressions.elements import store
from dsim.frontend.expressions.local_values import buffered, converted, fixed, holds_open, shown
from dsim.frontend.frames import names
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.items import items
from dsim.frontend.values.structure import scalars
from dsim.frontend.values.values import (
    Element,
    FieldValue,
    Mat,
    Opaque,
    RecordValue,
    StructElement,
    StructFieldValue,
    Value,
    describe,
    is_open,
)
from dsim.ir.types import ScalarType


def assign(f: Frame, target: ast.expr, value: Value, node: ast.AST) -> None:
    """``target = value``, where `value` is already loaded."""
    if isinstance(target, ast.Name):
        assign_name(f, target, value, node)
    elif isinstance(target, ast.Tuple | ast.List):
        _several(f, target, value, node)
    elif isinstance(target, ast.Subscript | ast.Attribute):
        _entry(f, target, value)
    else:
        f.refuse("syntax", "this cannot be assigned to", target)


def _several(f: Frame, target: ast.Tuple | ast.List, value: Value, node: ast.AST) -> None:
    if not isinstance(value, tuple | list | Mat | Opaque):
        f.refuse("type", f"{describe(value)} cannot be unpacked", target)
    parts = items(f, value, target)
    if any(isinstance(t, ast.Starred) for t in target.elts):
        f.refuse("syntax", "kernels have no `*` in assignments", target, help="name every value")
    if len(parts) != len(target.elts):
        f.refuse("argument", f"{len(target.elts)} names for {len(parts)} values", target)
    for t, v in zip(target.elts, parts, strict=True):
        if not _thrown_away(f, t):
            assign(f, t, v, node)


def _thrown_away(f: Frame, target: ast.expr) -> bool:
    """Whether `target` is a ``_`` that nothing reads: then its type may change."""
    if not isinstance(target, ast.Name) or target.id != "_":
        return False
    found = (n for n in ast.walk(f.text.node) if isinstance(n, ast.Name) and n.id == "_")
    return all(isinstance(n.ctx, ast.Store) for n in found)


# ------------------------------------------------------------------ locals


def assign_name(
    f: Frame, target: ast.Name, value: Value, node: ast.AST, type: ScalarType | None = None
) -> None:
    """``name = value``: the first assignment fixes the type, later ones cast."""
    name = target.id
    shared_locals.note_returned(f, name, value, node)
    old = f.scope.values.get(name)
    if isinstance(old, Element | StructElement):
        with f.at(target):
            store(f, old, value)
        return
    if old is not None and scalars(old) and not holds_open(old):
        value = shown(f, name, converted(f, name, value, old), target)
    elif not (f.plain and is_open(value) and type is None):  # to Python, a name has no type
        value = shown(f, name, fixed(f, name, value, target, type), target)
        if isinstance(value, Mat) and (f.name, name) in f.c.buffered:
            value = buffered(f, name, value)
    f.bind(name, value, target)


# ------------------------------------------------------------------ entries


def _entry(f: Frame, target: ast.Subscript | ast.Attribute, value: Value) -> None:
    local = subscripts.root_local(f, target)
    with f.at(target):
        if local is None:
            store(f, element(f, target), value)
        else:
            local_parts.write(f, local_parts.find(f, local, target), value, target)


def element(f: Frame, target: ast.expr) -> Element | StructElement:
    """The element of a memory that `target` names, to be written."""
    shared_locals.refuse_shared(f, _root(target), target)
    found = f.place(target)
    if not isinstance(found, Element | StructElement):
        if subscripts.root_local(f, target, RecordValue) is not None:
            message = "a member of a dataclass cannot be changed in a kernel"
            help = (
                "make another: `p = dataclasses.replace(p, a=…)`; or make the class a struct: `@ds.dataclass`"
            )
            f.refuse("type", message, target, help=help)
        root = _root(target)
        if root not in f.scope.values and names.is_of_outer(f, root):
            message = f"`{root}` is a local of the function around: `{f.name}` cannot change it"
            f.refuse("type", message, target, help=names.OUTER)
        whole = isinstance(found, FieldValue | StructFieldValue)
        what = f"all of {describe(found)}" if whole else describe(found)
        f.refuse(
            "type", f"{what} cannot be written", target, help="write to an element of a field, as in `x[i]`"
        )
    return found


def _root(target: ast.expr) -> str:
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""
