"""A launcher per compiled kernel: Python code generated for its parameters and captures, for fast launches.

In order, it takes the arguments, converts those that do not have the kernel's types,
compares captured values with their present ones, launches, and returns the result as Python numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, LaunchTypeError, Span
from dsim.frontend.source.captures import LengthRead, PlainRead, changed, length, plain
from dsim.frontend.source.lowered import (
    AnyReturn,
    Capture,
    Lowered,
    OneReturn,
    Param,
    SeveralReturns,
    StructParam,
    StructReturns,
)
from dsim.frontend.source.paths import MISSING, OfCell, OfModule
from dsim.frontend.values.values import describe_shape
from dsim.ir.types import ScalarType
from dsim.runtime.driver import pipeline
from dsim.runtime.fields import access
from dsim.runtime.fields.host_values.values import Array
from dsim.runtime.fields.structs import HostStruct, described, members_of, struct_of
from dsim.runtime.kernels.array_launch import ArrayLaunch
from dsim.runtime.kernels.field_arguments import FieldArguments
from dsim.runtime.launching.faults import raised
from dsim.runtime.launching.forms import Form
from dsim.runtime.state import turns
from dsim.runtime.state.randomness import next_launch
from dsim.runtime.state.stack import STACK
from dsim.runtime.state.write_clock import CLOCK

Launch = Callable[..., Any]


class Parameters:
    """The user's parameters of one kernel: conversion of arguments, and its errors."""

    def __init__(self, name: str, params: Sequence[Param | StructParam], span: Span | None) -> None:
        self.name = name
        self.params = tuple(params)
        self.span = span

    def number(self, at: int) -> Callable[[Any], Any]:
        """The function that makes argument number `at`, a scalar, a Python number of its type."""
        param = self.params[at]
        assert isinstance(param, Param)

        def convert(value: Any) -> Any:
            if isinstance(value, np.ndarray | Array) and np.asarray(value).ndim:
                raise self._refused(param, f"got an array of shape {np.asarray(value).shape}")
            if isinstance(value, np.ndarray | np.bool_):
                value = value.item()
            try:
                return strict_scalar(param.type, value)
            except (TypeError, ValueError, OverflowError) as wrong:
                raise self._refused(param, str(wrong)) from None

        return convert

    def entries(self, at: int) -> Callable[[Any], tuple[Any, ...]]:
        """The function that makes argument number `at` a tuple of its numbers."""
        param = self.params[at]

        def convert(value: Any) -> tuple[Any, ...]:
            return tuple(self._entries(param, value))

        return convert

    def _entries(self, param: Param | StructParam, value: Any) -> Iterator[Any]:
        """The numbers of an argument, or of a member of one, in order."""
        if isinstance(param, StructParam):
            yield from self._members(param, value)
            return
        try:
            array = np.asarray(value)
        except ValueError:
            raise self._refused(param, "got rows of different lengths") from None
        if array.shape != param.shape or array.dtype == object:
            got = f"got shape {array.shape}" if array.shape else f"got {described(value)}"
            raise self._refused(param, got)
        try:
            yield from [strict_scalar(param.type, v) for v in array.ravel().tolist()]
        except (TypeError, ValueError, OverflowError) as wrong:
            raise self._refused(param, str(wrong)) from None

    def _members(self, param: StructParam, value: Any) -> Iterator[Any]:
        given = members_of(value) if isinstance(value, HostStruct | Mapping) else {}
        if set(given) != set(param.kind.keys):
            raise self._refused(param, f"got {described(value)}")
        for name, member in zip(param.kind.keys, param.members, strict=True):
            yield from self._entries(member, given[name])

    def _refused(self, param: Param | StructParam, why: str) -> LaunchTypeError:
        if isinstance(param, StructParam):
            what = f"a struct of {', '.join(f'`{k}`' for k in param.kind.keys)}"
        else:
            what = _described(param)
        message = f"argument `{param.name}` of `{self.name}` is {what}: {why}"
        return LaunchTypeError(Diagnostic("argument", message, self.span, "defined here"))


def _described(param: Param) -> str:
    """``an f32``, ``a vector of 3 f32``, ``a matrix of 2 by 2 f32``."""
    return f"{describe_shape(param.shape)} {param.type}" if param.shape else _article(param.type)


