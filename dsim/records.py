"""Records: dataclasses that nothing assigns to, quick to import and to make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

_Class = TypeVar("_Class", bound=type[Any])


@overload
def record(cls: _Class) -> _Class: ...
@overload
def record(*, eq: bool) -> Callable[[_Class], _Class]: ...
@dataclass_transform(frozen_default=True)
def record(cls: Any = None, *, eq: bool = True) -> Any:
    """A dataclass with slots, equal by its fields and hashed by them, or by its own ``__hash__``.

    Nothing may assign to its fields, and the type checker says so. That Python refuses it as well has a
    price: the constructor of a frozen dataclass takes two to three times as long, and Python compiles two
    more methods for each class when it is imported.

    Parameters
    ----------
    eq : bool
        Whether it is equal to another one with equal fields, and not only to itself.
    """

    def made(given: Any) -> Any:
        if "__repr__" not in vars(given):
            given.__repr__ = _repr
        return dataclass(eq=eq, repr=False, slots=True, unsafe_hash=eq and "__hash__" not in vars(given))(
            given
        )

    return made if cls is None else made(cls)


@recursive_repr()
def _repr(self: Any) -> str:
    """As a dataclass would have it: one for all, since each class of its own would have to compile it."""
    values = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"
