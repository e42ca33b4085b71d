"""Fields of structs: a field for each member, all of one shape.

Only the members hold numbers, so launches, tapes, forward mode and saving do not handle struct
fields, only their members.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NoReturn

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.runtime.fields import access
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.structs import HostStruct, fitting, members_of, no_member
from dsim.runtime.state.once import once

FOR_PEOPLE = (
    "copy_from", "dual", "fill", "from_numpy", "from_torch", "get_member_field", "grad", "keys", "name",
    "placed", "shape", "to_numpy", "to_torch",
)  # fmt: skip


class StructField:
    """Structs on a grid; ``f.pos`` is the field of the member `pos`.

    Made by ``Struct.field()`` and the ``field()`` of a struct type, never directly.

    Attributes
    ----------
    name : str
        Its name in the user's program; may be empty.
    """

    def __init__(
        self, kind: StructTypeBase, members: Mapping[str, Field | StructField], name: str = ""
    ) -> None:
        self.__dict__.update(_kind=kind, _members=MappingProxyType(dict(members)), name=name)

    # -- the members

    @property
    def keys(self) -> list[str]:
        """The names of the members, in order."""
        return list(self._members)

    @outermost
    def get_member_field(self, key: str) -> Field | StructField:
        """The field of the member `key`."""
        if key not in self._members:
            raise AttributeError(no_member(f"the struct field{self._called}", key, self._members))
        return self._members[key]

    def __getattr__(self, name: str) -> Any:
        if name in ("_kind", "_members") or name.startswith("__"):  # not made yet
            raise AttributeError(name)
        return self.get_member_field(name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        advice = f"; set its numbers by `.{name}.from_numpy(…)` or `.{name}.fill(…)`"
        raise AttributeError(
            f"`{name}` of a struct field cannot be replaced{advice if name in self._members else ''}"
        )

    def __dir__(self) -> list[str]:
        return [*self._members, *FOR_PEOPLE]

    @property
    def _called(self) -> str:
        return f" `{self.name}`" if self.name else ""

    @property
    def _first(self) -> Field:
        first = next(iter(self._members.values()))
        return first if isinstance(first, Field) else first._first

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes that indices run over."""
        return self._first.shape

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each axis; ``()`` when they are 0."""
        return self._first.offset

    @property
    def placed(self) -> bool:
        """Whether all members have memory, with one shape."""
        return all(
            m.placed and (m.shape, m.offset) == (self.shape, self.offset) for m in self._members.values()
        )

    @once
    def grad(self) -> StructField:
        """The gradients of the members that are floats: a struct field of their ``.grad``."""
        return self._companion("grad")

    @once
    def dual(self) -> StructField:
        """The tangents of the members that are floats: a struct field of their ``.dual``."""
        return self._companion("dual")

    def _companion(self, which: str) -> StructField:
        members = {name: getattr(m, which) for name, m in self._members.items() if has_floats(m)}
        if not members:
            message = f"the struct field{self._called} has no float members, and so no {which}"
            advice = "give it a member of a float type"
            raise LaunchTypeError(Diagnostic("missing-gradient", message, help=advice))
        kind = self._kind
        inner = {name: m._kind for name, m in members.items() if isinstance(m, StructField)}
        kept = tuple((name, inner.get(name, t)) for name, t in kind.members if name in members)
        if kept != kind.members:
            kind = replace(kind, members=kept, name=f"{kind.name}.{which}" if kind.name else "")
        return StructField(kind, members, f"{self.name}.{which}" if self.name else "")

    def __copy__(self) -> StructField:
        return copy.deepcopy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return StructField, (self._kind, dict(self._members), self.name)

    # -- the protocol by which the frontend knows struct fields

    @property
    def __dsim_struct__(self) -> StructTypeBase:
        return self._kind

    @property
    def __dsim_struct_field__(self) -> Mapping[str, Field | StructField]:
        return self._members

    # -- the structs from Python

    def __repr__(self) -> str:
        where = f"shape {self.shape}" if self.placed else "not placed"
        return f"<struct field{self._called} of {', '.join(self._members)}: {where}>"

    @outermost
    def __getitem__(self, key: Any) -> ElementStruct:
        self._first.require()
        first = self._first
        return ElementStruct(self, access.indices_of(first, access.position(first, key)))

    @outermost
    def __setitem__(self, key: Any, value: Any) -> None:
        self._first.require()
        at = access.indices_of(self._first, access.position(self._first, key))
        given = members_of(fitting(self._kind, value, f"{self.name or 'the struct field'}[…]"))
        for name, member in self._members.items():
            member[at or None] = given[name]

    @outermost
    def __len__(self) -> int:
        raise TypeError(f"the struct field{self._called} has no len(): its shape is {self.shape}")

    @outermost
    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"the struct field{self._called} can be iterated over in kernels only")

    @outermost
    def to_numpy(self) -> dict[str, Any]:
        """Copies of the members' numbers, by name; of a struct inside, a dictionary again."""
        return {name: m.to_numpy() for name, m in self._members.items()}

    @outermost
    def from_numpy(self, arrays: Mapping[str, Any]) -> None:
        """Sets all members to the arrays in a dictionary like that of `to_numpy`."""
        self._check_keys("from_numpy", arrays)
        for name, member in self._members.items():
            member.from_numpy(arrays[name])

    def to_torch(self, device: Any = None) -> dict[str, Any]:
        """As `to_numpy`, with PyTorch tensors on `device` or the CPU."""
        return {name: m.to_torch(device) for name, m in self._members.items()}

    @outermost
    def from_torch(self, tensors: Mapping[str, Any]) -> None:
        """Sets all members to the tensors in a dictionary like that of `to_torch`."""
        self._check_keys("from_torch", tensors)
        for name, member in self._members.items():
            member.from_torch(tensors[name])

    @outermost
    def copy_from(self, other: StructField) -> None:
        """Sets all members to those of a struct field with the same members and shape."""
        if not isinstance(other, StructField):
            message = f"copy_from() takes a struct field, not {type(other).__name__}"
            raise LaunchTypeError(Diagnostic("argument", message))
        self._check_keys("copy_from", other._members)
        for name, member in self._members.items():
            member.copy_from(other._members[name])

    @outermost
    def fill(self, value: Any) -> None:
        """Sets every element: to a struct, or all numbers of all members to one number."""
        if isinstance(value, HostStruct | Mapping):
            self._check_keys("fill", members_of(value))
        for name, member in self._members.items():
            member.fill(members_of(value)[name] if isinstance(value, HostStruct | Mapping) else value)

    def _check_keys(self, what: str, given: Iterable[str]) -> None:
        if set(given) != set(self._members):
            wanted, got = (", ".join(f"`{k}`" for k in keys) for keys in (self._members, given))
            message = f"{what}() of the struct field{self._called} needs the members {wanted}, got {got}"
            raise LaunchTypeError(Diagnostic("argument", message))


def has_floats(member: Field | StructField) -> bool:
    """Whether there are floats in it."""
    if isinstance(member, Field):
        return member.dtype.is_float
    return any(map(has_floats, member.__dsim_struct_field__.values()))


class ElementStruct(HostStruct):
    """A struct read from a field: its members are read and written in the field."""

    __slots__ = ("_at", "_field")

    def __init__(self, field: StructField, at: tuple[int, ...]) -> None:
        object.__setattr__(self, "_field", field)
        object.__setattr__(self, "_at", at)
        object.__setattr__(self, "_kind", field.__dsim_struct__)

    def _names(self) -> Iterable[str]:
        return self._field.__dsim_struct_field__

    def _get(self, name: str) -> Any:
        return self._field.__dsim_struct_field__[name][self._at or None]

    def _put(self, name: str, value: Any) -> None:
        self._field.__dsim_struct_field__[name][self._at or None] = value
