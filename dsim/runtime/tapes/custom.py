"""Custom backward functions and constants: `grad_replaced`, `grad_for`, `no_grad`, `stop_grad`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.diagnostics.places import caller
from dsim.runtime.checking import runs
from dsim.runtime.fields.brought import is_tensor, numbers_in
from dsim.runtime.fields.components import Component, kind_of
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import Stopped, dispatch
from dsim.runtime.recording.forward_mode import ForwardMode
from dsim.runtime.recording.launch_recorder import LaunchRecorder
from dsim.runtime.saving.entries import Custom
from dsim.runtime.state.references import ByName
from dsim.runtime.state.stack import opened

Function = Callable[..., Any]
_SEVERAL = (list, tuple, set, frozenset, dict)
_NOT_STOPPED = (*_SEVERAL, Component, np.ndarray)
Calls = list[tuple[LaunchRecorder, Custom]]


class Replaced(ByName):
    """A function whose backward pass is another function, given by `grad_for`."""

    def __init__(self, function: Function) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._grad: Function | None = None
        self._reads: Any = None

    @outermost
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls the function; under a tape, records it as one call with its own gradient."""
        if opened():
            opened()[-1].replaced(self.__name__)
        tapes = _recording()
        if not tapes:
            return self.function(*args, **named)
        self._refuse_without()
        self._refuse_in_steps(tapes)
        reads = self._fields(self._reads(*args, **named) if callable(self._reads) else self._reads)
        back = functools.partial(self.grad, *args, **named)
        calls = [(tape, Custom(back, self.__name__, reads, _tangents(tape))) for tape in tapes]
        arrays = list(_arrays(self.function, args, named))
        _shadows(arrays, self.__name__, meets=False)  # Python's writes so far are none of the function's
        done = False
        try:
            with opened()[0].mirrors.undifferentiated(functools.partial(_paused, calls)):
                for tape, call in calls:
                    tape.begin(call)
                result = runs.call(self.function, *args, **named)
                for field in _shadows(arrays, self.__name__):
                    for _, call in calls:
                        call.looked_at(field)
            self._refuse_relabelled(calls)
            done = True
        finally:
            for tape, call in calls:
                tape.end(call, done)
                if not done:
                    tape.failed(self.__name__, frozenset(call.written()))
                    tape.give_up(call)
        return result

    def __get__(self, owner: object, kind: type | None = None) -> Function:
        """A method of `owner`, when it stands in a class; its `grad` is one, too."""
        if owner is None:
            return self
        bound = functools.update_wrapper(functools.partial(self, owner), self)
        bound.grad = functools.partial(self.grad, owner)  # type: ignore[attr-defined]
        return bound

    def _refuse_without(self) -> None:
        if self._grad is None:
            message = f"`{self.__name__}` is under `grad_replaced`, but has no gradient function"
            advice = f"define one under `@ad.grad_for({self.__name__})`"
            raise GradientError(Diagnostic("not-differentiable", message, help=advice))

    def _refuse_in_steps(self, tapes: list[LaunchRecorder]) -> None:
        """Refuses steps of a tape inside another one, which sees launches that run again, and not Python."""
        if any(tape.open_loop is not None for tape in tapes[1:]):
            message = (
                f"`{self.__name__}`, under `grad_replaced`, is called in steps with checkpoints, inside of "
                "another tape or transform, which cannot see it when they run again"
            )
            advice = "take the loop out of `steps` and `checkpoint`, or differentiate once"
            raise GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))

    def _refuse_relabelled(self, calls: Calls) -> None:
        """Refuses a function that works with tangents as values, and that a forward mode inside a tape sees.

        What was a tangent of that mode at its begin is a value at its end.
        """
        if any(call.tangents != _tangents(tape) for tape, call in calls):
            name = self.__name__
            message = f"`{name}`, under `grad_replaced`, uses tangents inside a forward mode inside a tape"
            advice = "use them outside that function"
            raise GradientError(Diagnostic("not-differentiable", message, help=advice))

    @outermost
    def grad(self, *args: Any, **named: Any) -> Any:
        """Calls the backward function."""
        if self._grad is None:
            message = f"`{self.__name__}` has no gradient function yet"
            advice = f"define one under `@ad.grad_for({self.__name__})`"
            raise GradientError(Diagnostic("missing-gradient", message, help=advice))
        return self._grad(*args, **named)

    def give(self, grad: Function, reads: Any) -> None:
        """Sets `grad` as the backward function, which reads the fields `reads`."""
        if not callable(reads):
            self._fields(reads)
        self._grad, self._reads = grad, reads

    def _fields(self, reads: Any) -> frozenset[Field] | None:
        """The fields that `reads` names, those of a struct field one by one; None for all."""
        if reads is None:
            return None
        given = [reads] if isinstance(reads, Field | StructField) else reads
        found: set[Field] = set()
        for f in given if isinstance(given, Iterable) else [given]:
            if isinstance(f, StructField):
                found.update(self._fields(f.__dsim_struct_field__.values()) or ())
            elif isinstance(f, Field):
                f.require()
                found.add(f)
            else:
                name = self.__name__
                message = f"`reads` names fields that the gradient of `{name}` reads, not {kind_of(f)}"
                advice = "NumPy arrays are kept in any case" if isinstance(f, np.ndarray) else "reads=[x, y]"
                raise GradientError(Diagnostic("argument", message, help=advice))
        return frozenset(found)


