"""Calls of funcs with ``template()`` parameters, which are passed by reference: the func may change them.

An element of a field is read and written in memory. A local, or a part of one, is copied in, and
copied out when it has changed.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsim.frontend.control.exits import assigned
from dsim.frontend.expressions import local_parts
from dsim.frontend.expressions.local_parts import LocalPart
from dsim.frontend.expressions.subscripts import root_local
from dsim.frontend.frames.frame import Frame
from dsim.frontend.inlining import funcs
from dsim.frontend.inlining.signatures import annotated
from dsim.frontend.source.paths import Surroundings
from dsim.frontend.values.indexing import Part
from dsim.frontend.values.structure import same
from dsim.frontend.values.types import is_template
from dsim.frontend.values.values import Poison, Value, is_scalar


@dataclass(frozen=True, slots=True)
class Reference:
    """A local, or a part of one, that is passed for a template parameter."""

    node: ast.expr
    part: LocalPart
    before: Value


def call(f: Frame, function: Any, node: ast.Call, hint: str, by_value: Callable[..., Any]) -> Value:
    """The value of a call of a func; `by_value` evaluates the arguments of one that changes none."""
    templates = _templates(f, function)
    given = _given(f, function, node) if templates else None
    if given is None:  # another check reports what is wrong with it
        args, keywords = by_value(f, node)
        return f.invoke(function, args, keywords, node, hint)
    changed = _changed(funcs.text_of(f, _python(function)[0]).node, templates)
    found: dict[str, Reference] = {}
    values: dict[str, Value] = {}
    for name, n in given.items():
        root = _root(f, n)
        if name in changed and root is not None:
            part = local_parts.find(f, root, n)  # its index is computed once
            values[name] = local_parts.read(f, part)
            found[name] = Reference(n, part, values[name])
        else:
            values[name] = _place(f, n) if name in templates else f.value(n)
    value, after = funcs.invoke_keeping(f, function, [], values, node, hint, frozenset(found))
    for name, reference in found.items():
        others = [n for k, n in given.items() if k in templates and k != name]
        _take_back(f, function, reference, after[name], others, found)
    return value


def _given(f: Frame, function: Any, node: ast.Call) -> dict[str, ast.expr] | None:
    """The argument of each parameter, in the order of the call; None when it cannot be determined."""
    python, first = _python(function)
    spec = funcs.text_of(f, python).node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)][first:]
    given = dict(zip(names, node.args, strict=False))
    for k in node.keywords:
        if k.arg is None or k.arg in given:
            return None
        given[k.arg] = k.value
    starred = any(isinstance(n, ast.Starred) for n in node.args)
    return None if starred or len(node.args) > len(names) else given


def _templates(f: Frame, function: Any) -> frozenset[str]:
    """The template parameters of a func that is inlined as it is."""
    if (
        getattr(function, "__dsim_func__", None) is None
        or getattr(function, "__dsim_rules__", None) is not None
    ):
        return frozenset()
    python, _ = _python(function)
    around = Frame(f.c, funcs.text_of(f, python), Surroundings(python))
    return frozenset(n for n, a in annotated(around, python).items() if is_template(a))


def _python(function: Any) -> tuple[types.FunctionType, int]:
    """The Python function of a func, and the number of its parameters that are bound to its owner."""
    python = function.__dsim_func__
    return (python.__func__, 1) if isinstance(python, types.MethodType) else (python, 0)


def _changed(node: ast.FunctionDef, names: frozenset[str]) -> frozenset[str]:
    """Those of `names` that the function may change: by assigning to them, or by passing them on."""
    found = set(assigned(node.body))
    for n in (n for s in node.body for n in ast.walk(s)):
        if isinstance(n, ast.Call):
            passed = [n.func] if isinstance(n.func, ast.Attribute) else []
            found |= {_name(a) for a in (*passed, *n.args, *(k.value for k in n.keywords))}
    return names & found


def _name(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _place(f: Frame, node: ast.expr) -> Value:
    with f.at(node):
        return f.place(node)


def _root(f: Frame, node: ast.expr) -> str | None:
    """The local that `node` is, or is a part of."""
    if isinstance(node, ast.Name) and is_scalar(f.scope.values.get(node.id)):
        return node.id
    return root_local(f, node)


def _take_back(
    f: Frame,
    function: Any,
    reference: Reference,
    after: Value,
    others: list[ast.expr],
    found: dict[str, Reference],
) -> None:
    """Assigns to a local the value that a func has given it."""
    after, part = f.load(after), reference.part
    if isinstance(after, Poison) or same(after, reference.before):
        return
    node, name = reference.node, part.name
    if name in f.templates - f.kept:
        message = f"`{f.name}` assigns to its template parameter `{name}`"
        f.refuse("argument", message, node, help="copy it to a local first")
    parts = {id(r.node): r.part for r in found.values()}
    for other in others:
        if _root(f, other) == name and _may_meet(part, parts.get(id(other))):
            f.refuse(
                "argument",
                f"`{function.__dsim_func__.__name__}` changes `{name}`, which is passed to it twice",
                other,
                help="copy it to a second local, and pass that",
            )
    with f.at(node):
        local_parts.write(f, part, after, node)


def _may_meet(a: LocalPart, b: LocalPart | None) -> bool:
    """Whether two parts of one local may overlap."""
    if b is None or any(x != y for x, y in zip(a.members, b.members, strict=False)):
        return b is None
    return _entries_may_meet(a.entries, b.entries)


def _entries_may_meet(a: Part | None, b: Part | None) -> bool:
    if a is None or b is None or a.dynamic or b.dynamic:
        return True
    return not set(a.picks).isdisjoint(b.picks)
