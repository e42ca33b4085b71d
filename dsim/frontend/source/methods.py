"""Kernels and funcs as methods: their class, and how Python binds them."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from dsim.frontend.source.captures import is_function, is_kernel
from dsim.frontend.source.paths import Path


def class_of(function: Callable[..., Any]) -> tuple[str, str] | None:
    """Module and name of the class in which `function` takes its owner as the first parameter, if it does."""
    if not isinstance(function, types.FunctionType) or not function.__code__.co_argcount:
        return None
    around = function.__qualname__.rpartition(".")[0]
    first = function.__code__.co_varnames[0]
    if not around or around.endswith("<locals>") or first in function.__annotations__:
        return None
    return function.__module__, around


def advice(function: Callable[..., Any]) -> str:
    """A help text on getting the kernel of an object or a class; empty where `function` is in no class."""
    found = class_of(function)
    if found is None:
        return ""
    name = f"{found[1].rpartition('.')[2]}.{function.__name__}"
    return f"`{name}` is a method: `{name}.of(owner)` is the kernel of an object or a class"


def is_bound_by_python(value: object) -> bool:
    """Whether `value` is a kernel or func that Python has bound without calling its `__get__`.

    It does so for class methods, from Python 3.13 on.
    """
    return isinstance(value, types.MethodType) and (is_function(value.__func__) or is_kernel(value.__func__))


def bound(value: Any, path: Path | None = None) -> tuple[Any, Path | None]:
    """`value` and its path, where a kernel or func that Python has bound is bound by dsim instead."""
    if not is_bound_by_python(value):
        return value, path
    return _bound(value), None if path is None else Path(path.text, lambda: _bound(path.read()))


def _bound(value: Any) -> Any:
    return value.__func__.__get__(value.__self__) if is_bound_by_python(value) else value
