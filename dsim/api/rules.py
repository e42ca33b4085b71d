"""Checks of the custom derivatives given to `Func.derivative`: of their signatures and of their values."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import numpy as np

from dsim import frontend
from dsim.frontend.inlining.custom_derivatives import Rules
from dsim.ir.types import ScalarType, f64, u1
from dsim.runtime.driver import rule_consistency
from dsim.runtime.driver.programs import Program
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.host_values.values import Array
from dsim.runtime.fields.structs import HostStruct
from dsim.runtime.launching.forms import Form
from dsim.runtime.state.settings import current

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def rules_of(func: Any, jvp: Any, vjp: Any, check: bool) -> Rules:
    """The derivative rules of `func`.

    Raises
    ------
    TypeError
        When a rule is missing, is not a func, or does not fit the signature of `func`.
    """
    name = func.__name__
    if jvp is None and vjp is None:
        raise TypeError(f"{name}.derivative() takes `jvp=`, `vjp=` or both, and got none")
    if hasattr(func.function, "__self__"):
        raise TypeError(f"define the derivative of the method `{name}` in its class")
    count = _positional(func, "a func with a custom derivative", ())
    seeds = {"jvp": 0, "vjp": 0}
    for word, rule in (("jvp", jvp), ("vjp", vjp)):
        if rule is None:
            continue
        if not hasattr(rule, "__dsim_func__"):
            kind = type(rule).__name__
            raise TypeError(f"{name}.derivative({word}=…) takes a func (a function under @func), not {kind}")
        seeds[word] = _positional(rule, f"the {word} of `{name}`", ("result",)) - count
        _refuse_count(name, word, rule.__name__, count, seeds[word])
    return Rules(jvp, vjp, seeds["jvp"], seeds["vjp"], check)


def _refuse_count(name: str, word: str, rule: str, count: int, seeds: int) -> None:
    kind = "tangents of its float arguments" if word == "jvp" else "adjoints of its float results"
    if seeds < 1 or (word == "jvp" and seeds > count):
        raise TypeError(
            f"`{rule}` takes {count + seeds} arguments by position: as the {word} of `{name}` it takes the "
            f"{count} of `{name}` and then the {kind}"
        )


def _positional(func: Any, what: str, keywords: tuple[str, ...]) -> int:
    """The number of positional parameters; raises on keyword parameters other than `keywords`."""
    found = signature(func.__dsim_func__).parameters.values()
    for p in found:
        if p.kind not in _BY_POSITION and not (p.kind is Parameter.KEYWORD_ONLY and p.name in keywords):
            raise TypeError(f"{what} has no parameter like the `{p}` of `{func.__name__}`")
    return sum(p.kind in _BY_POSITION for p in found)


def check(func: Any, args: tuple[Any, ...], tolerance: float) -> None:
    """Compares the rules of `func` with each other at `args`, and with finite differences."""
    name = func.__name__
    if func.__dsim_rules__ is None:
        raise TypeError(f"`{name}` has no custom derivative")
    names = list(signature(func.function).parameters)
    if len(args) != len(names):
        raise TypeError(f"`{name}` is checked at all of its {len(names)} arguments, got {len(args)}")
    types = frontend.LoweringSettings(f64, current().default_ip)
    params, values = {}, []
    for n, given in zip(names, args, strict=True):
        if isinstance(given, HostStruct):
            raise TypeError(f"`{name}` cannot be checked at a struct: check a func of its members")
        array = _numbers(given)
        params[n] = given if array is None else _type(array, types)
        values += [] if array is None else array.ravel().tolist()
    lowered = frontend.lower_call(func, params, types)
    fields = {n: f.root for n, f in lowered.fields.items() if isinstance(f, Field)}
    buffers = Form(Program(lowered.kernel, current()), fields).buffers()
    rule_consistency.check_at(name, lowered, values, buffers, tolerance)


def _numbers(value: Any) -> np.ndarray | None:
    """A host number, vector or matrix as an array; None for a compile-time value."""
    if not isinstance(value, bool | int | float | np.generic | np.ndarray | Array | list | tuple):
        return None
    array = np.asarray(value)
    return array if array.dtype.kind in "biuf" and array.ndim <= 2 else None


def _type(array: np.ndarray, types: frontend.LoweringSettings) -> ScalarType | frontend.MatrixType:
    kinds = {"f": types.default_fp, "b": u1}
    entry = kinds.get(array.dtype.kind, types.default_ip)
    return frontend.MatrixType(entry, array.shape) if array.ndim else entry
