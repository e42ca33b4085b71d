"""Struct types: their members, the members' types, and their methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dsim.diagnostics.similar import similar


@dataclass(frozen=True, slots=True)
class StructTypeBase:
    """The type of structs: an annotation, and inside kernels a constructor.

    Attributes
    ----------
    members : tuple of (str, type)
        Names and types: scalar types, Python's ``float`` and ``int``, `MatrixType`, `StructTypeBase`.
    methods : tuple of (str, callable)
        Funcs, and Python functions for use outside kernels; their first parameter is the struct.
    name : str
        Its name in the user's program; empty when it has none.
    """

    members: tuple[tuple[str, Any], ...]
    methods: tuple[tuple[str, Any], ...] = ()
    name: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the members, in order."""
        return tuple(name for name, _ in self.members)

    def type_of(self, member: str) -> Any:
        """The type of a member."""
        return dict(self.members)[member]

    def method(self, name: str) -> Any:
        """The method of this name, or None."""
        return dict(self.methods).get(name)


def unknown_member(what: str, name: str, known: Iterable[str]) -> tuple[str, str]:
    """The message about a member that `what` lacks, and its help."""
    known = tuple(known)
    near = similar(name, known)
    members = f"members are {', '.join(f'`{k}`' for k in known)}"
    help = f"its {members}" if near is None else f"did you mean `{near}`? Its {members}"
    return f"{what} has no member `{name}`", help


def is_struct_field(value: object) -> bool:
    """Whether `value` is a field of structs: its members by name are in ``__dsim_struct_field__``."""
    return isinstance(getattr(value, "__dsim_struct_field__", None), Mapping)


def is_host_struct(value: object) -> bool:
    """Whether `value` is a struct of the host: its members by name are in ``__dsim_struct_value__``."""
    return isinstance(getattr(value, "__dsim_struct_value__", None), Mapping)
