"""Reading by index and by attribute: ``x[i, j]``, ``v[0]``, ``M[:, 1]``, ``v.xy``, ``x.shape``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import NoReturn

import numpy as np

from dsim.frontend.expressions import records, structs
from dsim.frontend.expressions.elements import member, refuse_component, store
from dsim.frontend.frames import names
from dsim.frontend.frames.frame import Frame
from dsim.frontend.values import advice, indexing
from dsim.frontend.values.indexing import Part, integer, part
from dsim.frontend.values.operators import matrix
from dsim.frontend.values.values import (
    Element,
    FieldValue,
    Keywords,
    Mat,
    Method,
    Opaque,
    RecordValue,
    Scalar,
    StructElement,
    StructFieldValue,
    StructValue,
    Value,
    describe,
    describe_shape,
    is_open,
    is_scalar,
    listed,
    size,
)
from dsim.ir.nodes import Assert, Atom, Const

SMALL = 16  # vectors and matrices up to this many entries stay scalars under run-time indices
_SWIZZLES = ("xyzw", "rgba", "stpq")


# ------------------------------------------------------------------ subscripts


def subscript(f: Frame, node: ast.Subscript, hint: str = "t") -> Value:
    """The value of ``owner[...]``; an element of a field is not loaded."""
    owner = f.place(node.value)
    if isinstance(owner, FieldValue | StructFieldValue):
        return element(f, owner, field_index(f, node.slice, owner, node), node)
    keys = indices(f, node.slice)
    if isinstance(owner, StructValue | StructElement | Keywords):
        return _by_name(f, owner, keys, node)
    if isinstance(owner, Element) and owner.shape:
        return of_element(f, owner, keys, node)
    owner = f.load(owner)
    if isinstance(owner, Opaque):
        return names.item(f, owner, _static_key(f, owner, keys, node), node)
    if isinstance(owner, tuple | list):
        return _of_sequence(f, owner, keys, node, hint)
    if isinstance(owner, Mat):
        return of_matrix(f, owner, keys, node, hint)
    f.refuse("index", f"{describe(owner)} cannot be indexed", node)


def _by_name(
    f: Frame, owner: StructValue | StructElement | Keywords, keys: list[Value], node: ast.expr
) -> Value:
    """A member of a struct, or one of the arguments of a ``**`` parameter."""
    if len(keys) != 1 or not isinstance(keys[0], str):
        f.refuse("index", f"{describe(owner)} has no elements", node, help="name a member: `p.x`")
    if not isinstance(owner, Keywords):
        return struct_member(f, owner, keys[0], node)
    if keys[0] not in owner.members:
        given = listed(owner.members) or "none"
        f.refuse("index", f"there is no argument `{keys[0]}`: those given are {given}", node)
    return owner.members[keys[0]]


def indices(f: Frame, node: ast.expr) -> list[Value]:
    """The indices between the brackets: scalars and slices; vectors give their entries."""
    out: list[Value] = []
    for n in node.elts if isinstance(node, ast.Tuple) else [node]:
        inner = n.value if isinstance(n, ast.Starred) else n
        value = _slice(f, inner) if isinstance(inner, ast.Slice) else f.value(inner)
        out.extend(_opened(value))
    return out


def _opened(value: Value) -> list[Value]:
    if isinstance(value, Mat):
        return list(value.entries)
    if isinstance(value, tuple | list):
        return [s for v in value for s in _opened(v)]
    if isinstance(value, Opaque) and isinstance(value.value, tuple | list):
        return list(value.value)
    return [value]


def _slice(f: Frame, node: ast.Slice) -> slice:
    def bound(n: ast.expr | None) -> Value:
        value = None if n is None else f.value(n)
        return value.value if isinstance(value, Const) else value

    return slice(bound(node.lower), bound(node.upper), bound(node.step))


def field_index(
    f: Frame, node: ast.expr, field: FieldValue | StructFieldValue, whole_node: ast.Subscript
) -> tuple[Atom, ...]:
    """The index atoms of ``field[...]``."""
    if isinstance(field, StructFieldValue):
        struct_shape(f, field, whole_node)
    axes = len(field.field.shape)
    if isinstance(node, ast.Constant) and node.value is None:
        given: list[Value] = []
    else:
        given = indices(f, node)
    if given == [None]:
        given = []
    if axes == 0 and len(given) == 1 and given[0] == 0 and isinstance(given[0], int):
        given = []
    if any(isinstance(g, slice) for g in given):
        f.refuse(
            "index", f"the field `{field.name}` cannot be sliced", node, help="write a loop over its elements"
        )
    if len(given) != axes:
        many = "1 index" if len(given) == 1 else f"{len(given)} indices"
        needs = f"`{field.name}[None]`" if axes == 0 else f"{axes} of them" if axes > 1 else "1"
        f.refuse(
            "index",
            f"the field `{field.name}` has {axes} {'axis' if axes == 1 else 'axes'}, got {many}",
            whole_node,
            help=f"write `{field.name}[None]`" if axes == 0 else f"give {needs}",
        )
    with f.at(node):
        offset = field.field.offset or (0,) * axes
        at = [_from_zero(f, integer(f.emit, g), first) for g, first in zip(given, offset, strict=True)]
        if isinstance(field, FieldValue) and field.clamped:
            return tuple(indexing.nearest(f.emit, a, n) for a, n in zip(at, field.field.shape, strict=True))
        return tuple(at)


def _from_zero(f: Frame, at: int | Atom, first: int) -> Atom:
    """The index `at` of an axis whose indices start with `first`."""
    if isinstance(at, int):
        return f.emit.atom(at - first)
    if not first:
        return at
    at = indexing.wide(f.emit, at)
    return f.emit.let("sub" if first > 0 else "add", at, Const(abs(first), at.type))


def element(
    f: Frame, field: FieldValue | StructFieldValue, at: tuple[Atom, ...], node: ast.AST
) -> Element | StructElement:
    """The element of `field` at `at`."""
    if isinstance(field, StructFieldValue):
        return StructElement(field, at)
    return f.c.memories.element(field, at)


def of_element(f: Frame, x: Element, keys: Sequence[Value], node: ast.AST) -> Value:
    """Entries of an element; a run-time index stays one when it selects from the whole element."""
    p = part(f.emit, x.shape, keys, f"an element of `{x.memory.name}`", x.clamped)
    if p.dynamic and not indexing.is_whole(x):
        guard(f, x.shape, p)
        return indexing.pick(f.emit, f.load(x), p)
    return indexing.pick_element(x, p)


def of_matrix(f: Frame, m: Mat, keys: Sequence[Value], node: ast.Subscript, hint: str) -> Value:
    """Entries of a local vector or matrix."""
    if any(map(is_open, m.entries)):  # the entry stays of open type
        keys = [f.emit.known(k) for k in keys]
    p = part(f.emit, m.shape, keys, node.value)
    if p.dynamic:
        if size(m.shape) > SMALL:
            return _from_buffer(f, m, p, node)
        guard(f, m.shape, p)
    return indexing.pick(f.emit, m, p, hint)


def _from_buffer(f: Frame, m: Mat, p: Part, node: ast.Subscript) -> Value:
    local = root_local(f, node, Mat)
    if local is not None:
        f.in_memory(local)
    e = f.emit
    t = e.common(m.entries)
    buffer = f.c.memories.buffer("values", t, m.shape)
    store(f, buffer, m)
    return indexing.pick_element(buffer, p)


def root_local(f: Frame, node: ast.expr, kinds: type | UnionType = Mat | StructValue) -> str | None:
    """The local that ``node`` is a part of, when it is one of these `kinds`."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) and isinstance(f.scope.values.get(node.id), kinds) else None


