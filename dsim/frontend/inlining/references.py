"""Calls of funcs with ``template()`` parameters, which are passed by reference: the func may change them.

An element of a field is read and written in memory. A local, or a part of one, is copied in, and
copied out when it has changed.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dsim.frontend.control.exits import assigned
from dsim.frontend.expressions import local_parts
from dsim.frontend.expressions.local_parts import LocalPart
from dsim.frontend.expressions.subscripts import root_local
from dsim.frontend.frames.frame import Frame
from dsim.frontend.inlining import funcs
from dsim.frontend.inlining.callables import Plain
from dsim.frontend.inlining.signatures import annotated
from dsim.frontend.source.paths import Surroundings
from dsim.frontend.source.source import read
from dsim.frontend.values.indexing import Part
from dsim.frontend.values.structure import same
from dsim.frontend.values.types import is_template
from dsim.frontend.values.values import Partial, Poison, StructValue, Value, is_scalar
from dsim.records import record


@record
class Reference:
    """A local, or a part of one, that is passed for a template parameter."""

    node: ast.expr
    part: LocalPart
    before: Value


@dataclass(slots=True)
class Passed:
    """The arguments of one call of a func with template parameters.

    Attributes
    ----------
    name : str
        That of the func.
    values : dict
        The argument of each parameter.
    nodes : dict
        The syntax nodes of those that are passed by reference.
    found : dict
        The locals among these that the func may change.
    """

    name: str
    values: dict[str, Value]
    nodes: dict[str, ast.expr]
    found: dict[str, Reference]

    def belongs_to(self, own: str, owner: Reference) -> None:
        """Notes the struct of a method, the parameter `own`, which is passed by reference, too."""
        self.nodes[own], self.found[own] = owner.node, owner


def call(f: Frame, function: Any, node: ast.Call, hint: str, by_value: Callable[..., Any]) -> Value:
    """The value of a call of a func; `by_value` evaluates the arguments of one that changes none."""
    called, held = function, ()
    if isinstance(function, Partial) and not function.keywords:  # the method of a dataclass
        called, held = function.function, function.args
    given = passed(f, called, node, len(held))
    if given is None:
        args, keywords = by_value(f, node)
        return f.invoke(function, args, keywords, node, hint)
    kept = frozenset(given.found)
    value, after = funcs.invoke_keeping(f, called, list(held), given.values, node, hint, kept)
    take_back(f, given, after)
    return value


def passed(f: Frame, function: Any, node: ast.Call, held: int) -> Passed | None:
    """The arguments of a call of a func that has template parameters; None for any other call.

    The first parameters, `held` of them, are not among the arguments: the struct of a method.
    """
    templates = _templates(f, function)
    given = _given(f, function, node, held) if templates else None
    if given is None:  # another check reports what is wrong with it
        return None
    made = Passed(function.__dsim_func__.__name__, {}, {n: a for n, a in given.items() if n in templates}, {})
    changed = _changed(read(_python(function)[0]).node, templates)
    for name, n in given.items():
        root = _root(f, n)
        if name in changed and root is not None:
            part = local_parts.find(f, root, n)  # its index is computed once
            made.values[name] = local_parts.read(f, part)
            made.found[name] = Reference(n, part, made.values[name])
        else:
            made.values[name] = _place(f, n) if name in templates else f.value(n)
    return made


def take_back(f: Frame, given: Passed, after: Mapping[str, Value]) -> None:
    """Assigns to the locals of a call the values that the func has given them."""
    for name, reference in given.found.items():
        if name not in given.values:
            continue  # the struct of a method
        value = f.load(after[name])
        if not isinstance(value, Poison) and not same(value, reference.before):
            _check_template(f, reference)
            check_apart(f, given, name)
            with f.at(reference.node):
                local_parts.write(f, reference.part, value, reference.node)


def _given(f: Frame, function: Any, node: ast.Call, held: int) -> dict[str, ast.expr] | None:
    """The argument of each parameter, in the order of the call; None when it cannot be determined."""
    python, first = _python(function)
    spec = read(python).node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)][first + held :]
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
        or isinstance(function, Plain)
        or getattr(function, "__dsim_rules__", None) is not None
    ):
        return frozenset()
    python, _ = _python(function)
    around = Frame(f.c, read(python), Surroundings(python))
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


def _check_template(f: Frame, reference: Reference) -> None:
    """Refuses a change of a template parameter of the caller, to which nothing can be assigned here."""
    name = reference.part.name
    if name in f.templates - f.kept:
        message = f"`{f.name}` assigns to its template parameter `{name}`"
        f.refuse("argument", message, reference.node, help="copy it to a local first")


def check_apart(f: Frame, given: Passed, name: str) -> None:
    """Refuses a changed argument, that of the parameter `name`, which another argument overlaps."""
    part = given.found[name].part
    for key, other in given.nodes.items():
        if key == name or _root(f, other) != part.name:
            continue
        reference = given.found.get(key)
        if _may_meet(part, _member(f, part.name, other) if reference is None else reference.part):
            f.refuse(
                "argument",
                f"`{given.name}` changes `{part.name}`, which is passed to it twice",
                other,
                help="copy it to a second local, and pass that",
            )


def _member(f: Frame, name: str, node: ast.expr) -> LocalPart:
    """The member of the local `name` that `node` is, or is a part of."""
    steps: list[ast.expr] = []
    while isinstance(node, ast.Subscript | ast.Attribute):
        steps.insert(0, node)
        node = node.value
    value, members = f.scope.values[name], list[str]()
    for step in steps:
        if not isinstance(step, ast.Attribute) or not isinstance(value, StructValue):
            break
        value = value.members[step.attr]
        members.append(step.attr)
    return LocalPart(name, tuple(members), None)


def _may_meet(a: LocalPart, b: LocalPart) -> bool:
    """Whether two parts of one local may overlap."""
    if any(x != y for x, y in zip(a.members, b.members, strict=False)):
        return False
    return _entries_may_meet(a.entries, b.entries)


def _entries_may_meet(a: Part | None, b: Part | None) -> bool:
    if a is None or b is None or a.dynamic or b.dynamic:
        return True
    return not set(a.picks).isdisjoint(b.picks)