def _recording() -> list[LaunchRecorder]:
    """The tapes and transforms that record: inside `no_grad` none of those around it."""
    found: list[LaunchRecorder] = []
    for context in opened():
        if isinstance(context, Stopped):
            found.clear()
        elif isinstance(context, LaunchRecorder):
            found.append(context)
    return found


def _tangents(tape: LaunchRecorder) -> frozenset[str]:
    """The labels of the tangents that forward modes inside `tape` carry."""
    inside = opened()[opened().index(tape) :]
    return frozenset(c.label for c in inside if isinstance(c, ForwardMode))


def _arrays(
    function: Function, args: tuple[Any, ...], named: Mapping[str, Any]
) -> Iterator[tuple[str, np.ndarray]]:
    """The NumPy arrays among the arguments, by parameter: Python may read them, so tapes save them."""
    for at, value in [*enumerate(args), *named.items()]:
        array = numbers_in(value)
        if array is not None:
            names = list(inspect.signature(function).parameters)
            yield at if isinstance(at, str) else names[min(at, len(names) - 1)], array


def _shadows(arrays: Iterable[tuple[str, np.ndarray]], function: str, meets: bool = True) -> list[Field]:
    """The fields that hold the numbers of arrays, as these are now; new ones if it `meets` arrays here."""
    mirrors = opened()[0].mirrors
    found = (mirrors.argument(array, name, function, meets) for name, array in arrays)
    return [f for f in found if f is not None and not f.derivative]


@contextmanager
def _paused(calls: Calls) -> Iterator[None]:
    """Within it, tapes record as if their calls had not begun."""
    belonging = [(tape, call) for tape, call in calls if tape.end(call, False)]
    try:
        yield
    finally:
        for tape, call in belonging:
            tape.begin(call)


def grad_replaced(function: Function) -> Replaced:
    """Decorator: under a tape, the gradient of this Python function is what `grad_for` gives.

    The launches inside it are not recorded; going backwards, the tape calls the given function with the
    same arguments. Forward mode goes through the function itself; transforms refuse products from the left,
    which would not be those of the given function.

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


@outermost
def grad_for(primal: Replaced, reads: Any = None, linear: bool = False) -> Callable[[Function], Function]:
    """Decorator: this function is the backward pass of `primal`, a function under `grad_replaced`.

    Parameters
    ----------
    primal : function under `grad_replaced`
        What it belongs to.
    reads : sequence of Field, or callable, optional
        The fields whose values it reads, beside gradients; or a function that gets the call's arguments and
        returns them. A tape saves these alone when they are overwritten. None means all that `primal` uses.
    linear : bool, default False
        Whether it reads no values, only gradients: the same as ``reads=[]``.

    Raises
    ------
    AccessRuleError
        In the backward pass, when it reads values that `reads` does not name and that were overwritten.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> y = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def twice():
    ...     y[None] += 2.0 * x[None]
    >>> @ti.ad.grad_replaced
    ... def ahead():
    ...     twice()
    >>> @ti.ad.grad_for(ahead, linear=True)
    ... def back():
    ...     twice.grad()
    >>> with ti.ad.Tape(y) as tape:
    ...     ahead()
    ...     x[None] = 7.0
    >>> x.grad[None], tape.saved_bytes
    (2.0, 0)
    """
    if not isinstance(primal, Replaced):
        name = getattr(primal, "__name__", repr(primal))
        message = f"`{name}` is not decorated with `grad_replaced`"
        raise GradientError(Diagnostic("argument", message, help="decorate it with `@ad.grad_replaced`"))
    if linear and reads is not None:
        message = "`linear=True` says that no values are read, and `reads` names some"
        raise GradientError(Diagnostic("argument", message, help="pass one of them"))

    @outermost
    def decorate(grad: Function) -> Function:
        primal.give(grad, () if linear else reads)
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
            return runs.call(self.function, *args, **named)

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


@outermost
def stop_grad(field: Any) -> Any:
    """Cuts the dependence of a field's present values on what they were computed from.

    Inside a kernel it is a function of a value. On a number it does nothing.

    Raises
    ------
    GradientError
        Inside a tape or forward mode, of a part of a field, of several fields at once, and of a NumPy array.
    """
    if isinstance(field, StructField):
        for member in field.__dsim_struct_field__.values():
            stop_grad(member)
    elif isinstance(field, Field) and opened() and field.dtype.is_float:
        field.require()
        dispatch(host_kernels.form(host_kernels.Stop, field), ())
    elif opened() and (isinstance(field, _NOT_STOPPED) or is_tensor(field)):
        message = f"`stop_grad` applies to a whole field, got {kind_of(field)}"
        advice = "pass a field or an `ndarray`; or write `stop_grad(…)` around each read in the kernel"
        advice = "call it for each of the fields" if isinstance(field, _SEVERAL) else advice
        raise GradientError(Diagnostic("argument", message, caller(), help=advice))
    return field
