"""Name resolution: locals, and Python objects of the enclosing scopes."""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from dsim.diagnostics.similar import similar
from dsim.frontend.frames.builtins import PYTHON
from dsim.frontend.frames.frame import Frame
from dsim.frontend.source import methods
from dsim.frontend.source.captures import (
    constant_module,
    is_field,
    is_host_grid,
    is_host_matrix,
    is_layout_node,
)
from dsim.frontend.source.paths import MISSING, Path
from dsim.frontend.source.problems import RefusedError
from dsim.frontend.source.struct_types import StructTypeBase, is_host_struct, is_struct_field
from dsim.frontend.values import advice
from dsim.frontend.values.operators import matrix
from dsim.frontend.values.structure import rebuilt, scalars
from dsim.frontend.values.types import MatrixType, matrix_type, scalar_type
from dsim.frontend.values.values import (
    FieldValue,
    Mat,
    Opaque,
    Poison,
    StructFieldValue,
    StructValue,
    Value,
)
from dsim.ir.types import ScalarType


def name(f: Frame, node: ast.Name) -> Value:
    """The value of a name."""
    found = f.scope.values.get(node.id)
    if node.id in f.scope.values:
        if isinstance(found, Poison):
            raise RefusedError
        return found
    if f.closure is not None and node.id not in f.surroundings.local:
        for names in reversed(f.closure.comprehensions):
            if node.id in names:
                return names[node.id]
        return name(f.closure.frame, node)
    if node.id in f.scope.gone:
        reason = f.scope.gone[node.id]
        f.refuse("unknown-name", f"`{node.id}` {reason}", node, help=f"give `{node.id}` a value before")
    if node.id in f.surroundings.local:
        _refuse_early(f, node)
    return _around(f, node)


OUTER = "a local function returns its new values: assign the result where you call it"


def is_of_outer(f: Frame, name: str) -> bool:
    """Whether `name` is a local of a function around the local function `f`."""
    outer = f.outer
    return outer is not None and (name in outer.scope.values or is_of_outer(outer, name))


def _refuse_early(f: Frame, node: ast.Name) -> NoReturn:
    """Refuses a local without a value; often an outer variable was meant."""
    message, help = f"`{node.id}` has no value yet", "assign it before this line"
    if is_of_outer(f, node.id):
        message = f"`{node.id}` is assigned in `{f.name}`, so it is not the local of the function around"
        f.refuse("unknown-name", message, node, help=OUTER)
    around = f.surroundings.find(node.id)
    if around is not None:
        message += ": it is assigned in this function, so it is a local of it"
        help = "give the local another name"
        value = around[0].read()
        if is_field(value) or is_struct_field(value):
            axes = ", ".join("ijklmnop"[: len(value.shape)]) or "None"
            help = f"write to an element, as in `{node.id}[{axes}] = …`, or give the local another name"
    f.refuse("unknown-name", message, node, help=help)


def _around(f: Frame, node: ast.Name) -> Value:
    found = f.surroundings.find(node.id)
    value = MISSING if found is None else found[0].read()
    if found is None or value is MISSING:
        f.refuse("unknown-name", f"`{node.id}` is not defined", node, help=suggestion(node.id, _all_names(f)))
    path = f.c.captures.rooted(found[0], found[1], f.name)
    return imported(f, value, path, node)


def _all_names(f: Frame) -> list[str]:
    return [*f.scope.visible(), *f.surroundings.names(), *PYTHON]


def suggestion(wrong: str, known: list[str]) -> str:
    """A help line that suggests a similar name."""
    near = similar(wrong, known)
    return "" if near is None else f"did you mean `{near}`?"


