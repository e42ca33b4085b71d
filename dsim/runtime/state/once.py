"""Lazily computed values, computed by one thread for all, and kept."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Generic, Self, TypeVar, overload

from dsim.backends.locks import COMPILING, room_to_compile

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 (a decorator, as `property` is)
    """Decorator: a property that is computed once for each object, under the lock of compilation.

    `functools.cached_property` takes a lock of its own in Python 3.11, in which another thread may want to
    compile, and none later.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: object | None, kind: type) -> Self | T:
        """The value, which from then on is found in the object itself."""
        if owner is None:
            return self
        with COMPILING, room_to_compile():
            kept = owner.__dict__
            if self._name not in kept:
                kept[self._name] = self._make(owner)
            return kept[self._name]


def make_room(known: MutableMapping[Any, Any], most: int) -> None:
    """Drops the oldest entries until one more makes `most`; other threads may do so, too."""
    keys = list(known)
    for key in keys[: max(0, len(keys) - most + 1)]:
        known.pop(key, None)


def kept(known: MutableMapping[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """The value in `known` under `key`, computed by one thread if it is missing."""
    found = known.get(key)
    if found is None:
        with COMPILING, room_to_compile():
            found = known.get(key)
            if found is None:
                found = known[key] = make()
    return found
