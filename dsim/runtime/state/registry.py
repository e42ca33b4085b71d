"""Objects as long as they live, from all threads: in a `weakref.WeakSet` no other may add while one loops."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Objects that compare by identity, in the order in which they were added; it keeps none alive.

    A method in C takes away what goes: Ctrl-C in a callback in Python would be lost, as Python ignores its
    errors.
    """

    def __init__(self) -> None:
        self._refs: dict[weakref.ref[Any], None] = {}  # as an ordered set
        self._went = self._refs.pop

    def add(self, item: T) -> None:
        """Adds an object; nothing if it is there."""
        self._refs.setdefault(weakref.ref(item, self._went))

    def discard(self, item: T) -> None:
        """Takes an object away if it is there."""
        self._refs.pop(weakref.ref(item), None)

    def clear(self) -> None:
        """Takes all away."""
        self._refs.clear()

    def references(self) -> list[weakref.ref[T]]:
        """Weak references to the objects that are there now."""
        return list(self._refs)  # in one step, as threads see it

    def __len__(self) -> int:
        return len(self._refs)

    def __iter__(self) -> Iterator[T]:
        return iter([item for ref in self.references() if (item := ref()) is not None])
