"""Dataclasses as parameters: each member is a separate parameter.

A kernel's signature makes the `RecordType` once, when the kernel is defined: so launches and the frontend
use the same class, even if its name was rebound.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import inspect
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dsim.frontend.frames import names
from dsim.frontend.frames.frame import Frame
from dsim.frontend.source.captures import is_function
from dsim.frontend.source.paths import Path
from dsim.frontend.values.values import Opaque, Partial, RecordValue, Value, describe, listed

Evaluate = Callable[[str], Any]


@dataclass(frozen=True, eq=False)
class RecordType:
    """The type of a parameter annotated with a dataclass.

    Attributes
    ----------
    kind : type
        The class.
    name : str
        What the user calls the parameter, or the member: ``p``, ``p.inner``.
    members : mapping of str to object
        The annotations of the members; None of one that is not known, a `RecordType` of a dataclass.
    """

    kind: type
    name: str
    members: Mapping[str, Any]

    def leaves(self) -> Iterator[tuple[str, Any]]:
        """Name and annotation of each parameter that it expands to: ``("p.inner.x", f32)``."""
        for member, annotation in self.members.items():
            if isinstance(annotation, RecordType):
                yield from annotation.leaves()
            else:
                yield f"{self.name}.{member}", annotation

    def copied(self, record: Any, copy_member: Callable[[Any], Any]) -> Any:
        """A copy of `record` with copies of its members; of another class `record` itself."""
        if not isinstance(record, self.kind):
            return record  # launches refuse it
        made = copy.copy(record)
        for name, annotation in self.members.items():
            if hasattr(record, name):
                given = getattr(record, name)
                inner = isinstance(annotation, RecordType)
                value = annotation.copied(given, copy_member) if inner else copy_member(given)
                object.__setattr__(made, name, value)  # it may be frozen
        return made


def is_record(annotation: object) -> bool:
    """Whether an annotation is a class made by `dataclasses.dataclass`."""
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def record_type(kind: type, name: str, evaluate: Evaluate, around: tuple[type, ...] = ()) -> RecordType:
    """The type of the parameter `name`; `evaluate` resolves string annotations."""
    members: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        annotation = field.type
        if isinstance(annotation, str):
            annotation = _evaluated(kind, field.name, annotation, evaluate)
        if is_record(annotation) and annotation not in (*around, kind):
            annotation = record_type(annotation, f"{name}.{field.name}", evaluate, (*around, kind))
        members[field.name] = annotation
    return RecordType(kind, name, members)


def _evaluated(kind: type, member: str, text: str, evaluate: Evaluate) -> Any:
    owner = next((c for c in kind.__mro__ if member in inspect.get_annotations(c)), kind)
    module = sys.modules.get(owner.__module__)
    try:
        return eval(
            text, vars(module) if module else {}, dict(vars(owner))
        )  # as `typing.get_type_hints` does
    except (NameError, AttributeError, TypeError):
        return evaluate(text)


def member(f: Frame, owner: RecordValue, name: str, node: ast.AST) -> Value:
    """A member of a dataclass, or an attribute of its class."""
    if name in owner.members and owner.after is None:
        return owner.members[name]
    found = _of_class(owner, name)
    is_operator = inspect.isfunction(found) and (hasattr(operator, name) or name == "__call__")
    if found is None or (name.startswith("__") and not is_operator):
        help = names.suggestion(name, list(owner.members)) or f"its members are {listed(owner.members)}"
        f.refuse("unknown-attribute", f"`{owner.name}` has no `{name}`", node, help=help)
    itself = dataclasses.replace(owner, after=None)
    if isinstance(found, property | functools.cached_property):  # its members never change
        return f.invoke(found.fget if isinstance(found, property) else found.func, [itself], {}, node, name)
    if inspect.isfunction(found) or is_function(found):
        return Partial(found, (itself,), {})
    kind = owner.kind
    held: Any = kind if owner.after is None else super(owner.after, kind)
    path = f.c.captures.rooted(Path(kind.__name__, lambda: held), id(kind), f.name).attribute(name)
    return names.imported(f, getattr(held, name), path, node)


def _of_class(owner: RecordValue, name: str) -> Any:
    """The attribute of the class of `owner`, or of a class that it inherits from, before it is bound."""
    kinds = owner.kind.__mro__
    if owner.after is not None:
        kinds = kinds[kinds.index(owner.after) + 1 :]
    return next((vars(kind)[name] for kind in kinds if name in vars(kind)), None)


def check(f: Frame, function: str, name: str, value: Value, kind: type) -> None:
    """Refuses the argument `name` of a func, annotated with the dataclass `kind`, if it is not one."""
    given = value.kind if isinstance(value, RecordValue) else None
    if isinstance(value, Opaque) and not isinstance(value.value, type):
        given = type(value.value)
    if given is None or not issubclass(given, kind):
        message = f"`{function}` takes the dataclass `{kind.__name__}` as `{name}`, got {describe(value)}"
        f.emit.refuse("type", message)
