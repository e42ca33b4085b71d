"""Types of numbers, vectors and structs of the plain interpreter, and values of structs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.fuzz.oracle import numbers
from tests.fuzz.oracle.vectors import Array


@dataclass(frozen=True)
class Kind:
    """A type of numbers; called, it casts."""

    integers: bool
    bits: int

    def __call__(self, value):
        return (numbers.truncated if self.integers else numbers.cast)(value, self.bits)

    kept = __call__

    def zero(self):
        """The number that is there before another one is."""
        return self(numbers.Int(0))


@dataclass(frozen=True)
class VectorKind:
    """A type of vectors."""

    size: int
    kind: Kind

    def kept(self, value) -> Array:
        """A copy of `value`, or of a number for each entry."""
        entries = value.entries if isinstance(value, Array) else value
        if not isinstance(entries, list):
            entries = [value] * self.size
        return Array(map(self.kind, entries), (self.size,))

    def zero(self) -> Array:
        """Zeros."""
        return self.kept(self.kind.zero())


class StructKind:
    """A struct type; called, it makes a struct."""

    def __init__(self, members: dict[str, Any], methods: dict[str, Callable]) -> None:
        self.members, self.methods = members, methods

    def __call__(self, *args, **named) -> Struct:
        made = Struct(self, {name: kind.zero() for name, kind in self.members.items()})
        for name, value in [*zip(self.members, args, strict=False), *named.items()]:
            setattr(made, name, value)
        return made

    def kept(self, value) -> Struct:
        """A copy of `value`."""
        return self(**{name: getattr(value, name) for name in self.members})

    zero = __call__


class Struct:
    """A struct: a value."""

    def __init__(self, kind: StructKind, parts: dict[str, Any]) -> None:
        vars(self)["_kind"], vars(self)["_parts"] = kind, parts

    def __getattr__(self, name: str):
        kind, parts = vars(self)["_kind"], vars(self)["_parts"]
        return functools.partial(kind.methods[name], self) if name in kind.methods else parts[name]

    def __setattr__(self, name: str, value) -> None:
        self._parts[name] = self._kind.members[name].kept(value)

    def copy(self) -> Struct:
        """The same members."""
        return self._kind.kept(self)

    def update(self, name: str, operation: Callable, value):
        """Replaces a member by what `operation` makes of it and `value`; gives the member before."""
        old = getattr(self, name)
        setattr(self, name, operation(old, value))
        return old


class StructField:
    """A field of structs: a field for each member, which `made` makes."""

    def __init__(self, kind: StructKind, made: Callable[[Any], Any]) -> None:
        self.kind = kind
        self.fields = {
            name: StructField(member, made) if isinstance(member, StructKind) else made(member)
            for name, member in kind.members.items()
        }

    def __getattr__(self, name: str):
        return self.fields[name]

    def __getitem__(self, at) -> Element:
        return Element(self, at)

    def __setitem__(self, at, value) -> None:
        for name in self.fields:
            setattr(Element(self, at), name, getattr(value, name))

    def __iter__(self) -> Iterator:
        return iter(next(iter(self.fields.values())))

    def fill(self, value) -> None:
        """Sets all elements."""
        for name, f in self.fields.items():
            f.fill(getattr(value, name))


class Element:
    """An element of a field of structs: what is done to it is done to the field."""

    def __init__(self, of: StructField, at) -> None:
        vars(self)["_of"], vars(self)["_at"] = of, at

    def __getattr__(self, name: str):
        of = vars(self)["_of"]
        if name in of.kind.methods:
            return functools.partial(of.kind.methods[name], self)
        return of.fields[name][self._at]

    def __setattr__(self, name: str, value) -> None:
        self._of.fields[name][self._at] = value

    def copy(self) -> Struct:
        """The struct that is there now."""
        return self._of.kind.kept(self)

    def update(self, name: str, operation: Callable, value):
        """As that of `Struct`."""
        return self._of.fields[name].update(self._at, operation, value)


def struct_of(cls: type) -> StructKind:
    """``ti.dataclass``: the funcs of a class are methods, which change what they are called on."""
    methods = {name: f.function for name, f in vars(cls).items() if hasattr(f, "function")}
    return StructKind(dict(cls.__annotations__), methods)
