"""What functions read besides their arguments: rules of operations run later, and must find the same.

Numbers, strings and small arrays are compared by value, other objects by identity. The user's functions,
kernels too, that they call are followed. `reached_values.py` looks deeper.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dsim.runtime.fields.fields import Field
from dsim.runtime.operations.reach import Same, is_of_library, mark
from dsim.runtime.state.references import ByName

Snapshot = tuple[tuple[str, Any], ...]
_WITHOUT_MEMBERS = (types.FunctionType, types.ModuleType, type, ByName, Field)
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")  # the second one in bodies of classes
Reader = tuple[str, Callable[[], Any]]


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
        given = [part for f in functions for part in (bound(f) if members else (f,))]
        found = [reader for f in given for reader in readers(f, seen)]
        found += [("", lambda part=part: part) for part in given if members]
        self._readers = tuple(found)
        self._mark = _mark_with_members if members else mark

    def now(self) -> Snapshot:
        """Their values, as something that can be compared and hashed."""
        return tuple((name, self._mark(read())) for name, read in self._readers)


def changed(before: Snapshot, now: Snapshot) -> str | None:
    """The name of a variable that is another one now."""
    return next((name for (name, a), (_, b) in zip(before, now, strict=False) if a != b), None)


def readers(function: Callable[..., Any], seen: set[Any], scopes: bool = False) -> Iterator[Reader]:
    """The variables of a function and of those that it calls; of modules and classes only for `scopes`."""
    function = function.function if isinstance(function, ByName) else function
    if isinstance(function, types.MethodType):
        function = function.__func__
    if not isinstance(function, types.FunctionType) or function in seen:
        return
    seen.add(function)
    if is_of_library(function):
        return
    own = set(_assigned(function.__code__))
    for name, read in {**dict(_globals(function)), **dict(_cells(function))}.items():
        value = read()
        fixed = isinstance(value, types.ModuleType | types.BuiltinFunctionType | type)
        if name in own or (fixed and not scopes):
            continue  # a count that the function keeps is its own; modules and classes seldom change
        yield name, read
        yield from readers(value, seen, scopes)


def _globals(function: types.FunctionType) -> Iterator[Reader]:
    scope = function.__globals__
    for code in codes(function.__code__):
        for step in dis.get_instructions(code):
            if step.opname in _LOADS and step.argval in scope:
                yield step.argval, _getter(scope, step.argval)
            elif step.opname == "IMPORT_NAME":
                yield step.argval, _module(scope, step.argval)


def _module(scope: dict[str, Any], name: str) -> Callable[[], Any]:
    inside = f"{scope.get('__package__')}.{name}".rstrip(".")  # where the import is relative
    return lambda: sys.modules.get(name) or sys.modules.get(inside)


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


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def _assigned(code: types.CodeType) -> Iterator[str]:
    for inner in codes(code):
        for step in dis.get_instructions(inner):
            if step.opname in ("STORE_GLOBAL", "STORE_DEREF"):
                yield step.argval


def _mark_with_members(value: Any) -> Any:
    """The mark of an object with those of what it has."""
    held = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if not isinstance(held, dict) or isinstance(value, _WITHOUT_MEMBERS):
        return mark(value)
    return Same(value), tuple((mark(key), mark(item)) for key, item in list(held.items()))


def bound(function: Any) -> Iterator[Any]:
    """What a callable consists of: of a method and its object, of a partial function and its arguments."""
    if isinstance(function, functools.partial):
        for part in (function.func, *function.args, *function.keywords.values()):
            yield from bound(part)
        return
    inner = function.function if isinstance(function, ByName) else function
    yield inner
    if isinstance(inner, types.MethodType):
        yield inner.__self__
    elif not isinstance(inner, types.FunctionType):
        yield type(inner).__call__
