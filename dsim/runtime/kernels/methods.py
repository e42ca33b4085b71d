"""Kernels and funcs as methods: bound to an object, once for each."""

from __future__ import annotations

import types
from typing import Any

from dsim.backends.locks import COMPILING
from dsim.diagnostics import Diagnostic, LaunchTypeError


class _Methods(dict[str, Any]):
    """The kernels and funcs bound to one object, kept by it; a copy of the object starts without any."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Methods, ())


def _methods_of(owner: Any) -> _Methods:
    if not isinstance(owner, type):
        return owner.__dict__.setdefault("_dsim_methods", _Methods())
    if "_dsim_methods" not in owner.__dict__:  # a class, of a class method: its names can only be set
        owner._dsim_methods = _Methods()
    return owner.__dict__["_dsim_methods"]


def bound_once(method: Any, owner: Any) -> Any:
    """`method`, a kernel or func in a class, bound to `owner`: the same object each time."""
    try:
        known = _methods_of(owner)
    except AttributeError:
        message = f"`{type(owner).__name__}` has no room for kernels: its class has `__slots__`"
        raise LaunchTypeError(Diagnostic("argument", message)) from None
    found = known.get(method.__name__)
    if not _is_of(found, method, owner):
        with COMPILING:
            found = known.get(method.__name__)
            if not _is_of(found, method, owner):
                found = known[method.__name__] = type(method)(types.MethodType(method.function, owner))
    return found


def _is_of(found: Any, method: Any, owner: Any) -> bool:
    """Whether `found` is `method` bound to `owner`."""
    return (
        found is not None and found.function.__self__ is owner and found.function.__func__ is method.function
    )


def owns(value: Any, where: tuple[str, str]) -> bool:
    """Whether `value` is an instance of that class, or of one derived from it, or such a class itself."""
    kind = value if isinstance(value, type) else type(value)
    return any((c.__module__, c.__qualname__) == where for c in kind.__mro__)
