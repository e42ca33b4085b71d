"""Custom backward functions and constants: `grad_replaced`, `grad_for`, `no_grad`, `stop_grad`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import Stopped, dispatch
from dsim.runtime.recording.entries import Custom
from dsim.runtime.recording.forward_mode import ForwardMode
from dsim.runtime.state.references import ByName
from dsim.runtime.state.stack import opened
from dsim.runtime.tapes.tape import Tape

Function = Callable[..., Any]


class Replaced(ByName):
    """A function whose backward pass is another function, given by `grad_for`."""

    def __init__(self, function: Function) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._grad: Function | None = None

    @outermost
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls the function; under a tape, records it as one call with its own gradient."""
        tapes = [c for c in opened() if isinstance(c, Tape)]
        if not tapes:
            return self.function(*args, **named)
        self._refuse(tapes)
        call, done = Custom(functools.partial(self.grad, *args, **named), self.__name__), False
        try:
            with opened()[0].mirrors.undifferentiated(functools.partial(_paused, tapes, call)):
                for tape in tapes:
                    tape.begin(call)
                result = self.function(*args, **named)
            done = True
        finally:
            for tape in tapes:
                tape.end(call, done)
        return result

    def __get__(self, owner: object, kind: type | None = None) -> Function:
        """A method of `owner`, when it stands in a class; its `grad` is one, too."""
        if owner is None:
            return self
        bound = functools.update_wrapper(functools.partial(self, owner), self)
        bound.grad = functools.partial(self.grad, owner)  # type: ignore[attr-defined]
        return bound

    def _refuse(self, tapes: list[Tape]) -> None:
        if self._grad is None:
            message = f"`{self.__name__}` is under `grad_replaced`, but has no gradient function"
            advice = f"define one under `@ad.grad_for({self.__name__})`"
            raise GradientError(Diagnostic("not-differentiable", message, help=advice))
        first = opened().index(tapes[0])
        if any(isinstance(c, ForwardMode) for c in opened()[first:]):
            name = self.__name__
            message = f"`{name}` is under `grad_replaced`, and has no tangent that a tape could differentiate"
            raise GradientError(Diagnostic("not-differentiable", message))

    @outermost
    def grad(self, *args: Any, **named: Any) -> Any:
        """Calls the backward function."""
        if self._grad is None:
            message = f"`{self.__name__}` has no gradient function yet"
            advice = f"define one under `@ad.grad_for({self.__name__})`"
            raise GradientError(Diagnostic("missing-gradient", message, help=advice))
        return self._grad(*args, **named)

    def give(self, grad: Function) -> None:
        """Sets `grad` as the backward function."""
        self._grad = grad


@contextmanager
def _paused(tapes: list[Tape], call: Custom) -> Iterator[None]:
    """Within it, `tapes` record as if `call` had not begun."""
    belonging = [tape for tape in tapes if tape.end(call, False)]
    try:
        yield
    finally:
        for tape in belonging:
            tape.begin(call)


def grad_replaced(function: Function) -> Replaced:
    """Decorator: under a tape, the gradient of this Python function is what `grad_for` gives.

    The launches inside it are not recorded; going backwards, the tape calls the given function with the
    same arguments. Forward mode goes through the function itself.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f32, shape=(), needs_grad=True)
    >>> y = ti.field(ti.f32, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def twice():
    ...     y[None] += 2.0 * x[None]
    >>> @ti.ad.grad_replaced
    ... def ahead():
    ...     twice()
    >>> @ti.ad.grad_for(ahead)
    ... def back():
    ...     x.grad[None] += 10.0 * y.grad[None]
    >>> with ti.ad.Tape(y):
    ...     ahead()
    >>> x.grad[None]
    10.0
    """
    return Replaced(function)


def grad_for(primal: Replaced) -> Callable[[Function], Function]:
    """Decorator: this function is the backward pass of `primal`, a function under `grad_replaced`."""
    if not isinstance(primal, Replaced):
        name = getattr(primal, "__name__", repr(primal))
        message = f"`{name}` is not decorated with `grad_replaced`"
        raise GradientError(Diagnostic("argument", message, help="decorate it with `@ad.grad_replaced`"))

    def decorate(grad: Function) -> Function:
        primal.give(grad)
        return grad

    return decorate


class Undifferentiated:
    """A function or kernel that tapes and forward mode see as constant."""

    def __init__(self, function: Function) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    @outermost
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls it; what it writes stops gradients and tangents."""
        if not opened():
            return self.function(*args, **named)
        stopped = Stopped()
        with opened()[0].mirrors.undifferentiated(stopped.paused), stopped:
            return self.function(*args, **named)

    @outermost
    def grad(self, *args: Any, **named: Any) -> None:
        """Does nothing, as in Taichi: what is constant passes no gradient on."""

    def __get__(self, owner: object, kind: type | None = None) -> Undifferentiated:
        """A method of `owner`, when it stands in a class."""
        return self if owner is None else Undifferentiated(self.function.__get__(owner, kind))


def no_grad(function: Function) -> Function:
    """Decorator: what is launched inside this function or kernel is not differentiated, in either mode.

    What it writes counts as constant: an overwritten element passes no gradient further back.
    """
    return Undifferentiated(function)


def stop_grad(field: Any) -> Any:
    """Cuts the dependence of a field's present values on what they were computed from.

    Inside a kernel it is a function of a value. On a number it does nothing.
    """
    if isinstance(field, StructField):
        for member in field.__dsim_struct_field__.values():
            stop_grad(member)
    elif isinstance(field, Field) and opened() and field.dtype.is_float:
        field.require()
        dispatch(host_kernels.form(host_kernels.Stop, field), ())
    return field
