"""The classes that a kernel is made of: immutable records, of which compiling makes hundreds of thousands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True)
def record(cls: type[_Class]) -> type[_Class]:
    """A dataclass with slots, equal by its fields and hashed by them, or by its own ``__hash__``.

    Nothing may assign to its fields, and the type checker says so. That Python refuses it as well has a
    price: the constructor of a frozen dataclass takes two to three times as long.
    """
    return dataclass(slots=True, unsafe_hash="__hash__" not in vars(cls))(cls)
