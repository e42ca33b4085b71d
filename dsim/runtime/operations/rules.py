"""A host function with its rules, and how these are called: on arrays, or on traced arrays."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from dsim.diagnostics import Diagnostic, DsimError, GradientError, Label, LaunchTypeError, Span
from dsim.diagnostics.places import ours
from dsim.frontend.source import source
from dsim.runtime.fields.brought import is_masked
from dsim.runtime.operations.call_attributes import CallAttributes
from dsim.runtime.operations.captured import CapturedValues, Snapshot, changed
from dsim.runtime.operations.foreign_changes import ForeignChanges
from dsim.runtime.operations.traced_arrays import OPERATORS, TracedArray
from dsim.weak_mappings import WeakKeys

Attributes = dict[str, Any]
# Where functions and rules are defined: found when a message or a form needs it.
_SPANS: WeakKeys[Any, Span | None] = WeakKeys()
_WORDS = {"jvp": ("tangents", "forward mode"), "vjp": ("adjoint", "a tape"), "jacobian": ("", "")}


class HostRule(NamedTuple):
    """One rule.

    Attributes
    ----------
    kind : {"jvp", "vjp", "jacobian"}
        Which derivative it gives.
    function : callable
        What the user wrote.
    uses_out : bool
        Whether it takes `out`, the results.
    """

    kind: str
    function: Callable[..., Any]
    uses_out: bool

    @property
    def span(self) -> Span | None:
        """Where it is defined."""
        return definition(self.function)


class HostFunction:
    """A function on arrays, with its rules.

    Attributes
    ----------
    version : int
        How often a rule was given: what was derived by older ones is out of date.
    checks : bool
        Whether rules for both modes are compared with each other.
    compared : set
        For which version and attributes they were.
    """

    def __init__(self, function: Callable[..., Any], checks: bool) -> None:
        self.function = function
        self.name = function.__name__
        self.checks = checks
        self.signature = inspect.signature(function)
        self.rules: dict[str, HostRule] = {}
        self.version = 0
        self.compared: set[Any] = set()
        self._captured: CapturedValues | None = None
        self._foreign: ForeignChanges | None = None
        self._changes = 0  # that the last one of these has counted

    @property
    def span(self) -> Span | None:
        """Where the function is defined."""
        return definition(self.function)

    def give(self, rule: HostRule) -> None:
        """Registers a rule, in the place of an older one."""
        self.rules = {**self.rules, rule.kind: rule}
        self.version += 1
        if self._foreign is not None:
            self._changes = self._foreign.count
        self._captured = self._foreign = None

    def captured(self) -> Snapshot:
        """What the function and its rules read besides their arguments, now."""
        if self._captured is None:
            self._captured = CapturedValues(self._functions())
        return (("", self.foreign().look()), *self._captured.now())

    def foreign(self) -> ForeignChanges:
        """What others change in containers and objects that they read."""
        if self._foreign is None:
            self._foreign = ForeignChanges(self._functions(), self._changes)
        return self._foreign

    @contextmanager
    def running(self) -> Iterator[None]:
        """In the block the function or a rule runs, after a look: what changes there they have changed."""
        try:
            yield
        finally:
            self.foreign().leave()

    def _functions(self) -> tuple[Callable[..., Any], ...]:
        return (self.function, *(r.function for r in self.rules.values()))

    def names(self) -> frozenset[str]:
        """The names of attributes that the function, its rules, and what they call may read."""
        return self.foreign().names

    def refuse_changed(self, before: Snapshot, attributes: CallAttributes) -> None:
        """Refuses to differentiate a call after a variable of the function or a rule has changed.

        Raises
        ------
        GradientError
            When one has, or an object among the attributes of the call.
        """
        name = changed(before, self.captured())
        if name is not None:
            name = name or self.foreign().variable
            message = f"`{name}`, which `{self.name}` or its rule reads, has changed after the call"
            advice = f"make it an attribute, `def {self.name}(…, *, {name})`: its value belongs to the call"
        elif (name := attributes.changed()) is not None:
            message = f"the object `{name}`, an attribute of this call of `{self.name}`, has changed after it"
            advice = "pass numbers and arrays, also in a list, dictionary or namespace: these are copied"
        else:
            return
        labels = defined(self.span)
        raise GradientError(Diagnostic("not-differentiable", message, labels=labels, help=advice))

    def rule(self, kind: str) -> HostRule:
        """The rule for a mode: ``"jvp"`` or ``"vjp"``.

        Raises
        ------
        GradientError
            When there is none.
        """
        found = self.rules.get(kind) or self.rules.get("jacobian")
        if found is None:
            mode = _WORDS[kind][1]
            has = ", ".join(f"a {k}" for k in self.rules) or "no rule"
            message = f"`{self.name}` is differentiated by {mode}, which needs its {kind}: it has {has}"
            advice = f"register one with `@{self.name}.{kind}`, or `@{self.name}.jacobian` for both modes"
            labels = defined(self.span)
            raise GradientError(Diagnostic("not-differentiable", message, labels=labels, help=advice))
        return found

    # -- calls

    def values(self, inputs: Sequence[Any], attributes: Attributes) -> Any:
        """What it returns for arrays."""
        if self._foreign is None:  # it was never recorded
            return self.function(*inputs, **attributes)
        self._foreign.look()
        with self.running():
            return self.function(*inputs, **attributes)

    def tangents(self, call: RuleCall, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the results; None is 0. `tangents` has one for each input, None for integers."""
        rule = self.rule("jvp")
        if rule.kind == "jacobian":
            return [self._ahead(rule, call, tangents)]
        found = rule.function(*call.inputs, **call.out(rule), tangents=tuple(tangents), **call.attributes)
        return self._several(rule, found, call.single, len(call.outputs))

    def adjoints(self, call: RuleCall, adjoints: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        """The adjoints of the inputs; None is 0."""
        rule = self.rule("vjp")
        if rule.kind == "jacobian":
            return self._back(rule, call, adjoints, wanted)
        given = adjoints[0] if call.single else tuple(adjoints)
        found = rule.function(*call.inputs, **call.out(rule), adjoint=given, **call.attributes)
        return self._several(rule, found, len(call.inputs) == 1, len(call.inputs))

    def _several(self, rule: HostRule, found: Any, single: bool, count: int) -> list[Any]:
        if single and not isinstance(found, tuple | list):
            return [found]
        got = len(found) if isinstance(found, tuple | list) else 1
        if got != count or not isinstance(found, tuple | list):
            what = "result" if rule.kind == "jvp" else "input"
            advice = f"return one array for each {what}, as a tuple; None stands for zeros"
            raise self.wrong(rule, f"gives {_counted(got, 'array')} for {_counted(count, what)}", advice)
        return list(found)

    # -- Jacobians

    def _jacobians(self, rule: HostRule, call: RuleCall) -> list[Any]:
        if len(call.outputs) != 1:
            raise self.wrong(rule, "is for one result", f"register a jvp and a vjp of `{self.name}`")
        found = rule.function(*call.inputs, **call.out(rule), **call.attributes)
        made = self._several(rule, found, len(call.inputs) == 1, len(call.inputs))
        for n, (matrix, given) in enumerate(zip(made, call.inputs, strict=True)):
            wanted = (call.outputs[0].size, given.size)
            shape = tuple(getattr(matrix, "shape", ()))
            if matrix is not None and shape != wanted:
                message = f"gives a matrix of shape {shape} for input {n}, of which it is {wanted}"
                advice = "its rows are the numbers of the result, its columns those of the input"
                raise self.wrong(rule, message, advice)
        return made

    def _ahead(self, rule: HostRule, call: RuleCall, tangents: Sequence[Any]) -> Any:
        total: Any = None
        for matrix, tangent in zip(self._jacobians(rule, call), tangents, strict=True):
            if matrix is not None and tangent is not None:
                part = _product(matrix, tangent.reshape(-1)).reshape(call.outputs[0].shape)
                total = part if total is None else total + part
        return total

    def _back(
        self, rule: HostRule, call: RuleCall, adjoints: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Any]:
        flat = adjoints[0].reshape(-1)
        return [
            _product(matrix.T, flat).reshape(given.shape) if matrix is not None and asked else None
            for matrix, given, asked in zip(self._jacobians(rule, call), call.inputs, wanted, strict=True)
        ]

    # -- what rules and functions return

    def wrong(self, rule: HostRule | None, why: str, advice: str = "") -> LaunchTypeError:
        """The error about what the function or a rule returned."""
        if rule is None:
            message, span = f"`{self.name}` {why}", self.span
        else:
            message, span = f"the {rule.kind} of `{self.name}` {why}", rule.span
        return LaunchTypeError(Diagnostic("argument", message, labels=defined(span), help=advice))

    def misshapen(self, kind: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> LaunchTypeError:
        """The error about the shape of what a rule returned."""
        advice = "a derivative has the shape of what it is the derivative of"
        return self.wrong(self.rule(kind), _shapes(shape, "a derivative", wanted), advice)

    def results(self, found: Any, like: Sequence[np.ndarray], single: bool) -> list[np.ndarray]:
        """What the function returned, as arrays that can be written to `like`."""
        if single:
            if isinstance(found, tuple | list):
                why = f"gives {_counted(len(found), 'array')}, and `out` is one field"
                raise self.wrong(None, why, "pass a tuple of fields: `out=(a, b)`")
            return [self.fitting(None, found, like[0], "`out`")]
        got = len(found) if isinstance(found, tuple | list) else 1
        if got != len(like) or not isinstance(found, tuple | list):
            has = f"is a tuple of {len(like)}" if got == len(like) else f"has {len(like)}"
            why = f"gives {_counted(got, 'array')}, and `out` {has}"
            raise self.wrong(None, why, "pass `out=x` for one array, and a tuple of fields for several")
        return [
            self.fitting(None, a, b, f"`out[{n}]`") for n, (a, b) in enumerate(zip(found, like, strict=True))
        ]

    def fitting(self, rule: HostRule | None, value: Any, like: np.ndarray, what: str) -> np.ndarray:
        """`value` as an array that can be written to `like`."""
        if is_masked(value):
            raise self.wrong(rule, f"gives masked numbers for {what}", "fill them, as with `.filled(0)`")
        array = np.asarray(value)
        if array.shape != like.shape:
            advice = f"pass a field or an array of shape {array.shape}"
            if rule is not None:
                advice = "a derivative has the shape of what it is the derivative of"
            raise self.wrong(rule, _shapes(array.shape, what, like.shape), advice)
        if array.dtype.kind == "c":
            advice = "give real and imaginary parts, as a last axis of 2: `np.stack([z.real, z.imag], -1)`"
            raise self.wrong(rule, f"gives complex numbers for {what}: fields have none", advice)
        if not np.can_cast(array.dtype, like.dtype, "same_kind"):
            message = f"gives numbers of type {array.dtype} for {what}, which holds {like.dtype}"
            raise self.wrong(rule, message, f"convert them: `.astype(np.{like.dtype})`")
        return array


class RuleCall(NamedTuple):
    """One call of a host function: inputs and outputs, as arrays or as traced arrays.

    Attributes
    ----------
    single : bool
        Whether the function returns one array, and not a tuple.
    """

    inputs: tuple[Any, ...]
    attributes: Attributes
    outputs: tuple[Any, ...]
    single: bool

    def out(self, rule: HostRule) -> dict[str, Any]:
        """The keyword `out`, if the rule takes it."""
        if not rule.uses_out:
            return {}
        return {"out": self.outputs[0] if self.single else self.outputs}


def definition(function: Callable[..., Any]) -> Span | None:
    """Where a function is defined; None for dsim's own, and where its text is not available."""
    if not isinstance(function, types.FunctionType) or ours(function.__code__.co_filename):
        return None
    if function not in _SPANS:
        _SPANS[function] = _read(function)
    return _SPANS[function]


def _read(function: types.FunctionType) -> Span | None:
    try:
        return source.read(function).name_span()
    except DsimError:  # typed at Python's prompt, or changed since
        return None


def remember(function: Callable[..., Any]) -> None:
    """Keeps the text of a function as it is now, for `definition`."""
    if isinstance(function, types.FunctionType) and not ours(function.__code__.co_filename):
        source.remember(function)


def defined(span: Span | None) -> tuple[Label, ...]:
    """The label at a definition."""
    return () if span is None else (Label(span, "defined here"),)


def _product(matrix: Any, vector: Any) -> Any:
    """``matrix @ vector``; a matrix that is no traced array is a constant."""
    if isinstance(vector, TracedArray) and not isinstance(matrix, TracedArray):
        return OPERATORS["linear_map"](vector, matrix=matrix)
    return matrix @ vector


def _shapes(shape: tuple[int, ...], what: str, wanted: tuple[int, ...]) -> str:
    return f"gives an array of shape {shape} for {what}, whose shape is {wanted}"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
