"""Struct values: construction, conversion to a type, and errors about missing members."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from dsim.frontend.expressions.elements import cast
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.names import imported
from dsim.frontend.source.struct_types import StructTypeBase, unknown_member
from dsim.frontend.values.elementary import FUNCTIONS
from dsim.frontend.values.operators import matrix, operand
from dsim.frontend.values.structure import fits, rebuilt, scalars
from dsim.frontend.values.types import matrix_type, scalar_type
from dsim.frontend.values.values import (
    Mat,
    Opaque,
    StructElement,
    StructFieldValue,
    StructValue,
    Value,
    describe,
    filled,
    is_scalar,
    listed,
)
from dsim.ir.build import const
from dsim.ir.types import ScalarType

# ------------------------------------------------------------------ making


def of_type(
    f: Frame, kind: StructTypeBase, args: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call
) -> StructValue:
    """``Particle(pos, mass=1.0)``: omitted members are zero."""
    what = kind.name or "this struct"
    if len(args) > len(kind.keys):
        f.refuse(
            "argument",
            f"{_titled(kind)} takes {_many(len(kind.keys))}, got {len(args)}",
            node,
            help=f"its members are {listed(kind.keys)}",
        )
    given = dict(zip(kind.keys, args, strict=False))
    for name, value in keywords.items():
        if name not in kind.keys:
            refuse_member(f, kind, name, node)
        if name in given:
            f.refuse("argument", f"{_titled(kind)} got the member `{name}` twice", node)
        given[name] = value
    members = {
        name: typed(f, given[name], t, f"{what}.{name}") if name in given else _zero(f, t, f"{what}.{name}")
        for name, t in kind.members
    }
    return StructValue(members, kind)


def _many(count: int) -> str:
    return "1 member" if count == 1 else f"{count} members"


def _titled(kind: StructTypeBase) -> str:
    return f"`{kind.name}`" if kind.name else f"the struct of {listed(kind.keys)}"


def as_type(f: Frame, value: Value, kind: StructTypeBase, what: str) -> StructValue:
    """`value` as a struct of type `kind`; it has the same members, in any order."""
    if not isinstance(value, StructValue) or set(value.members) != set(kind.keys):
        f.emit.refuse(
            "type",
            f"`{what}` is {describe(StructValue(dict(kind.members), kind))}, got {describe(value)}",
            help=f"give a struct of {listed(kind.keys)}",
        )
    return StructValue(
        {name: typed(f, value.members[name], t, f"{what}.{name}") for name, t in kind.members}, kind
    )


def typed(f: Frame, value: Value, to: Any, what: str) -> Value:
    """`value` as a member of type `to`; a number fills a vector or matrix."""
    if isinstance(to, StructTypeBase):
        return as_type(f, value, to, what)
    vector = matrix_type(to)
    if vector is None:
        scalar = _known(f, to, what)
        if not is_scalar(value):
            f.emit.refuse("type", f"`{what}` is a number, got {describe(value)}")
        return cast(f, value, scalar, what)
    entry = _known(f, vector.dtype, what)
    given = value if isinstance(value, StructValue) else operand(f.emit, value)
    if is_scalar(given):
        given = filled(vector.shape, given)
    if not isinstance(given, Mat) or given.shape != vector.shape:
        f.emit.refuse("shape", f"`{what}` is {describe(Mat(vector.shape, ()))}, got {describe(value)}")
    return Mat(vector.shape, tuple(cast(f, s, entry, what) for s in given.entries))


def _known(f: Frame, to: Any, what: str) -> ScalarType:
    """`to` as a scalar type."""
    found = scalar_type(to, f.emit.settings)
    if found is None:
        message = f"`{what}` has no type that kernels know, but {to!r}"
        f.emit.refuse("type", message, help="give it a type of numbers, vectors, matrices or structs")
    return found


def _zero(f: Frame, to: Any, what: str) -> Value:
    if isinstance(to, StructTypeBase):
        return StructValue({name: _zero(f, t, f"{what}.{name}") for name, t in to.members}, to)
    vector = matrix_type(to)
    scalar = _known(f, to if vector is None else vector.dtype, what)
    return const(0, scalar) if vector is None else filled(vector.shape, const(0, scalar))


def literal(f: Frame, args: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call) -> StructValue:
    """``Struct(a=1.0, b=…)``, ``Struct({"a": 1.0})``: a struct without a type."""
    if args and (len(args) > 1 or keywords or not _is_mapping(args[0])):
        f.refuse(
            "argument",
            "`StructValue` takes keywords, or one dictionary",
            node,
            help="`Struct(a=1.0, b=2.0)`",
        )
    members = _members(f, args[0], node) if args else dict(keywords)
    if not members:
        f.refuse("argument", "a struct needs at least one member", node, help="`Struct(a=1.0, b=2.0)`")
    return untyped(f, members, node)


def _is_mapping(value: Value) -> bool:
    return isinstance(value, StructValue) or (isinstance(value, Opaque) and isinstance(value.value, Mapping))


def _members(f: Frame, value: Value, node: ast.AST) -> dict[str, Value]:
    if isinstance(value, StructValue):
        return dict(value.members)
    return {key: imported(f, v, None, node) for key, v in value.value.items()}


def untyped(f: Frame, members: Mapping[str, Value], node: ast.AST) -> StructValue:
    """A struct of `members`, lists among them as vectors, dictionaries as structs."""
    out: dict[str, Value] = {}
    for name, value in members.items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            f.refuse("argument", f"a member cannot be called `{name}`", node, help="use a plain name")
        v = matrix(f.emit, value) if isinstance(value, list | tuple) else value
        if isinstance(v, Opaque) and isinstance(v.value, Mapping):
            v = untyped(f, _members(f, v, node), node)
        if not (is_scalar(v) or isinstance(v, Mat | StructValue)):
            f.refuse("type", f"the member `{name}` cannot be {describe(v)}", node)
        out[name] = v
    return StructValue(out)


def select(f: Frame, cond: Value, yes: StructValue, no: Value) -> StructValue:
    """``select(cond, a, b)`` of two structs, member by member; `cond` is one number."""
    if not fits(yes, no) or not is_scalar(cond):
        f.emit.refuse(
            "type",
            f"`select` chooses between two structs with the same members by one condition, "
            f"got {describe(cond)}, {describe(yes)} and {describe(no)}",
            help=f"give both as structs of {listed(yes.members)}",
        )
    pairs = zip(scalars(yes), scalars(no), strict=True)
    chosen = [FUNCTIONS["select"](f.emit, cond, a, b, hint="t") for a, b in pairs]
    made = rebuilt(yes, iter([f.emit.atom(s) for s in chosen]))
    assert isinstance(made, StructValue)
    return made


# ------------------------------------------------------------------ missing members


def refuse_member(
    f: Frame, owner: StructValue | StructElement | StructFieldValue | StructTypeBase, name: str, node: ast.AST
) -> NoReturn:
    """Refuses `name`, which is not a member of `owner`."""
    if isinstance(owner, StructTypeBase):
        known, what = owner.keys, _titled(owner)
    elif isinstance(owner, StructValue):
        known, what = tuple(owner.members), describe(owner)
    else:
        known, what = (
            (owner.keys if isinstance(owner, StructFieldValue) else owner.field.keys),
            describe(owner),
        )
    message, help = unknown_member(what, name, known)
    f.refuse("unknown-attribute", message, node, help=help)
