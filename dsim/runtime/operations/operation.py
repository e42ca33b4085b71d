"""The public object of a host operation: a decorated function with its rules, called on arrays and fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.ir.types import from_numpy
from dsim.runtime.fields.brought import has_mask, numbers_of
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field, kind_of, youngest, zeros_like
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import dispatch
from dsim.runtime.operations.call_attributes import CallAttributes, marked
from dsim.runtime.operations.forms import OperationForm, constant_view
from dsim.runtime.operations.rules import Attributes, HostFunction, HostRule, defined, definition, remember
from dsim.runtime.operations.traced_arrays import TracedArray
from dsim.runtime.state.once import kept
from dsim.runtime.state.references import ByName
from dsim.runtime.state.stack import opened

_EMPTY = inspect.Parameter.empty
_INPUTS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
_KEYWORDS = {"jvp": ("tangents",), "vjp": ("adjoint",), "jacobian": ()}


class Operation(ByName):
    """A NumPy function with derivatives that a user gives; `operation` makes it.

    Attributes
    ----------
    host : HostFunction
        The function and its rules.
    """

    __dsim_operation__ = True
    word = "operation"

    def __init__(self, function: Callable[..., Any], check: bool = True) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        remember(function)
        self.host = HostFunction(function, check)
        self._attributes = {
            p.name: p.default for p in self.host.signature.parameters.values() if p.kind is p.KEYWORD_ONLY
        }
        if "out" in self.host.signature.parameters:
            message = f"`{self.__name__}` has a parameter `out`, which names the fields for its results"
            raise LaunchTypeError(
                Diagnostic(
                    "argument",
                    message,
                    self.host.span,
                    help="give it another name, or put a function around it",
                )
            )

    def __repr__(self) -> str:
        rules = ", ".join(self.host.rules) or "no rules"
        return f"<operation {self.__name__}: {rules}>"

    # -- rules

    @outermost
    def jvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the tangents of the results, ``rule(*inputs, out=, tangents=, **attributes)``.

        `tangents` has one for each input, None for integers. The rule may do without `out`, the results.
        """
        return self._give("jvp", rule)

    @outermost
    def vjp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the adjoints of the inputs, ``rule(*inputs, out=, adjoint=, **attributes)``.

        `adjoint` is of the form of the result. None stands for 0. The rule may do without `out`.
        """
        return self._give("vjp", rule)

    @outermost
    def jacobian(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: a matrix for each input, ``rule(*inputs, out=, **attributes)``, which gives both modes.

        It has a row for each number of the result, and a column for each of the input: a NumPy array, a
        sparse matrix or a `LinearOperator` of SciPy. None stands for 0.
        """
        return self._give("jacobian", rule)

    def _give(self, kind: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        remember(rule)
        wanted = (*_KEYWORDS[kind], *self._attributes)
        parameters = inspect.signature(rule).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        keywords = {
            p.name for p in parameters.values() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
        }
        missing = [name for name in wanted if name not in keywords]
        if missing and not takes_any:
            names = ", ".join(f"`{name}`" for name in missing)
            message = f"this {kind} of `{self.__name__}` takes no {names}"
            advice = f"write `def rule(*inputs, *, out, {', '.join(wanted)})`".replace(
                "*inputs, *", "*inputs"
            )
            raise LaunchTypeError(Diagnostic("argument", message, definition(rule), help=advice))
        self._refuse_further(kind, rule, wanted)
        self.host.give(HostRule(kind, rule, takes_any or "out" in keywords))
        return rule

    def _refuse_further(self, kind: str, rule: Callable[..., Any], keywords: Sequence[str]) -> None:
        """Refuses a rule that cannot be called with the inputs, where their number is known."""
        inputs = [p for p in self.host.signature.parameters.values() if p.kind in _INPUTS]
        if any(p.kind is p.VAR_POSITIONAL for p in inputs):
            return
        signature = inspect.signature(rule)
        named = {k: None for k in (*keywords, "out") if k in signature.parameters}
        try:
            signature.bind(*inputs, **named)
        except TypeError as wrong:
            count = f"its {len(inputs)} input{'' if len(inputs) == 1 else 's'}"
            message = f"this {kind} of `{self.__name__}` cannot be called with {count}: {wrong}"
            advice = "give it the parameters before the `*`, as those of the function"
            raise LaunchTypeError(Diagnostic("argument", message, definition(rule), help=advice)) from None

    # -- calls

    @outermost
    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """Calls the function: on fields, with `out`, as an operation that tapes and forward modes see."""
        inputs, attributes = self._bound(args, named)
        traced = next((a for a in inputs if isinstance(a, TracedArray)), None)
        if traced is not None:
            if out is not None:
                raise self._refused("has no `out` inside a rule", "use its result")
            return traced.trace.apply(self.host, inputs, attributes)
        if out is None:
            self._refuse_fields(inputs)
            return self.host.values(inputs, attributes)
        single = not isinstance(out, tuple | list)
        outputs = (out,) if single else tuple(out)
        for n, given in enumerate(outputs):
            if not isinstance(given, Field | np.ndarray):
                raise self._refused_target(given)
            if has_mask(given):
                raise self._refused("writes to plain arrays, and `out` is a masked one", "pass its `.data`")
            if isinstance(given, np.ndarray) and not given.flags.writeable:
                raise self._refused("writes to `out`, and the array is read-only", "pass a copy")
            if any(given is other for other in outputs[:n]):
                advice = "pass a field of its own for each result"
                raise self._refused("has two results, and `out` names one field twice", advice)
        if opened():
            self._inside(inputs, attributes, outputs, single)
        else:
            self._run(inputs, attributes, outputs, single)
        return out

    def _bound(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], Attributes]:
        """The inputs, and all attributes with their defaults."""
        try:
            bound = self.host.signature.bind(*args, **named)
        except TypeError as wrong:
            advice = f"its parameters are `{self.host.signature}`, and `out=` for its result"
            raise self._refused(f"cannot be called like this: {wrong}", advice) from None
        bound.apply_defaults()
        for name, value in bound.kwargs.items():
            if isinstance(value, Field | Component | TracedArray):
                message = f"is not differentiated by `{name}`, which is {kind_of(value)}"
                raise self._refused(message, "make it a parameter before the `*`: an input")
        return tuple(bound.args), dict(bound.kwargs)

    def _refuse_fields(self, inputs: Sequence[Any]) -> None:
        if any(isinstance(a, Field | Component) for a in inputs):
            raise self._refused(
                "is given fields, and no `out`", f"write `{self.__name__}(…, out=x)`: a field for its result"
            )

    def _run(
        self, inputs: Sequence[Any], attributes: Attributes, outputs: Sequence[Any], single: bool
    ) -> None:
        """Runs it outside every context."""
        arrays = [self._numbers(a) for a in inputs]
        memories = [f.require() if isinstance(f, Field) else f for f in outputs]
        found = self.host.results(self.host.values(arrays, attributes), memories, single)
        if len(found) > 1:  # they may be views of what is written
            found = [np.array(a) for a in found]
        for field, memory, array in zip(outputs, memories, found, strict=True):
            memory[...] = array
            if isinstance(field, Field):
                field.written_by_python()

    def _numbers(self, given: Any) -> np.ndarray:
        if isinstance(given, Field):
            given.looked_at()
            given.require()
            return constant_view(given)
        array = self._array(given).view()
        array.flags.writeable = False
        return array

    def _array(self, given: Any) -> np.ndarray:
        """An input that is no field."""
        if isinstance(given, Component):
            raise self._refused(
                "takes whole fields, not a component of one", "copy it: `x.copy_from(component)`"
            )
        try:
            array = numbers_of(given)
        except TypeError as wrong:
            problem, _, advice = str(wrong).partition(": ")
            advice = advice or "pass an array that has its own memory"
            raise self._refused(f"takes fields, arrays and numbers: {problem}", advice) from None
        try:
            from_numpy(array.dtype)
        except KeyError:
            what = f"an array of {array.dtype}" if array.ndim else kind_of(given)
            advice = _advice(array, given)
            raise self._refused(f"takes fields, arrays and numbers, not {what}", advice) from None
        return array

    def _inside(
        self, inputs: Sequence[Any], attributes: Attributes, outputs: Sequence[Any], single: bool
    ) -> None:
        """Launches it in the open contexts. NumPy's arrays have shadow arrays there."""
        names = list(self._names(len(inputs)))
        given = tuple(self._field(a, name) for a, name in zip(inputs, names, strict=True))
        targets = tuple(self._field(a, "out") for a in outputs)
        results = tuple(_apart(f) if f in given else f for f in targets)
        launched = self._form(given, attributes, results, single)
        arrays = [(a, f) for a, f in zip(outputs, targets, strict=True) if isinstance(a, np.ndarray)]
        try:
            dispatch(launched, ())
            for target, result in zip(targets, results, strict=True):
                if target is not result:
                    dispatch(host_kernels.form(host_kernels.Copy, target, result), ())
        finally:
            for array, field in arrays:
                array[...] = field.require()
            opened()[0].mirrors.written([f for _, f in arrays], self.__name__)
        for _, field in arrays:
            opened()[-1].element_read(field)

    def _names(self, count: int) -> Iterator[str]:
        known = list(self.host.signature.parameters)
        for n in range(count):
            yield known[min(n, len(known) - 1)]

    def _field(self, given: Any, name: str) -> Field:
        if isinstance(given, Field):
            given.looked_at()
            given.require()
            return given
        return opened()[0].mirrors.of(self._array(given), 0, name, self.__name__)

    def _form(
        self, inputs: tuple[Field, ...], attributes: Attributes, outputs: tuple[Field, ...], single: bool
    ) -> OperationForm:
        """The operation on these fields: one form each, kept with the youngest of them."""

        def make() -> OperationForm:
            given = CallAttributes(attributes, self.host.names())
            return OperationForm(self.host, inputs, given, outputs, single)

        values = marked(attributes, self.host.names())
        known = (self.host.version, self.host.captured())
        key = ("operation", self.host, known, inputs, values, outputs, single)
        try:
            hash(key)
        except TypeError:  # an attribute that may change
            return make()
        return kept(youngest((*inputs, *outputs)).operations, key, make)

    def _refused_target(self, given: Any) -> LaunchTypeError:
        advice = "pass a field of its own"
        if isinstance(given, Component):
            advice += ", and copy it: `component.copy_from(x)`"
        return self._refused(f"writes to fields and arrays, and `out` is {kind_of(given)}", advice)

    def _refused(self, why: str, advice: str = "") -> LaunchTypeError:
        message = f"`{self.__name__}` {why}"
        return LaunchTypeError(Diagnostic("argument", message, labels=defined(self.host.span), help=advice))