def imported(f: Frame, value: Any, path: Path | None, node: ast.AST) -> Value:
    """A Python object as a value of the kernel, noted as captured when it has a `path`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        kind = bool if isinstance(value, bool) else int if isinstance(value, int) else float
        return _number(f, kind(value), path)
    if isinstance(value, str) or value is None:
        if path is not None:
            f.c.captures.constant(path, value)
        return value
    if is_field(value):
        return _field(f, value, path, node)
    return _object(f, value, path, node)


_COMPARED = (list, tuple, Mapping, set, frozenset, range, enum.Enum)


def _object(f: Frame, value: Any, path: Path | None, node: ast.AST) -> Value:
    """Anything but numbers, strings and fields of numbers."""
    value, path = methods.bound(value, path)
    if is_struct_field(value):
        if path is not None:
            f.c.captures.object(path, value)
        return StructFieldValue(value, _short(path))
    if is_host_struct(value) or is_host_matrix(value):
        if path is not None:
            f.c.captures.constant(path, value)
        return _host_struct(f, value, node) if is_host_struct(value) else _host_matrix(f, value)
    # An array's content is noted where it is used: comparing a large one at each launch takes time.
    if is_host_grid(value) and path is not None:
        f.c.captures.constant(path.attribute("bounds"), value.bounds)
    elif isinstance(value, _COMPARED) and path is not None:
        f.c.captures.constant(path, value)
    if (
        isinstance(value, ScalarType | MatrixType | StructTypeBase) or is_layout_node(value)
    ) and path is not None:
        f.c.captures.object(path, value)
    return Opaque(value, path)


def _number(f: Frame, value: bool | float, path: Path | None) -> Value:
    captures = f.c.captures
    if path is None:
        return value
    held = None if f.static or isinstance(value, bool) else captures.promoted_to(path, value)
    if held is None:
        captures.constant(path, value)
        return value
    return f.emit.launch_numbers.captured(path.text, value, held.read)


def _field(f: Frame, value: Any, path: Path | None, node: ast.AST) -> FieldValue:
    _refuse_unplaced(f, value, path.text if path is not None else "field", node)
    if path is not None:
        f.c.captures.object(path, value)
    return FieldValue(value, _short(path))


def _short(path: Path | None) -> str:
    """The user's name of the field at `path`."""
    return "field" if path is None else path.text.split(".")[-1].split("[")[0]


def _refuse_unplaced(f: Frame, value: Any, text: str, node: ast.AST) -> None:
    if value.whole.root.dropped:
        f.refuse(
            "unplaced",
            f"the field `{text}` was dropped by `reset()`",
            node,
            help="create it again after a `reset()`",
        )
    if not value.placed:
        f.refuse(
            "unplaced",
            f"the field `{text}` is not placed",
            node,
            help=f"give it a shape, or `root.place({text})`",
        )


def member_field(
    f: Frame, owner: StructFieldValue, name: str, node: ast.AST
) -> FieldValue | StructFieldValue:
    """The field of the member `name`, which the struct field has."""
    found, text = owner.field.__dsim_struct_field__[name], f"{owner.name}.{name}"
    if is_struct_field(found):
        return StructFieldValue(found, text)
    _refuse_unplaced(f, found, text, node)
    return FieldValue(found, text)


def _host_struct(f: Frame, value: Any, node: ast.AST) -> StructValue:
    """A struct of Python numbers; those of a typed one have the types of its members."""
    kind = value.__dsim_struct__
    members = {name: imported(f, v, None, node) for name, v in value.__dsim_struct_value__.items()}
    for name, to in kind.members if kind is not None else ():
        vector = matrix_type(to)
        t = scalar_type(to if vector is None else vector.dtype, f.emit.settings)
        if t is not None:
            atoms = iter([f.emit.atom(s, t) for s in scalars(members[name])])
            members[name] = rebuilt(members[name], atoms)
    return StructValue(members, kind)


def _host_matrix(f: Frame, value: Any) -> Mat:
    return matrix(f.emit, np.asarray(value).tolist())


def attribute(f: Frame, owner: Opaque, attr: str, node: ast.AST) -> Value:
    """An attribute of a Python object."""
    try:
        value = getattr(owner.value, attr)
    except AttributeError as error:
        what = getattr(owner.value, "__name__", type(owner.value).__name__)
        help = getattr(error, "help", "") or advice.missing(owner.value, attr)
        help = help or suggestion(attr, dir(owner.value))
        f.refuse("unknown-attribute", f"`{what}` has no `{attr}`", node, help=help)
    path = None if constant_module(owner.value) else owner.path
    if path is None:
        return imported(f, value, None, node)
    if isinstance(owner.value, np.ndarray | list | dict | set) and callable(value):
        f.c.captures.constant(path, owner.value)  # what the method returns depends on the items
    return imported(f, value, path.attribute(attr), node)


def item(f: Frame, owner: Opaque, key: Any, node: ast.AST) -> Value:
    """An item of a Python container, at compile time."""
    try:
        value = owner.value[key]
    except (LookupError, TypeError, ValueError) as error:
        f.refuse("static", f"this item cannot be taken: {error}", node)
    return imported(f, value, None if owner.path is None else owner.path.item(key), node)
