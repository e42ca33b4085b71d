"""What functions read besides their arguments: rules of operations run later, and must find the same.

Numbers, strings and small arrays are compared by value, other objects by identity. The user's functions,
kernels too, that they call are followed.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from dsim.frontend.inlining.callables import LIBRARIES
from dsim.runtime.fields.fields import Field
from dsim.runtime.state.references import ByName

_MOST_BYTES = 1 << 16  # of an array that is compared number by number
Snapshot = tuple[tuple[str, Any], ...]
Reader = tuple[str, Callable[[], Any]]
_WITHOUT_MEMBERS = (types.FunctionType, types.ModuleType, type, ByName, Field)


class CapturedValues:
    """The variables of functions that may change.

    Parameters
    ----------
    functions : iterable of callable
        The functions.
    members : bool
        Whether what dictionaries and the attributes of objects hold counts, too, one level deep, and what
        methods and partial functions are bound to.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]], members: bool = False) -> None:
        seen: set[Any] = set()
        given = [part for f in functions for part in (_parts(f) if members else (f,))]
        found = [reader for f in given for reader in _readers(f, seen)]
        found += [("", lambda part=part: part) for part in given if members]
        self._readers = tuple(found)
        self._mark = _mark_with_members if members else _mark

    def now(self) -> Snapshot:
        """Their values, as something that can be compared and hashed."""
        return tuple((name, self._mark(read())) for name, read in self._readers)


def rebinds(function: Callable[..., Any]) -> tuple[str, str] | None:
    """A variable outside that `function`, or one that it calls, assigns: the function's name, and its own."""
    seen: set[Any] = set()
    for part in _parts(function):
        for _ in _readers(part, seen):
            pass
    for found in seen:
        if (found.__module__ or "").partition(".")[0] in LIBRARIES:
            continue
        for code in _codes(found.__code__):
            for step in dis.get_instructions(code):
                cell = step.opname in ("STORE_DEREF", "DELETE_DEREF")
                if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
                    cell and step.argval in found.__code__.co_freevars
                ):
                    return found.__name__, step.argval
    return None


def changed(before: Snapshot, now: Snapshot) -> str | None:
    """The name of a variable that is another one now."""
    return next((name for (name, a), (_, b) in zip(before, now, strict=False) if a != b), None)


def _readers(function: Callable[..., Any], seen: set[Any]) -> Iterator[Reader]:
    function = function.function if isinstance(function, ByName) else function
    if isinstance(function, types.MethodType):
        function = function.__func__
    if not isinstance(function, types.FunctionType) or function in seen:
        return
    seen.add(function)
    if (function.__module__ or "").partition(".")[0] in LIBRARIES:
        return
    own = set(_assigned(function.__code__))
    for name, read in {**dict(_globals(function)), **dict(_cells(function))}.items():
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


def _mark_with_members(value: Any) -> Any:
    """The mark of an object with those of what it has."""
    held = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if not isinstance(held, dict) or isinstance(value, _WITHOUT_MEMBERS):
        return _mark(value)
    return _Same(value), tuple((_mark(key), _mark(item)) for key, item in list(held.items()))


def _parts(function: Any) -> Iterator[Any]:
    """What a callable consists of: of a method and its object, of a partial function and its arguments."""
    if isinstance(function, functools.partial):
        for part in (function.func, *function.args, *function.keywords.values()):
            yield from _parts(part)
        return
    inner = function.function if isinstance(function, ByName) else function
    yield inner
    if isinstance(inner, types.MethodType):
        yield inner.__self__
    elif not isinstance(inner, types.FunctionType):
        yield type(inner).__call__


class _Same:
    """Equal to a mark of the same object only, which it keeps alive."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)