def _advice(array: np.ndarray, given: Any) -> str:
    """What to do about an input whose numbers are of a type that fields do not have."""
    if array.dtype.kind == "c":
        return "pass real and imaginary parts, as a last axis of 2: `np.stack([z.real, z.imag], -1)`"
    if array.dtype.kind in "iuf" or isinstance(given, np.ndarray):
        return "it takes real numbers in the machine's byte order: convert them, as with `.astype(float)`"
    return "parameters before the `*` are inputs: make others keyword-only, which are attributes"


def _apart(field: Field) -> Field:
    """A field for the result of an operation that replaces its own input: the same each time."""
    name = f"{field.root.given_name or 'operand'}_result"
    return kept(field.operations, ("result", field), lambda: zeros_like(field, name))


@overload
def operation(function: Callable[..., Any], *, check: bool = True) -> Operation: ...


@overload
def operation(function: None = None, *, check: bool = True) -> Callable[[Callable[..., Any]], Operation]: ...


def operation(function: Callable[..., Any] | None = None, *, check: bool = True) -> Any:
    """Decorator: a NumPy function on the values of fields, differentiated by rules that a user gives.

    Parameters
    ----------
    function : callable
        Takes arrays and returns an array, or a tuple of some; it changes nothing. Its parameters before the
        ``*`` are inputs; keyword-only ones are attributes, which are not differentiated.
    check : bool, default True
        Whether a jvp and a vjp are compared with each other when they are first used.

    Examples
    --------
    >>> import dsim as ti
    >>> import numpy as np
    >>> @ti.ad.operation
    ... def inverse(A):
    ...     return np.linalg.inv(A)
    >>> @inverse.jvp
    ... def _(A, /, *, out, tangents):
    ...     return -out @ tangents[0] @ out
    >>> @inverse.vjp
    ... def _(A, /, *, out, adjoint):
    ...     return -out.T @ adjoint @ out.T
    >>> a = ti.field(ti.f64, shape=(1, 1), needs_grad=True)
    >>> b = ti.field(ti.f64, shape=(1, 1), needs_grad=True)
    >>> loss = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def read():
    ...     loss[None] = b[0, 0]
    >>> a.fill(2.0)
    >>> with ti.ad.Tape(loss):
    ...     _ = inverse(a, out=b)
    ...     read()
    >>> float(loss[None]), float(a.grad[0, 0])
    (0.5, -0.25)
    """
    if function is None:
        return functools.partial(operation, check=check)
    if not callable(function) or not hasattr(function, "__name__"):
        message = f"an operation is a Python function, not {kind_of(function)}"
        raise GradientError(Diagnostic("argument", message, help="write `@ds.ad.operation` above a `def`"))
    return Operation(function, check)
