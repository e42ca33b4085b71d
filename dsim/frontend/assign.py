"""Giving values to targets: locals, entries of locals, elements of fields, several at once."""

from __future__ import annotations

import ast

from dsim.frontend import indexing, operators, subscripts
from dsim.frontend.elements import cast, store
from dsim.frontend.frame import Frame
from dsim.frontend.indexing import Part, part
from dsim.frontend.items import items
from dsim.frontend.structure import fits, labels, rebuilt, scalars
from dsim.frontend.values import (
    Element,
    Field,
    Grid,
    Mat,
    Method,
    Opaque,
    Range,
    Unrolled,
    Value,
    component_names,
    describe,
    filled,
    is_scalar,
    size,
)
from dsim.ir.nodes import Atom, Const, Local
from dsim.ir.types import ScalarType


def assign(f: Frame, target: ast.expr, value: Value, node: ast.AST) -> None:
    """``target = value``; `value` is loaded already."""
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
        f.refuse("type", f"{describe(value)} cannot be taken apart", target)
    parts = items(f, value, target)
    if any(isinstance(t, ast.Starred) for t in target.elts):
        f.refuse("syntax", "kernels have no `*` in assignments", target, help="name every value")
    if len(parts) != len(target.elts):
        f.refuse("argument", f"{len(target.elts)} names for {len(parts)} values", target)
    for t, v in zip(target.elts, parts, strict=True):
        if not _thrown_away(f, t):
            assign(f, t, v, node)


def _thrown_away(f: Frame, target: ast.expr) -> bool:
    """Whether `target` is a ``_`` that nothing reads: then it may stand for values of any types."""
    if not isinstance(target, ast.Name) or target.id != "_":
        return False
    names = (n for n in ast.walk(f.text.node) if isinstance(n, ast.Name) and n.id == "_")
    return all(isinstance(n.ctx, ast.Store) for n in names)


# ------------------------------------------------------------------ locals


def assign_name(
    f: Frame, target: ast.Name, value: Value, node: ast.AST, type: ScalarType | None = None
) -> None:
    """``name = value``: the first assignment fixes the type, later ones cast."""
    name = target.id
    old = f.scope.values.get(name)
    if isinstance(old, Element):
        store(f, old, value)
        return
    if old is not None and scalars(old) and not _open(old):
        value = converted(f, name, value, old)
    else:
        value = fixed(f, name, value, target, type)
        if isinstance(value, Mat) and (f.name, name) in f.c.buffered:
            value = buffered(f, name, value)
    f.bind(name, value, target)
    record(f, name, value, target)


def _open(value: Value) -> bool:
    """Whether a name stands for Python numbers only (a static loop's index): it has no type yet."""
    return any(isinstance(s, int | float) for s in scalars(value))


def buffered(f: Frame, name: str, value: Mat) -> Element:
    """`value` in a private memory of its own."""
    buffer = f.c.memories.buffer(name, f.emit.common(value.entries), value.shape)
    for at, entry in zip(buffer.entries, value.entries, strict=True):
        if not (isinstance(entry, Const) and entry.value == 0):  # a new buffer holds zeros
            store(f, Element(buffer.memory, (), (), (at,)), entry)
    return buffer


def fixed(f: Frame, name: str, value: Value, node: ast.AST, type: ScalarType | None = None) -> Value:
    """`value` as a new local holds it: numbers get types, lists become vectors."""
    if is_scalar(value):
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
    if isinstance(value, tuple | list):
        parts = (fixed(f, f"{name}_{i}", v, node) for i, v in enumerate(value))
        return tuple(parts)
    if value is None:
        f.refuse("type", f"`{name}` would be None: the right side gives no value", node)
    if isinstance(value, str):
        f.refuse(
            "type",
            "kernels have no strings but in `print` and `assert`",
            node,
            help="number the cases, or decide outside the kernel",
        )
    if isinstance(value, Field | Opaque | Unrolled | Grid | Range | Method) or callable(value):
        return value
    f.refuse("type", f"{describe(value)} cannot be kept in a local", node)