def guard(f: Frame, shape: tuple[int, ...], p: Part) -> None:
    """Emits checks of the run-time indices of `p` that are not proved to be in bounds."""
    e = f.emit
    for axis, at in p.dynamic:
        length = shape[axis]
        if indexing.in_range(at, length, f.c.ranges):
            continue
        low, high = e.let("ge", at, Const(0, at.type)), e.let("lt", at, Const(length, at.type))
        along = f" along axis {axis}" if len(shape) > 1 else ""
        message = ("index ", at, f" is out of bounds for {describe_shape(shape)}{along}")
        inside = e.let("band", low, high)
        e.builder.add(Assert(inside, message, e.builder.origin, code="out-of-bounds"))


def _static_key(f: Frame, owner: Opaque, keys: list[Value], node: ast.Subscript) -> object:
    plain = [k.value if isinstance(k, Const) else k for k in keys]
    if not all(isinstance(k, int | str | slice) for k in plain):
        what, help = "a Python container", "copy it to a field"
        held = owner.value.values() if isinstance(owner.value, Mapping) else owner.value
        if isinstance(owner.value, list | tuple | Mapping) and any(map(callable, held)):
            help = "write a `match` over the index, with a call in each case"
        if isinstance(owner.value, np.ndarray):
            name = ast.unparse(node.value)
            what, help = f"the NumPy array `{name}` from outside", advice.array_outside(name, owner.value)
        f.refuse("static", f"{what} can only be indexed at compile time", node, help=help)
    return plain[0] if len(plain) == 1 else tuple(plain)


