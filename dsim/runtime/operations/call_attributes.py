"""The keyword arguments of one call of an operation: rules run later, and must find what the call found.

Arrays, sparse matrices, and containers of them are copied. Other objects are compared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from dsim.runtime.operations.reach import Marks

_PLAIN = (int, float, complex, str, bytes, np.generic, type(None))
_SEQUENCES = (list, tuple, set, frozenset, deque)
_DEEPEST = 8  # containers in containers


class CallAttributes:
    """What one call was given.

    Parameters
    ----------
    given : mapping
        The arguments by their names.
    names : frozenset of str
        The names that the code of the function and its rules uses, as of `reach.names_in`.

    Attributes
    ----------
    values : dict
        What a call, or a rule, takes: what was given, and after the first call the copies.
    """

    def __init__(self, given: Mapping[str, Any], names: frozenset[str]) -> None:
        self.values = dict(given)
        self._names = names
        self._settled = all(isinstance(value, _PLAIN) for value in given.values())
        self._marks: dict[str, Any] = {}

    def settle(self) -> None:
        """Copies what the first call leaves: it may keep something there for its rules."""
        if not self._settled:
            self._settled = True
            self.values = {name: _copied(value, 0) for name, value in self.values.items()}
            self._marks = self._marked()

    def changed(self) -> str | None:
        """The name of an argument that is not copied, and has other parts by now."""
        return next((name for name, mark in self._marked().items() if mark != self._marks[name]), None)

    def _marked(self) -> dict[str, Any]:
        found = {n: v for n, v in self.values.items() if not isinstance(v, _PLAIN)} if self._settled else {}
        return {name: Marks(self._names).of(value) for name, value in found.items()}


def marked(given: Mapping[str, Any], names: frozenset[str]) -> tuple[Any, ...]:
    """The arguments as something that equals that of another call only if both do the same."""
    return tuple(
        (name, type(value), repr(value), value, None if isinstance(value, _PLAIN) else Marks(names).of(value))
        for name, value in given.items()
    )


def _copied(value: Any, depth: int) -> Any:
    if isinstance(value, np.ndarray) or issparse(value):
        return value.copy()
    return value if depth > _DEEPEST else _container(value, depth + 1)


def _container(value: Any, depth: int) -> Any:
    """`value` with copies of what is in it, if it is a container."""
    kind = type(value)
    if kind is dict:
        return {key: _copied(item, depth) for key, item in value.items()}
    if kind is SimpleNamespace:
        return SimpleNamespace(**_container(vars(value), depth))
    if kind in _SEQUENCES:
        return kind(_copied(item, depth) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*(_copied(item, depth) for item in value))
    return value
