"""Values as locals hold them: typed by the first assignment, cast by those that follow."""

from __future__ import annotations

import ast
from typing import NoReturn

from dsim.frontend.expressions.elements import cast_local, store
from dsim.frontend.frames.frame import Frame
from dsim.frontend.values import advice, operators
from dsim.frontend.values.structure import fits, labels, rebuilt, scalars
from dsim.frontend.values.values import (
    Element,
    FieldValue,
    Grid,
    Keywords,
    LocalFunc,
    Mat,
    Method,
    Opaque,
    Partial,
    Range,
    RecordValue,
    StructFieldValue,
    StructValue,
    Unrolled,
    Value,
    component_names,
    describe,
    filled,
    is_open,
    is_scalar,
    listed,
)
from dsim.ir.nodes import Const
from dsim.ir.types import ScalarType

_KNOWN = (
    FieldValue,
    StructFieldValue,
    Opaque,
    Unrolled,
    Grid,
    Range,
    Method,
    Keywords,
    LocalFunc,
    Partial,
)


def buffered(f: Frame, name: str, value: Mat) -> Element:
    """`value` in a private memory of its own."""
    buffer = f.c.memories.buffer(name, f.emit.common(value.entries), value.shape)
    for at, entry in zip(buffer.entries, value.entries, strict=True):
        if not (isinstance(entry, Const) and entry.value == 0):  # a new buffer holds zeros
            store(f, Element(buffer.memory, (), (), (at,)), entry, shows=False)
    return buffer


def holds_open(value: Value) -> bool:
    """Whether a name holds numbers that have no type yet (a static loop's index)."""
    return any(map(is_open, scalars(value)))


def fixed(f: Frame, name: str, value: Value, node: ast.AST, type: ScalarType | None = None) -> Value:
    """`value` as a new local holds it: numbers get types, lists become vectors."""
    if is_scalar(value):
        if type is not None:
            f.emit.warn_unfit(value, type, f"`{name}`")
        return f.emit.atom(value, type, name)
    if (
        isinstance(value, list)
        and all(is_scalar(v) or isinstance(v, Mat | list | tuple) for v in value)
        and value
    ):
        value = operators.matrix(f.emit, value)
    if isinstance(value, Mat):
        t = type or f.emit.common(value.entries)
        names = component_names(name, value.shape)
        return Mat(
            value.shape, tuple(f.emit.atom(s, t, n) for s, n in zip(value.entries, names, strict=True))
        )
    if isinstance(value, StructValue | RecordValue):
        return _fixed_members(f, name, value, node)
    if isinstance(value, tuple | list):
        parts = (fixed(f, f"{name}_{i}", v, node) for i, v in enumerate(value))
        return tuple(parts)
    if value is None:
        f.refuse("type", f"`{name}` would be None: the right side returns no value", node)
    if isinstance(value, str):
        f.refuse(
            "type",
            "strings are allowed only in `print` and `assert`",
            node,
            help="use numbers for the cases, or choose outside the kernel",
        )
    if isinstance(value, _KNOWN):
        return value
    f.refuse("type", f"{describe(value)} cannot be assigned to a local", node)


def _fixed_members(
    f: Frame, name: str, value: StructValue | RecordValue, node: ast.AST
) -> StructValue | RecordValue:
    """A struct or dataclass whose numbers have types; what is known at compile time stays as it is."""
    members = {
        key: fixed(f, f"{name}_{key}", v, node) if scalars(v) else v for key, v in value.members.items()
    }
    if isinstance(value, StructValue):
        return StructValue(members, value.kind)
    return RecordValue(value.kind, value.name, members, value.after)


def converted(f: Frame, name: str, value: Value, old: Value) -> Value:
    """`value`, converted to the types of `old`, the local's present value."""
    if isinstance(old, StructValue):
        return _converted_struct(f, name, value, old)
    if isinstance(value, list) or (isinstance(value, tuple) and isinstance(old, Mat)):
        value = operators.operand(f.emit, value, "=")
    if isinstance(old, Mat) and is_scalar(value):
        value = filled(old.shape, value)
    if not fits(value, old):
        _refuse_kind(f, name, value, old, "use another name" if "." not in name else "")
    pairs = zip(scalars(value), scalars(old), labels(name, old), strict=True)
    atoms = [cast_local(f, s, f.emit.type_of(o), name, label) for s, o, label in pairs]
    return rebuilt(old, iter(atoms))


def _converted_struct(f: Frame, name: str, value: Value, old: StructValue) -> StructValue:
    """A struct with the same members, in any order, converted to the type of `old`."""
    if not isinstance(value, StructValue) or set(value.members) != set(old.members):
        help = (
            f"assign a struct of {listed(old.members)}, or one member: `{name}.{next(iter(old.members))} = …`"
        )
        _refuse_kind(f, name, value, old, help)
    members = {key: converted(f, f"{name}.{key}", value.members[key], v) for key, v in old.members.items()}
    return StructValue(members, old.kind)


def _refuse_kind(f: Frame, name: str, value: Value, old: Value, help: str) -> NoReturn:
    help = advice.different(old, value) or help
    f.emit.refuse(
        "shape",
        f"`{name}` is {describe(old)}, and a local keeps its type; the right side is {describe(value)}",
        help=help,
    )


def shown(f: Frame, name: str, value: Value, node: ast.AST) -> Value:
    """`value` as a local holds it, with a probe in a watched kernel."""
    return value if f.shows is None else f.shows.value(name, value, f.span(node))
