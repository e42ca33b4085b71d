"""Whether a function that was compiled into a kernel is still the same one."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from dsim.records import record


@record(eq=False)
class _Same:
    """An object, equal to itself only."""

    held: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.held is self.held

    __hash__ = None  # type: ignore[assignment]


_NUMBERS = {bool, int, float}


def snapshot(function: object) -> object:
    """The parts of `function`, to be compared with ``==``.

    Its code, the owner of a method, the rules of a func, and the variables of enclosing functions; of
    numbers there only the type, because their values are compared separately. Two functions that one
    `def`, run twice, has created are equal if these are.
    """
    return _of(function, ())


def _of(value: object, around: tuple[object, ...]) -> object:
    if any(value is outer for outer in around):
        return len(around)  # a function that refers to itself
    inner = (*around, value)
    if isinstance(value, types.FunctionType):
        return _of_function(value, inner)
    if isinstance(value, types.MethodType):
        return (_of(value.__func__, inner), _Same(value.__self__))
    if isinstance(value, functools.partial):
        keywords = tuple((k, _content(v, inner)) for k, v in value.keywords.items())
        return (_of(value.func, inner), tuple(_content(a, inner) for a in value.args), keywords)
    return _of_object(value, inner)


def _of_object(value: object, around: tuple[object, ...]) -> object:
    """A func, a derivative of one, a function that remembers, or any object that can be called."""
    derivative = getattr(value, "__dsim_derivative__", None)
    if derivative is not None:
        return (derivative[0], _of(derivative[1], around))
    if isinstance(value, functools._lru_cache_wrapper):
        return _of(value.__wrapped__, around)
    python = getattr(value, "__dsim_func__", None)
    if python is not None and not isinstance(value, type):
        return (_of(python, around), _Same(getattr(value, "__dsim_rules__", None)))
    called = inspect.getattr_static(type(value), "__call__", None)
    if isinstance(called, types.FunctionType):
        return (_Same(value), _of(called, around))
    return _Same(value)


def _of_function(function: types.FunctionType, around: tuple[object, ...]) -> object:
    seen = tuple(_content(_cell(c), around) for c in function.__closure__ or ())
    defaults = (function.__defaults__ or (), tuple((function.__kwdefaults__ or {}).items()))
    held = tuple(v if type(v) in _NUMBERS else _Same(v) for v in defaults[0])
    named = tuple((k, v if type(v) in _NUMBERS else _Same(v)) for k, v in defaults[1])
    return (_Same(function.__code__), _Same(function.__globals__), seen, held, named)


def _cell(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _content(value: object, around: tuple[object, ...]) -> object:
    if type(value) in _NUMBERS:
        return type(value)
    return _of(value, around) if callable(value) and len(around) < 8 else _Same(value)


def watch(read: Callable[[], Any], value: Any, gone: object) -> Callable[[], Any]:
    """A function that returns `value` as long as the result of `read` is unchanged, otherwise `gone`.

    It is called at every launch, so the common cases come first.
    """
    before = snapshot(value)

    def compared(found: Any) -> Any:
        return value if snapshot(found) == before else gone

    if isinstance(value, types.FunctionType):
        return _of_plain(read, value, compared)
    if isinstance(value, types.MethodType):
        return _of_method(read, value, compared)
    python = getattr(value, "__dsim_func__", None)
    python = getattr(python, "__func__", python)
    if not isinstance(python, types.FunctionType) or not hasattr(value, "__dsim_rules__"):
        return lambda: compared(read())
    code, defaults, named, rules = *_parts(python), value.__dsim_rules__

    def now() -> Any:
        found = read()
        same = (
            found is value
            and found.__dsim_rules__ is rules
            and python.__code__ is code
            and python.__defaults__ is defaults
            and python.__kwdefaults__ is named
        )
        return value if same else compared(found)

    return now


def _parts(function: types.FunctionType) -> tuple[types.CodeType, object, object]:
    """The parts of a function that can be assigned."""
    return function.__code__, function.__defaults__, function.__kwdefaults__


def _of_plain(
    read: Callable[[], Any], value: types.FunctionType, compared: Callable[[Any], Any]
) -> Callable[[], Any]:
    code, defaults, named = _parts(value)

    def now() -> Any:
        found = read()
        same = (
            found is value
            and value.__code__ is code
            and value.__defaults__ is defaults
            and value.__kwdefaults__ is named
        )
        return value if same else compared(found)

    return now


def _of_method(
    read: Callable[[], Any], value: types.MethodType, compared: Callable[[Any], Any]
) -> Callable[[], Any]:
    owner, python = value.__self__, value.__func__
    if not isinstance(python, types.FunctionType):
        return lambda: compared(read())
    code, defaults, named = _parts(python)

    def now() -> Any:
        found = read()
        same = (
            type(found) is types.MethodType
            and found.__self__ is owner
            and found.__func__ is python
            and python.__code__ is code
            and python.__defaults__ is defaults
            and python.__kwdefaults__ is named
        )
        return value if same else compared(found)

    return now
