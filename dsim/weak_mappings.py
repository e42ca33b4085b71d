"""Mappings whose entries go with their keys or values, and that run no Python then.

Those of `weakref` call Python functions. Ctrl-C may come there, and would be lost, as Python ignores errors
of such a call. Here it is a method in C.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator, Mapping, MutableMapping
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class WeakKeys(MutableMapping[K, V], Generic[K, V]):
    """A mapping whose entries go with their keys, which compare by identity."""

    def __init__(self, entries: Mapping[K, V] | None = None) -> None:
        self._values: dict[weakref.ref[K], V] = {}
        self._went = self._values.pop
        self.update(entries or {})

    def __getitem__(self, key: K) -> V:
        return self._values[weakref.ref(key)]

    def __setitem__(self, key: K, value: V) -> None:
        if (ref := weakref.ref(key)) not in self._values:
            ref = weakref.ref(key, self._went)
        self._values[ref] = value

    def __delitem__(self, key: K) -> None:
        del self._values[weakref.ref(key)]

    def __iter__(self) -> Iterator[K]:
        return iter([key for ref in tuple(self._values) if (key := ref()) is not None])

    def __len__(self) -> int:
        return len(self._values)


class _Reference(weakref.ref[Any]):
    __slots__ = ("key",)

    key: Any


class WeakValues(MutableMapping[K, V], Generic[K, V]):
    """A mapping whose entries go with their values; threads that set entries hold a lock of their own.

    A reference whose value went is noted, and its entry removed when the next one is set.
    """

    def __init__(self) -> None:
        self._refs: dict[K, _Reference] = {}
        self._gone: list[_Reference] = []
        self._went = self._gone.append

    def __getitem__(self, key: K) -> V:
        found = self._refs[key]()
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: K, value: V) -> None:
        while self._gone:
            old = self._gone.pop()
            if self._refs.get(old.key) is old:
                self._refs.pop(old.key, None)
        made = _Reference(value, self._went)
        made.key = key
        self._refs[key] = made

    def __delitem__(self, key: K) -> None:
        del self._refs[key]

    def __iter__(self) -> Iterator[K]:
        return iter([key for key, ref in tuple(self._refs.items()) if ref() is not None])

    def __len__(self) -> int:
        return len(self.living())

    def living(self) -> list[V]:
        """The values that are there now."""
        return [value for ref in tuple(self._refs.values()) if (value := ref()) is not None]
