"""Objects as long as they live, from all threads: in a `weakref.WeakSet` no other may add while one loops."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Objects that compare by identity, in the order in which they were added; it keeps none alive.

    A reference whose object went is only noted, by a function in C, until the next one is added: Ctrl-C in a
    callback in Python would be lost, as Python ignores its errors.
    """

    def __init__(self) -> None:
        self._refs: dict[weakref.ref[Any], None] = {}  # as an ordered set
        self._gone: list[weakref.ref[Any]] = []
        self._went = self._gone.append

    def add(self, item: T) -> None:
        """Adds an object; nothing if it is there."""
        self._forget_gone()
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

    def _forget_gone(self) -> None:
        while self._gone:
            with suppress(IndexError):  # another thread took the last one
                self._refs.pop(self._gone.pop(), None)

    def __len__(self) -> int:
        self._forget_gone()
        return len(self._refs)

    def __iter__(self) -> Iterator[T]:
        return iter([item for ref in self.references() if (item := ref()) is not None])
