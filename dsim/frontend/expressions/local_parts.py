"""Parts of locals that are changed: members of structs, entries of vectors and matrices."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from dsim.frontend.expressions import subscripts
from dsim.frontend.expressions.elements import cast_local
from dsim.frontend.expressions.local_values import converted, fixed, is_open, shown
from dsim.frontend.expressions.shared_locals import refuse_shared
from dsim.frontend.expressions.structs import refuse_member
from dsim.frontend.frames.frame import Frame
from dsim.frontend.values import indexing, operators
from dsim.frontend.values.indexing import Part, part
from dsim.frontend.values.values import Mat, StructValue, Value, component_names, describe, size
from dsim.records import record


@record
class LocalPart:
    """A part of a local: the member at the end of `members`, and these entries of it (None: all)."""

    name: str
    members: tuple[str, ...]
    entries: Part | None

    @property
    def text(self) -> str:
        """The member as source text."""
        return ".".join((self.name, *self.members))


def refuse_item(f: Frame, name: str, node: ast.AST) -> None:
    """Refuses to change `name` in place where it is an item of a sequence: only a copy would change."""
    if name in f.scope.items and isinstance(f.scope.values[name], Mat | StructValue):
        f.refuse(
            "type",
            f"`{name}` is an item of a sequence: changing it here would change a copy only",
            node,
            help="copy it to a local of another name, or unroll the loop by hand",
        )


def find(f: Frame, name: str, target: ast.expr) -> LocalPart:
    """The part of the local `name` that `target` designates and the statement changes."""
    refuse_item(f, name, target)
    value, members = f.scope.values[name], []
    steps = _steps(target)
    while steps and isinstance(value, StructValue):
        members.append(_member(f, value, steps.pop(0)))
        value = value.members[members[-1]]
    found = LocalPart(name, tuple(members), None)
    if not steps:
        return found
    if not isinstance(value, Mat):
        f.refuse("type", f"`{found.text}` is {describe(value)}, and has no parts", target)
    return LocalPart(name, found.members, _entries(f, found, value, steps))


def _steps(target: ast.expr) -> list[ast.Subscript | ast.Attribute]:
    """The subscripts and attributes of ``v.a[i].x``, from the local outwards."""
    found: list[ast.Subscript | ast.Attribute] = []
    while isinstance(target, ast.Subscript | ast.Attribute):
        found.insert(0, target)
        target = target.value
    return found


def _member(f: Frame, s: StructValue, step: ast.Subscript | ast.Attribute) -> str:
    if isinstance(step, ast.Attribute):
        name = step.attr
    else:
        keys = subscripts.indices(f, step.slice)
        if len(keys) != 1 or not isinstance(keys[0], str):
            f.refuse("index", f"{describe(s)} has no elements", step, help="name a member: `p.x`")
        name = keys[0]
    if name not in s.members:
        refuse_member(f, s, name, step)
    return name


def _entries(f: Frame, p: LocalPart, m: Mat, steps: Sequence[ast.Subscript | ast.Attribute]) -> Part:
    """The entries of the vector or matrix `m` that `steps` lead to."""
    found = part(f.emit, m.shape, _keys(f, steps, m.shape), f"`{p.text}`")
    if found.dynamic:
        if size(m.shape) > subscripts.SMALL:
            if not p.members:
                f.in_memory(p.name)
            f.emit.refuse(
                "limit", f"`{p.text}` is too large to be changed by this index", help="copy it to a local"
            )
        subscripts.guard(f, m.shape, found)
    return found


def _keys(f: Frame, steps: Sequence[ast.Subscript | ast.Attribute], shape: tuple[int, ...]) -> list[Value]:
    """The indices of ``v[i][j]``, ``v.x``."""
    keys: list[Value] = []
    for step in steps:
        if any(isinstance(k, slice | list) for k in keys):
            f.refuse(
                "index", "a part of a part cannot be assigned", step, help="name the entries in one step"
            )
        if isinstance(step, ast.Subscript):
            keys += subscripts.indices(f, step.slice)
            continue
        at = subscripts.swizzle(f, shape[len(keys) :], step)
        if at is None or len(set(at)) < len(at):
            f.refuse("unknown-attribute", f"`.{step.attr}` cannot be assigned", step)
        keys.append(at[0] if len(at) == 1 else at)
    return keys


def read(f: Frame, p: LocalPart) -> Value:
    """The current value of the part."""
    value = f.scope.values[p.name]
    for key in p.members:
        value = value.members[key]
    return value if p.entries is None else indexing.pick(f.emit, value, p.entries)


def write(f: Frame, p: LocalPart, value: Value, node: ast.AST) -> None:
    """Sets the part to `value`."""
    refuse_shared(f, p.name, node)
    f.bind(p.name, _replaced(f, p, f.scope.values[p.name], p.members, value, node), node)


def _replaced(
    f: Frame, p: LocalPart, old: Value, members: Sequence[str], value: Value, node: ast.AST
) -> Value:
    """`old` with `value` in the place of its part that is reached by `members`."""
    if members:
        key = members[0]
        inner = _replaced(f, p, old.members[key], members[1:], value, node)
        return StructValue({**old.members, key: inner}, old.kind)
    if p.entries is not None:
        return _with_entries(f, p, old, p.entries, value, node)
    if is_open(old):
        return shown(f, p.text, fixed(f, p.text, value, node), node)
    return shown(f, p.text, converted(f, p.text, value, old), node)


def _with_entries(f: Frame, p: LocalPart, m: Mat, entries: Part, value: Value, node: ast.AST) -> Mat:
    t = f.emit.type_of(m.entries[0])
    given = operators.operand(f.emit, value, "=")
    if isinstance(given, Mat) and given.shape != entries.shape:
        f.emit.refuse("shape", f"{describe(Mat(entries.shape, ()))} cannot become {describe(given)}")
    spread = list(given.entries) if isinstance(given, Mat) else [given] * len(entries.picks)
    casted = [cast_local(f, s, t, p.name, "t") for s in spread]
    if f.shows is not None:
        span = f.span(node)
        casted = f.shows.atoms(span.text, casted, entries.shape if len(casted) > 1 else (), span)
    return indexing.replaced(f.emit, m, entries, casted, component_names(p.text, m.shape))
