"""What functions of operations read besides their arguments: rules run later, and must find the same.

Numbers, strings and small arrays are compared by value, other objects by identity. The user's functions that
they call are followed.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from dsim.frontend.inlining.callables import LIBRARIES

_MOST_BYTES = 1 << 16  # of an array that is compared number by number
Snapshot = tuple[tuple[str, Any], ...]
Reader = tuple[str, Callable[[], Any]]


class CapturedValues:
    """The variables of functions that may change."""

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        seen: set[Any] = set()
        found = [reader for f in functions for reader in _readers(f, seen)]
        self._readers = tuple(dict(found).items())

    def now(self) -> Snapshot:
        """Their values, as something that can be compared and hashed."""
        return tuple((name, _mark(read())) for name, read in self._readers)


def changed(before: Snapshot, now: Snapshot) -> str | None:
    """The name of a variable that is another one now."""
    return next((name for (name, a), (_, b) in zip(before, now, strict=False) if a != b), None)


def _readers(function: Callable[..., Any], seen: set[Any]) -> Iterator[Reader]:
    if not isinstance(function, types.FunctionType) or function in seen:
        return
    seen.add(function)
    if (function.__module__ or "").partition(".")[0] in LIBRARIES:
        return
    own = set(_assigned(function.__code__))
    for name, read in (*_globals(function), *_cells(function)):
        value = read()
        if name in own or isinstance(value, types.ModuleType | types.BuiltinFunctionType | type):
            continue  # a count that the function keeps is its own; modules and classes do not change
        yield name, read
        yield from _readers(value, seen)


def _globals(function: types.FunctionType) -> Iterator[Reader]:
    scope = function.__globals__
    for code in _codes(function.__code__):
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL" and step.argval in scope:
                yield step.argval, _getter(scope, step.argval)


def _getter(scope: dict[str, Any], name: str) -> Callable[[], Any]:
    return lambda: scope.get(name)


def _cells(function: types.FunctionType) -> Iterator[Reader]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, lambda cell=cell: _content(cell)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _assigned(code: types.CodeType) -> Iterator[str]:
    for inner in _codes(code):
        for step in dis.get_instructions(inner):
            if step.opname in ("STORE_GLOBAL", "STORE_DEREF"):
                yield step.argval


def _mark(value: Any) -> Any:
    if isinstance(value, int | float | complex | str | bytes | np.generic):
        return type(value), repr(value)
    if isinstance(value, np.ndarray) and value.nbytes <= _MOST_BYTES and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    return _Same(value)


class _Same:
    """Equal to a mark of the same object only, which it keeps alive."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)