def _of_sequence(
    f: Frame, items: Sequence[Value], keys: list[Value], node: ast.Subscript, hint: str
) -> Value:
    first = keys[0].value if isinstance(keys[0], Const) else f.emit.known(keys[0])
    if isinstance(first, slice):
        return items[first]
    if isinstance(first, int) and not isinstance(first, bool):
        if not -len(items) <= first < len(items):
            f.refuse("index", f"index {first} is outside {describe(items)}", node)
        rest = keys[1:]
        return _further(f, items[first], rest, node, hint)
    if all(is_scalar(v) or isinstance(v, Mat | tuple | list) for v in items):
        return of_matrix(f, matrix(f.emit, items), keys, node, hint)
    f.refuse("static", f"{describe(items)} can only be indexed at compile time", node)


def _further(f: Frame, value: Value, keys: list[Value], node: ast.Subscript, hint: str) -> Value:
    if not keys:
        return value
    if isinstance(value, Mat):
        return of_matrix(f, value, keys, node, hint)
    if isinstance(value, tuple | list):
        return _of_sequence(f, value, keys, node, hint)
    f.refuse("index", f"{describe(value)} cannot be indexed", node)


# ------------------------------------------------------------------ attributes


def attribute(f: Frame, node: ast.Attribute, hint: str = "t") -> Value:
    """The value of ``owner.name``: a component, a shape, a method, a Python attribute."""
    owner = f.place(node.value)
    if isinstance(owner, Opaque):
        return names.attribute(f, owner, node.attr, node)
    if isinstance(owner, FieldValue):
        return _of_field(f, owner, node)
    if isinstance(owner, StructFieldValue):
        return _of_struct_field(f, owner, node)
    if isinstance(owner, StructValue | StructElement | RecordValue):
        return struct_member(f, owner, node.attr, node)
    if isinstance(owner, list | tuple):
        owner = matrix(f.emit, owner) if owner and all(is_scalar(v) for v in owner) else owner
    if isinstance(owner, Mat | Element):
        return _of_matrix(f, owner, node)
    if is_scalar(owner) and node.attr in _SCALAR_METHODS:
        return Method(owner, node.attr, node.value)
    help = advice.method(node.attr)
    f.refuse("unknown-attribute", f"{describe(owner)} has no `{node.attr}`", node, help=help)


_SCALAR_METHODS = ("cast", "max", "min", "sum", "norm")


def _of_field(f: Frame, owner: FieldValue, node: ast.Attribute) -> Value:
    field = owner.field
    entry = tuple(field.entry_shape)
    known = {"shape": tuple(field.shape), "dtype": Opaque(field.dtype), "ndim": len(entry)}
    if entry:
        known |= {"n": entry[0], "m": entry[1] if len(entry) > 1 else 1}
    if node.attr in known:
        return known[node.attr]
    if node.attr in _COMPANIONS:
        which = _COMPANIONS[node.attr]
        companion = getattr(field, which, None) if field.dtype.is_float else None
        if companion is None or not companion.placed:
            _refuse_companion(f, owner, node)
        return FieldValue(companion, owner.name, owner.clamped)
    if node.attr in ("fill", "parent"):
        return Method(owner, node.attr, node.value)
    if node.attr == "snode":
        return names.imported(f, field.snode, None, node)
    others = ["fill", "shape", "dtype", "grad", "dual", *(("n", "m") if entry else ())]
    message = f"the field `{owner.name}` has no `{node.attr}` in a kernel"
    f.refuse("unknown-attribute", message, node, help=names.suggestion(node.attr, others))


_COMPANIONS = {"grad": "grad", "adjoint": "grad", "dual": "dual"}


