"""The keyword arguments of one call of an operation: rules run later, and must find what the call found.

Arrays, sparse matrices, and containers of them are copied. Other objects are compared, with all that the
function and its rules may read in them.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from dsim.runtime.operations.reach import Marks
from dsim.runtime.operations.reached_values import ReachedFrom

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
        The names of attributes that the function, its rules, and what they call may read.
    copied : bool, default True
        Whether Python may change them after the call.

    Attributes
    ----------
    values : dict
        What a call, or a rule, takes: what was given, and after the first call the copies.
    """

    def __init__(self, given: Mapping[str, Any], names: frozenset[str], copied: bool = True) -> None:
        self.values = dict(given)
        self._names = names
        self._foreign = copied and not all(isinstance(value, _PLAIN) for value in given.values())
        self._reached: dict[str, ReachedFrom] = {}
        self._marks: dict[str, Any] = {}

    def settle(self) -> None:
        """Copies what the first call leaves: it may keep something there for its rules."""
        if self._foreign:
            self._foreign = False
            self.values = {name: _copied(value, 0) for name, value in self.values.items()}
            compared = {name: value for name, value in self.values.items() if not _is_copy(value, 0)}
            self._reached = {name: ReachedFrom(value, self._names) for name, value in compared.items()}
            self._marks = {name: self._mark(name) for name in self.values}

    def changed(self) -> str | None:
        """The name of an argument that is not copied, and has other parts by now."""
        return next((name for name, mark in self._marks.items() if mark != self._mark(name)), None)

    def _mark(self, name: str) -> Any:
        reached = self._reached.get(name)
        return Marks(self._names).of(self.values[name]) if reached is None else reached.now()


def marked(given: Mapping[str, Any], names: frozenset[str]) -> tuple[Any, ...]:
    """The arguments as something that equals that of another call only if both do the same."""
    return tuple(
        (name, type(value), repr(value), value, None if isinstance(value, _PLAIN) else Marks(names).of(value))
        for name, value in given.items()
    )


def _is_sparse(value: Any) -> bool:
    sparse = sys.modules.get("scipy.sparse")  # which takes long to import, and has made what is sparse
    return sparse is not None and sparse.issparse(value)


def _is_copy(value: Any, depth: int) -> bool:
    """Whether a copy, as of `_copied`, shares nothing that may change."""
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    if isinstance(value, _PLAIN) or _is_sparse(value):
        return True
    kind, items = type(value), value
    if kind is dict or kind is SimpleNamespace:
        items = (value if kind is dict else vars(value)).values()
    elif kind not in _SEQUENCES and not (isinstance(value, tuple) and hasattr(value, "_fields")):
        return False
    return depth <= _DEEPEST and all(_is_copy(item, depth + 1) for item in items)


def _copied(value: Any, depth: int) -> Any:
    if isinstance(value, np.ndarray) or _is_sparse(value):
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
