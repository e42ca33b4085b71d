"""Kernels with `template()` parameters: one kernel for each combination of what is passed for them.

A field, a func or a number passed for such a parameter is known when the kernel is compiled, as if the
kernel had found it among the names around it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.frontend.types import is_template
from dsim.runtime.forms import Form
from dsim.runtime.kernel import Kernel


def template_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters that are annotated with `template()`, in order."""
    notes = getattr(function, "__annotations__", {})
    return tuple(name for name, note in notes.items() if name != "return" and _is_template(note, function))


def _is_template(note: object, function: Callable[..., Any]) -> bool:
    if not isinstance(note, str):
        return is_template(note)
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    try:
        return is_template(eval(note, names))
    except (NameError, AttributeError, SyntaxError, TypeError):
        return False  # the compiler says what is wrong with it


class TemplateKernel:
    """A function in the kernel language some of whose parameters are known when it is compiled.

    Calling it picks the kernel for what is passed for these, and launches that one with the rest.
    `of` gives the kernel itself: ``k.of(x, y).adjoint``.
    """

    __dsim_kernel__ = True
    __name__: str

    def __init__(self, function: Callable[..., Any], templates: tuple[str, ...]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.templates = templates
        self._names = tuple(inspect.signature(function).parameters)
        self._kernels: dict[tuple[Any, ...], Kernel] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Launches the kernel for these arguments."""
        kernel, rest, named = self._split(args, named)
        return kernel(*rest, **named)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__} of {', '.join(self.templates)}>"

    def grad(self, *args: Any, **named: Any) -> None:
        """Runs the adjoint of the kernel that a call with these arguments launches; see `Kernel.grad`."""
        kernel, rest, named = self._split(args, named)
        kernel.grad(*rest, **named)

    def of(self, *values: Any) -> Kernel:
        """The kernel for these values of the `template()` parameters, in their order."""
        if len(values) != len(self.templates):
            listed = ", ".join(self.templates)
            message = f"`{self.__name__}` has the template parameters {listed}, got {len(values)} values"
            raise LaunchTypeError(Diagnostic("argument", message))
        key = tuple(map(_identity, values))
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = Kernel(self.function, dict(zip(self.templates, values, strict=True)))
        return found

    def _split(
        self, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Kernel, list[Any], dict[str, Any]]:
        """The kernel for a call's arguments, and the arguments that are left for it."""
        given = dict(zip(self._names, args, strict=False))
        missing = [t for t in self.templates if t not in given and t not in named]
        if missing or len(args) > len(self._names):
            listed = ", ".join(self._names)
            message = f"`{self.__name__}` takes the arguments {listed}, got {len(args) + len(named)}"
            raise LaunchTypeError(Diagnostic("argument", message))
        kernel = self.of(*(given[t] if t in given else named[t] for t in self.templates))
        rest = [value for name, value in given.items() if name not in self.templates]
        return kernel, rest, {n: v for n, v in named.items() if n not in self.templates}

    # -- forms

    @property
    def primal(self) -> Form:
        """The kernel as it is launched, when all launches passed the same fields."""
        return self._only().primal

    @property
    def tangent(self) -> Form:
        """The kernel in forward mode, when all launches passed the same fields."""
        return self._only().tangent

    @property
    def adjoint(self) -> Form:
        """The kernel's reverse sweep, when all launches passed the same fields."""
        return self._only().adjoint

    def _only(self) -> Kernel:
        if len(self._kernels) != 1:
            names = ", ".join(self.templates)
            message = f"`{self.__name__}` is a kernel for each {names}, and there are {len(self._kernels)}"
            advice = f"say which one: `{self.__name__}.of({names}).adjoint`"
            raise LaunchTypeError(Diagnostic("argument", message, help=advice))
        return next(iter(self._kernels.values()))


def _identity(value: Any) -> Any:
    """What tells two values of a template parameter apart: the value, or which object it is."""
    return (type(value), value) if isinstance(value, int | float | str) else id(value)