def _article(t: ScalarType) -> str:
    return f"{'a' if t.name[0] == 'u' else 'an'} {t.name}"


def strict_scalar(t: ScalarType, value: Any) -> Any:
    """`value` as a Python number of type `t`; floats are not integers, not even 2.0."""
    if t.is_integer and isinstance(value, float | np.floating):
        raise TypeError(f"got the float {value}")
    if not isinstance(value, int | float | np.number | np.bool_ | np.ndarray | Array) and not hasattr(
        value, "__index__"
    ):
        raise TypeError(f"got {type(value).__name__}")
    number = access.scalar(t, value)
    if t.is_float and math.isfinite(number) and abs(number) > float(np.finfo(t.numpy).max):
        raise OverflowError(f"{number} is beyond the largest {t}")
    return number


def launcher(
    parameters: Parameters,
    lowered: Lowered,
    form: Form,
    stale: Launch,
    remember: Callable[[int], None],
    arrays: ArrayLaunch | None = None,
    elsewhere: Launch | None = None,
) -> Launch:
    """The function that launches `form` for a user's arguments, of which there is the right number.

    Parameters
    ----------
    stale : callable
        Called with the arguments when a captured value has changed.
    remember : callable
        Called with the number of each launch that draws random numbers.
    arrays : ArrayLaunch, optional
        Of a kernel that takes arrays, what launches it instead; their memories are the first argument.
    elsewhere : callable, optional
        Called with the arguments when one of the arrays is a field that the kernel captured.
    """
    scope: dict[str, Any] = {
        "contexts_here": STACK.get, "turn": turns.current,
        "FAULTS": pipeline.FAULTS, "raised": raised, "form": form, "fields": form.fields,
        "stale": stale, "remember": remember, "next_launch": next_launch,
        "result_of": _results(lowered.returns),
    }  # fmt: skip
    args = ", ".join(["arrays"] * (arrays is not None) + [f"a{n}" for n in range(len(parameters.params))])
    stale_then = f"return stale({args})"
    body = _comparing(lowered, scope, stale_then)
    body += lowered.launch_numbers.lines(scope, stale_then)
    if arrays is not None and arrays.captured:
        scope |= {"is_captured": arrays.is_captured, "elsewhere": elsewhere}
        body.append(f"if is_captured(arrays): return elsewhere({args})")
    checks, values = _taking(parameters, scope)
    body += checks
    values += lowered.launch_numbers.passed
    if lowered.random:
        body += ["number = next_launch()", "remember(number)"]
        values.append("number")
    if arrays is not None:
        scope |= {"run": arrays.run, "run_on": arrays.run_on, "FieldArguments": FieldArguments}
        given = f"(arrays, ({', '.join(values)}{',' if values else ''}))"
        plain = "run_on if type(arrays) is FieldArguments and not contexts_here() else "
        body.append(f"result = ({'' if arrays.beside else plain}run){given}")
    else:
        body += _launching(form, ", ".join(values), scope)
    if lowered.returns is not None:
        body.append("return result_of(result)")
    source = f"def launch({args}):\n" + "\n".join(f"    {line}" for line in body)
    exec(compile(source, f"<launch of {parameters.name}>", "exec"), scope)
    return scope["launch"]


