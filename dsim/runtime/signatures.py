"""What a kernel's Python function takes: names, defaults, and which parameters are compile-time values."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.frontend.types import array_type, is_template


class Signature:
    """The parameters of a kernel as Python sees them, without the owner of a method and without `bound` ones.

    Attributes
    ----------
    names : tuple of str
        In order.
    templates : tuple of int
        Positions of the parameters that are compile-time values: annotated ``template()``.
    arrays : dict of int to ArrayType
        By position, the parameters that take arrays: annotated ``types.ndarray()``.
    """

    def __init__(self, function: Callable[..., Any], bound: Mapping[str, Any]) -> None:
        python = function.__func__ if isinstance(function, types.MethodType) else function
        code = python.__code__
        skipped = int(isinstance(function, types.MethodType))
        self.function = function.__name__
        every = code.co_varnames[skipped : code.co_argcount + code.co_kwonlyargcount]
        self.names = tuple(name for name in every if name not in bound)
        given = python.__defaults__ or ()
        last = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
        self.defaults = {**dict(zip(last, given, strict=True)), **(python.__kwdefaults__ or {})}
        annotations = {n: _evaluated(python, python.__annotations__.get(n)) for n in self.names}
        found = {n: array_type(annotations[name]) for n, name in enumerate(self.names)}
        self.arrays = {n: kind for n, kind in found.items() if kind is not None}
        self.templates = tuple(n for n, name in enumerate(self.names) if is_template(annotations[name]))

    def complete(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in order, from positional ones, named ones and defaults.

        Raises
        ------
        LaunchTypeError
            When there are too few, too many, or names that the kernel does not have.
        """
        if len(args) > len(self.names):
            raise self._wrong_count(len(args) + len(named))
        rest = self.names[len(args) :]
        for name in named:
            if name not in rest:
                twice = name in self.names
                message = (
                    f"`{self.function}` got `{name}` twice"
                    if twice
                    else f"`{self.function}` has no argument `{name}`"
                )
                raise LaunchTypeError(Diagnostic("argument", message))
        filled = {**self.defaults, **named}
        if any(name not in filled for name in rest):
            raise self._wrong_count(len(args) + len(named))
        return (*args, *(filled[name] for name in rest))

    def _wrong_count(self, count: int) -> LaunchTypeError:
        wanted = len(self.names)
        takes = f"{wanted} argument{'s' * (wanted != 1)}" + (f" ({', '.join(self.names)})" if wanted else "")
        return LaunchTypeError(Diagnostic("argument", f"`{self.function}` takes {takes}, got {count}"))


def _evaluated(python: types.FunctionType, annotation: Any) -> Any:
    """An annotation that is written as a string, or under ``from __future__ import annotations``."""
    if not isinstance(annotation, str):
        return annotation
    cells = dict(zip(python.__code__.co_freevars, python.__closure__ or (), strict=True))
    try:
        return eval(annotation, python.__globals__, {n: c.cell_contents for n, c in cells.items()})
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError):
        return None  # the frontend says what is wrong with it
