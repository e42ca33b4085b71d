"""What a view takes for numbers: fields, their gradients, arrays, and functions that give such."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from dsim.diagnostics import ArgumentError, Diagnostic
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field, kind_of

Numbers = Field | Component | np.ndarray | Callable[[], Any]


def read(source: Any, what: str) -> np.ndarray:
    """The present numbers of `source`, of the type it has.

    Raises
    ------
    DsimError
        When it is nothing that has real numbers.
    """
    found = source() if callable(source) and not isinstance(source, Field | Component) else source
    array = found.to_numpy() if isinstance(found, Field | Component) else _array(found, what)
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.filled(array.astype(np.float64), np.nan)
    if array.dtype.kind not in "biuf":
        raise refused(f"{what} takes real numbers, not {array.dtype}", "give a field or an array of such")
    return array


def _array(found: Any, what: str) -> np.ndarray:
    try:
        return np.asanyarray(found)
    except ValueError:
        raise refused(
            f"{what} takes a field or an array, not {kind_of(found)}", "an array has rows of one length"
        ) from None


def name_of(source: Any) -> str:
    """What a person calls it: the name of a field or of a function; empty for what has none."""
    if isinstance(source, Component):
        return f"{source.whole.name}[{', '.join(map(str, source.component))}]"
    if isinstance(source, Field):
        return source.name
    name = getattr(source, "__name__", "") if callable(source) else ""
    return "" if name == "<lambda>" else name


def name_by_variables(function: Any, fields: Iterable[Field]) -> None:
    """Gives fields without a name those of the variables that a function or kernel can see."""
    code = getattr(function, "function", function)
    inner = _enclosed(code) if isinstance(code, types.FunctionType) else {}
    seen = {**getattr(code, "__globals__", {}), **inner}
    called = {id(value): name for name, value in seen.items() if isinstance(value, Field)}
    for field in fields:
        field.root.given_name = field.root.given_name or called.get(id(field), "")


def _enclosed(function: types.FunctionType) -> dict[str, Any]:
    """Variables of the functions around it, those that have a value by now."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    return found


def refused(message: str, advice: str) -> ArgumentError:
    """The error of a view, an explorer or a window that cannot do what it is asked for."""
    return ArgumentError(Diagnostic("argument", message, help=advice))