def _taking(parameters: Parameters, scope: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Lines that check the arguments, and the names of the kernel's own."""
    lines: list[str] = []
    values: list[str] = []
    for n, p in enumerate(parameters.params):
        if isinstance(p, StructParam) or p.shape:
            scope[f"convert{n}"] = parameters.entries(n)
            lines.append(f"a{n} = convert{n}(a{n})")
            values.append(f"*a{n}")
            continue
        scope[f"convert{n}"] = parameters.number(n)
        lines.append(f"if {_unfit(f'a{n}', p.type)}: a{n} = convert{n}(a{n})")
        values.append(f"a{n}")
    return lines, values


def _unfit(name: str, t: ScalarType) -> str:
    """The fast test whether an argument may not be a number of type `t`."""
    if t.is_float:
        largest = float(np.finfo(t.numpy).max)
        beyond = f" or not {-largest} <= {name} <= {largest}" if t.bits < 64 else ""
        return f"type({name}) is not float{beyond}"
    if t.kind == "bool":
        return f"type({name}) is not bool"
    low, high = access.integer_limits(t)
    return f"type({name}) is not int or not {low} <= {name} <= {high}"


def _comparing(lowered: Lowered, scope: dict[str, Any], stale_then: str) -> list[str]:
    """Lines that compare captured values with their present ones."""
    scope |= {"MISSING": MISSING, "changed": changed, "plain": plain, "length": length}
    same: list[str] = []
    for n, c in enumerate(lowered.objects):
        scope[f"object{n}"] = c.value
        same.append(f"{_now(c.read, f'object{n}', scope)} is object{n}")
    same += [_same(c, f"constant{n}", scope) for n, c in enumerate(lowered.captures)]
    if not same:
        return []
    lines = ["try:", f"    fresh = {' and '.join(same)}", "except ValueError:", "    fresh = False"]
    return [*lines, f"if not fresh: {stale_then}"]


def _same(capture: Capture, name: str, scope: dict[str, Any]) -> str:
    """An expression for whether a captured value is what it was."""
    scope[name] = capture.value
    if isinstance(capture.read, LengthRead):
        return f"length({_now(capture.read.read, name, scope)}) == {name}"
    of, now = (
        (capture.read.read, "plain(now)") if isinstance(capture.read, PlainRead) else (capture.read, "now")
    )
    equal = f"type(now) is int and now == {name} or " if type(capture.value) is int else ""
    return f"((now := {_now(of, name, scope)}) is {name} or {equal}not changed({now}, {name}))"


def _now(read: Callable[[], object], name: str, scope: dict[str, Any]) -> str:
    """An expression for the captured value now; an empty cell raises ValueError."""
    if isinstance(read, OfCell):
        scope[f"cell_of_{name}"] = read.cell
        return f"cell_of_{name}.cell_contents"
    if isinstance(read, OfModule):
        scope[f"globals_of_{name}"] = read.module.get
        return f"globals_of_{name}({read.name!r}, MISSING)"
    scope[f"read_{name}"] = read
    return f"read_{name}()"


def _launching(form: Form, values: str, scope: dict[str, Any]) -> list[str]:
    scope["marks"], scope["clock"], scope["last"] = form.marks, CLOCK, form.last
    marking = ["    for f in marks: f.touched = turn()"] if form.marks else []
    scope["gradients"] = form.gradients
    asking = ["for f in gradients: f.looked_at()"] if form.gradients else []
    return [
        *asking,
        "contexts = contexts_here()",
        "if contexts:",
        f"    result = contexts[-1].launch(form, ({values}{',' if values else ''}))",
        "else:",
        *marking,
        "    last.moment = clock.now",
        "    try:",
        f"        result = form.native({values})",
        "    except FAULTS as fault:",
        "        raise raised(fault, fields) from None",
    ]


def _results(returns: AnyReturn | None) -> Callable[[tuple[Any, ...]], Any]:
    if isinstance(returns, SeveralReturns):
        parts = returns.parts
        return lambda values: _several(parts, iter(values))
    if isinstance(returns, StructReturns):
        return lambda values: struct_of(returns.kind, iter(values))
    if returns is None or not returns.shape:
        return lambda values: values[0] if values else None
    shape, dtype = returns.shape, returns.dtype.numpy
    return lambda values: Array(np.array(values, dtype).reshape(shape))


def _several(parts: tuple[OneReturn, ...], values: Iterator[Any]) -> tuple[Any, ...]:
    """The parts of a tuple, each of the next of `values`."""
    out: list[Any] = []
    for r in parts:
        if isinstance(r, StructReturns):
            out.append(struct_of(r.kind, values))
        else:
            out.append(_results(r)(tuple(islice(values, math.prod(r.shape)))))
    return tuple(out)


def up_to_date(lowered: Lowered) -> bool:
    """Whether no captured value has changed."""
    return (
        all(c.read() is c.value for c in lowered.objects)
        and not any(changed(c.read(), c.value) for c in lowered.captures)
        and lowered.launch_numbers.now() is not None
    )


def promotable(capture: Capture) -> bool:
    """Whether a captured value can become a parameter: it is one number, and still is."""
    now = capture.read()
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in (now, capture.value))
