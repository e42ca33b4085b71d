"""Dataclasses that a kernel makes: ``Sphere(center, 2.0)``, ``replace(s, radius=r)``.

Nothing changes a member of one, so it makes no difference that Python would share it where a kernel copies.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from dsim.frontend.expressions import overloads, structs
from dsim.frontend.expressions.records import RecordType, is_record, record_type
from dsim.frontend.frames import names
from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.types import matrix_type, scalar_type, struct_type
from dsim.frontend.values.values import Opaque, RecordValue, Value, describe


def make(
    f: Frame, kind: type, args: Sequence[Value], keywords: Mapping[str, Value], node: ast.AST
) -> RecordValue:
    """``kind(…)``: members that are annotated with a type of numbers are converted to it."""
    _refuse_own(f, kind, node)
    try:
        given = inspect.signature(kind).bind(*args, **keywords).arguments
    except TypeError as error:
        f.refuse("argument", f"wrong arguments for `{kind.__name__}`: {error}", node)
    types = record_type(kind, kind.__name__, _unknown).members
    members: dict[str, Value] = {}
    for field in dataclasses.fields(kind):
        value = given[field.name] if field.name in given else _default(f, kind, field, node)
        members[field.name] = _typed(f, value, types[field.name], f"{kind.__name__}.{field.name}")
    return RecordValue(kind, kind.__name__, members)


def _unknown(text: str) -> None:
    """The type of a member whose annotation is a string that does not name one."""


def _refuse_own(f: Frame, kind: type, node: ast.AST) -> None:
    """Refuses a class whose instances Python would make with code of the person's."""
    own = [name for name in ("__new__", "__post_init__") if inspect.isfunction(getattr(kind, name, None))]
    made = getattr(kind, "__init__", None)
    if not inspect.isfunction(made) or not overloads.is_generated(made):
        own.append("__init__")
    if own:
        help = "compute its members before and pass them, or make it a property"
        message = f"kernels do not run the `{own[0]}` of `{kind.__name__}`"
        f.refuse("unknown-function", message, node, help=help)


def _default(f: Frame, kind: type, field: dataclasses.Field[Any], node: ast.AST) -> Value:
    if field.default is not dataclasses.MISSING:
        return names.imported(f, field.default, None, node)
    factory: Any = field.default_factory
    if factory is dataclasses.MISSING:
        message = f"`{kind.__name__}.{field.name}` gets no value"
        f.refuse("argument", message, node, help="give it a default, or let it be passed")
    if dataclasses.is_dataclass(factory) and isinstance(factory, type):
        return make(f, factory, (), {}, node)
    return f.c.language.apply(f, Opaque(factory), [], node)


def _typed(f: Frame, value: Value, annotation: Any, what: str) -> Value:
    """`value` as the member `what`; annotations that are no types of numbers have no effect."""
    if isinstance(annotation, RecordType):
        return value
    known = (scalar_type(annotation, f.emit.settings), matrix_type(annotation), struct_type(annotation))
    return value if known == (None, None, None) else structs.typed(f, value, annotation, what)


def replaced(f: Frame, args: Sequence[Value], keywords: Mapping[str, Value], node: ast.AST) -> RecordValue:
    """``dataclasses.replace(record, name=value)``."""
    given = args[0] if len(args) == 1 else None
    if isinstance(given, RecordValue):
        kind, members = given.kind, dict(given.members)
    elif isinstance(given, Opaque) and is_record(type(given.value)):
        kind = type(given.value)
        members = {d.name: names.attribute(f, given, d.name, node) for d in dataclasses.fields(kind)}
    else:
        what = describe(given) if args else "nothing"
        f.refuse("argument", f"`replace` takes a dataclass and new values of members, got {what}", node)
    unknown = next((name for name in keywords if name not in members), None)
    if unknown is not None:
        help = names.suggestion(unknown, list(members))
        f.refuse("unknown-attribute", f"`{kind.__name__}` has no member `{unknown}`", node, help=help)
    return make(f, kind, (), {**members, **keywords}, node)


def parent(f: Frame, node: ast.AST) -> Value:
    """``super()`` in a method: what it is called on, with the methods of the classes above."""
    cell, spec = f.surroundings.cells.get("__class__"), f.text.node.args
    first = [*spec.posonlyargs, *spec.args]
    if cell is None or not first:
        f.refuse("unknown-function", "`super()` works only in methods", node)
    owner = f.scope.values.get(first[0].arg)
    if isinstance(owner, RecordValue):
        return RecordValue(owner.kind, owner.name, owner.members, cell.cell_contents)
    if isinstance(owner, Opaque):
        return Opaque(super(cell.cell_contents, owner.value))
    f.refuse("unknown-function", f"`super()` does not work on {describe(owner)}", node)