def _refuse_companion(f: Frame, owner: FieldValue | StructFieldValue, node: ast.Attribute) -> NoReturn:
    keyword = "needs_dual" if node.attr == "dual" else "needs_grad"
    help = f"make the field with `{keyword}=True`"
    f.refuse("missing-gradient", f"the field `{owner.name}` has no `{node.attr}`", node, help=help)


def _of_struct_field(f: Frame, owner: StructFieldValue, node: ast.Attribute) -> Value:
    if node.attr in owner.keys:
        return names.member_field(f, owner, node.attr, node)
    if node.attr == "keys":
        return owner.keys
    if node.attr == "shape":
        return struct_shape(f, owner, node)
    if node.attr in _COMPANIONS:
        companion = getattr(owner.field, _COMPANIONS[node.attr])
        if not companion.placed:
            _refuse_companion(f, owner, node)
        return StructFieldValue(companion, owner.name)
    if node.attr in ("fill", "get_member_field"):
        return Method(owner, node.attr, node.value)
    structs.refuse_member(f, owner, node.attr, node)


def struct_shape(f: Frame, owner: StructFieldValue, node: ast.AST) -> tuple[int, ...]:
    """The shape of a struct field, which all its members must share."""
    if not owner.field.placed:
        f.refuse(
            "unplaced",
            f"the members of `{owner.name}` are not all placed with one shape",
            node,
            help=f"give it a shape, or `root.dense(…).place({owner.name})`",
        )
    return tuple(owner.field.shape)


def struct_member(
    f: Frame, owner: StructValue | StructElement | RecordValue, name: str, node: ast.AST
) -> Value:
    """A member of a struct or dataclass, or a method of its type."""
    if isinstance(owner, RecordValue):
        return records.member(f, owner, name, node)
    kind = owner.kind if isinstance(owner, StructValue) else owner.field.kind
    keys = tuple(owner.members) if isinstance(owner, StructValue) else owner.field.keys
    if name in keys:
        return owner.members[name] if isinstance(owner, StructValue) else member(f, owner, name)
    if kind is not None and kind.method(name) is not None:
        return Method(owner, name, node.value if isinstance(node, ast.Attribute) else node)
    if name == "keys":
        return keys
    if name == "items":
        of = owner.members if isinstance(owner, StructValue) else {k: member(f, owner, k) for k in keys}
        return tuple((k, of[k]) for k in keys)
    structs.refuse_member(f, owner, name, node)


def _of_matrix(f: Frame, owner: Mat | Element, node: ast.Attribute) -> Value:
    at = swizzle(f, owner.shape, node)
    if at is not None:
        return _components(f, owner, at)
    if node.attr in ("n", "m") and owner.shape:
        return (*owner.shape, 1)[0 if node.attr == "n" else 1]
    if node.attr == "shape" and owner.shape:
        return owner.shape
    if node.attr == "dtype" and owner.shape:
        return Opaque(owner.memory.type if isinstance(owner, Element) else f.emit.common(owner.entries))
    if not owner.shape and any(set(node.attr) <= set(letters) for letters in _SWIZZLES):
        refuse_component(f, owner, node)
    return Method(owner, node.attr, node.value)


def swizzle(f: Frame, shape: tuple[int, ...], node: ast.Attribute) -> list[int] | None:
    """The components that a swizzle names, or None when the attribute is not a swizzle."""
    for letters in _SWIZZLES:
        if len(node.attr) <= 4 and all(c in letters for c in node.attr) and len(shape) == 1:
            at = [letters.index(c) for c in node.attr]
            if max(at) >= shape[0]:
                message, last = f"a vector of {shape[0]} has no `{letters[max(at)]}`", letters[shape[0] - 1]
                f.refuse("index", message, node, help=f"its last component is `{last}`")
            return at
    return None


def _components(f: Frame, owner: Mat | Element, at: list[int]) -> Value:
    shape = (len(at),) if len(at) > 1 else ()
    picked = tuple(owner.entries[i] for i in at)
    if isinstance(owner, Element):
        return Element(owner.memory, owner.index, shape, picked, owner.clamped)  # type: ignore[arg-type]
    scalars: tuple[Scalar, ...] = picked  # type: ignore[assignment]
    return Mat(shape, scalars) if shape else scalars[0]