def converted(f: Frame, name: str, value: Value, old: Value) -> Value:
    """`value` as the local that holds `old` takes it: in the types of `old`."""
    if isinstance(value, list) or (isinstance(value, tuple) and isinstance(old, Mat)):
        value = operators.operand(f.emit, value, "=")
    if isinstance(old, Mat) and is_scalar(value):
        value = filled(old.shape, value)
    if not fits(value, old):
        f.emit.refuse(
            "shape",
            f"`{name}` is {describe(old)}, and stays one; the right side is {describe(value)}",
            help="use another name",
        )
    pairs = zip(scalars(value), scalars(old), labels(name, old), strict=True)
    atoms = [_cast_local(f, s, f.emit.type_of(o), name, label) for s, o, label in pairs]
    return rebuilt(old, iter(atoms))


def _cast_local(f: Frame, s: Value, to: ScalarType, name: str, label: str) -> Atom:
    if f.emit.rounds(s, to):
        f.emit.warn(
            "type-change",
            f"a float becomes an integer here: `{name}` is an {to} since its first assignment",
            help=f"start `{name}` as a float, or cast with `int(…)`",
        )
    return f.emit.atom(s, to, label)


def record(f: Frame, name: str, value: Value, node: ast.AST) -> None:
    """Notes which scalars make up a local now, for probes."""
    shape = value.shape if isinstance(value, Mat) else ()
    parts = scalars(value)
    if is_scalar(value) or isinstance(value, Mat):
        f.c.locals.append(Local(name, shape, tuple(f.emit.atom(s) for s in parts), f.span(node)))


# ------------------------------------------------------------------ entries


def _entry(f: Frame, target: ast.Subscript | ast.Attribute, value: Value) -> None:
    local = subscripts.root_local(f, target)
    with f.at(target):
        if local is None:
            store(f, element(f, target), value)
        else:
            set_part(f, local, local_part(f, local, target), value, target)


def element(f: Frame, target: ast.expr) -> Element:
    """The element of a memory that `target` names, to be written."""
    found = f.place(target)
    if not isinstance(found, Element):
        what = f"the whole of {describe(found)}" if isinstance(found, Field) else describe(found)
        f.refuse(
            "type", f"{what} cannot be written", target, help="write to an element of a field, as in `x[i]`"
        )
    return found


def local_part(f: Frame, name: str, target: ast.expr) -> Part:
    """Which entries of the local `name` are meant by `target`."""
    m = f.scope.values[name]
    assert isinstance(m, Mat)
    keys = _keys(f, target, m.shape)
    p = part(f.emit, m.shape, keys, f"`{name}`")
    if p.dynamic:
        if size(m.shape) > subscripts.SMALL:
            f.in_memory(name)
            f.emit.refuse(
                "limit", f"`{name}` is too large to be changed by this index", help="copy it to a local"
            )
        subscripts.guard(f, m.shape, p)
    return p


def _keys(f: Frame, target: ast.expr, shape: tuple[int, ...]) -> list[Value]:
    """The indices of ``v[i][j]``, ``v.x``, from the local outwards."""
    if isinstance(target, ast.Name):
        return []
    assert isinstance(target, ast.Subscript | ast.Attribute)
    before = _keys(f, target.value, shape)
    if any(isinstance(k, slice | list) for k in before):
        f.refuse("index", "a part of a part cannot be assigned", target, help="name the entries in one step")
    if isinstance(target, ast.Subscript):
        return [*before, *subscripts.indices(f, target.slice)]
    at = subscripts.swizzle(f, shape[len(before) :], target)
    if at is None or len(set(at)) < len(at):
        f.refuse("unknown-attribute", f"`.{target.attr}` cannot be assigned", target)
    return [*before, at[0] if len(at) == 1 else at]


def set_part(f: Frame, name: str, p: Part, value: Value, target: ast.expr) -> None:
    """The entries `p` of the local `name` become `value`."""
    m = f.scope.values[name]
    t = f.emit.type_of(m.entries[0])
    given = operators.operand(f.emit, value, "=")
    if isinstance(given, Mat) and given.shape != p.shape:
        f.emit.refuse("shape", f"{describe(Mat(p.shape, ()))} cannot become {describe(given)}")
    spread = list(given.entries) if isinstance(given, Mat) else [given] * len(p.picks)
    casted = [cast(f, s, t, name) for s in spread]
    new = indexing.replaced(f.emit, m, p, casted, component_names(name, m.shape))
    f.bind(name, new, target)
    record(f, name, new, target)
