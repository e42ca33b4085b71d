"""Methods of structs: funcs whose first parameter is the struct itself, which they may change.

Called on a part of a local, the part is replaced by the changed struct; called on an element of a field, the
members are read and written in memory.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dsim.frontend.control.exits import assigned
from dsim.frontend.expressions import local_parts
from dsim.frontend.expressions.subscripts import root_local
from dsim.frontend.frames.frame import Frame
from dsim.frontend.inlining import callables, funcs, references
from dsim.frontend.source.source import read
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.frontend.values.structure import same
from dsim.frontend.values.types import struct_type
from dsim.frontend.values.values import Method, Poison, StructElement, StructValue, Value, describe


def call(f: Frame, method: Method, node: ast.Call, hint: str, by_value: Callable[..., Any]) -> Value:
    """``owner.method(…)``; `by_value` evaluates the arguments of one without template parameters."""
    owner: StructValue | StructElement = method.owner
    kind = owner.kind if isinstance(owner, StructValue) else owner.field.kind
    assert kind is not None
    function = callables.of(kind.method(method.name))
    if function is None:
        message = f"`{method.name}` of {describe(owner)} is not a function that kernels can call"
        f.refuse("unknown-function", message, node, help="write it with `def` in the class")
    given = references.passed(f, function, node, 1)
    args, keywords = by_value(f, node) if given is None else ([], given.values)
    name = root_local(f, method.node, StructValue)
    part = None if name is None or name in f.scope.items else local_parts.find(f, name, method.node)
    if part is not None:  # an argument may have changed it
        owner = local_parts.read(f, part)
    kept = frozenset[str]() if given is None else frozenset(given.found)
    value, after = funcs.invoke_method(f, function, [owner, *args], keywords, node, hint, kept)
    own = funcs.owner_of(function)
    if given is not None and part is not None:
        given.belongs_to(own, references.Reference(method.node, part, owner))
    if _is_changed(owner, after[own]):
        if given is not None and part is not None:
            references.check_apart(f, given, own)
        _give_back(f, method, after[own], node)
    if given is not None:
        references.take_back(f, given, after)
    return value


def _is_changed(owner: StructValue | StructElement, after: Value) -> bool:
    """Whether a method has changed its struct, which is not in memory."""
    return not isinstance(owner, StructElement) and not isinstance(after, Poison) and not same(after, owner)


def apply(f: Frame, method: Method, args: list[Value], node: ast.AST) -> Value:
    """The value of an operator that the struct's type defines, which must not change the struct."""
    function = callables.of(method.owner.kind.method(method.name))
    value, after = funcs.invoke_method(f, function, [method.owner, *args], {}, node, "t")
    if _is_changed(method.owner, after[funcs.owner_of(function)]):
        message = f"`{method.name}` changes {describe(method.owner)}, and an operator only computes"
        f.refuse("type", message, node, help="make it a method of another name, and call that")
    return value


def _give_back(f: Frame, method: Method, after: Value, node: ast.Call) -> None:
    """Assigns the struct that a method changed to the local that it was called on."""
    place: ast.expr = method.node
    if isinstance(place, ast.Call) and struct_type(f.place(place.func)) is not None:
        return  # `Ball(…).push()`: a temporary
    name = root_local(f, place, StructValue)
    if name is None or name in f.templates - f.kept:
        f.refuse(
            "type",
            f"`{method.name}` changes its struct, and {describe(method.owner)} cannot be changed here",
            node,
            help="copy it to a local of this function, and call the method on that",
        )
    with f.at(place):
        local_parts.write(f, local_parts.find(f, name, place), after, place)


# ------------------------------------------------------------------ which locals methods change


def changed(f: Frame, statements: Iterable[ast.stmt]) -> list[str]:
    """The locals whose methods, called in `statements`, change them."""
    found: dict[str, None] = {}
    for node in (n for s in statements for n in ast.walk(s)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = root_local(f, node.func, StructValue)
            if name is not None and _changes(f, f.scope.values[name], node.func.attr):
                found.setdefault(name)
    return list(found)


def _changes(f: Frame, owner: StructValue, method: str) -> bool:
    """Whether a method of this name, of the struct or of one in it, may change it."""
    return any(_changes_owner(f, m, kind, ()) for kind, m in _methods(owner.kind, method))


def _methods(kind: StructTypeBase | None, name: str) -> Iterator[tuple[StructTypeBase, Any]]:
    if kind is None:
        return
    if kind.method(name) is not None:
        yield kind, kind.method(name)
    for _, inner in kind.members:
        if isinstance(inner, StructTypeBase):
            yield from _methods(inner, name)


def _changes_owner(f: Frame, function: Any, kind: StructTypeBase, around: tuple[Any, ...]) -> bool:
    """Whether `function`, a method of `kind`, assigns to its first parameter or calls one that does."""
    function = callables.of(function)
    if function in around or not hasattr(function, "__dsim_func__"):
        return False
    python = function.__dsim_func__
    body, owner = read(python).node.body, funcs.owner_of(function)
    if owner in assigned(body):
        return True
    for node in (n for s in body for n in ast.walk(s)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _root(node.func) == owner:
            inner = _methods(kind, node.func.attr)
            if any(_changes_owner(f, m, k, (*around, function)) for k, m in inner):
                return True
    return False


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
