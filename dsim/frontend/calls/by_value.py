"""Builtins that are called with values: casts, Python's own functions, ranges, derivatives of functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sized

from dsim.frontend.calls import python_operators
from dsim.frontend.control import loop_ranges
from dsim.frontend.expressions import classes, matrices
from dsim.frontend.frames import hints, randomness
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.items import items
from dsim.frontend.inlining.callables import callable_of
from dsim.frontend.inlining.derive import DerivativeLike
from dsim.frontend.values import elementary
from dsim.frontend.values.operators import matrix
from dsim.frontend.values.types import scalar_type
from dsim.frontend.values.values import (
    FieldValue,
    Mat,
    Opaque,
    StructValue,
    Value,
    describe,
    is_open,
    listed,
)


def cast(f: Frame, hint: str, value: Value, dtype: Value) -> Value:
    """``cast(value, dtype)``."""
    to = matrices.dtype(f, dtype)
    assert to is not None
    return elementary.cast(f.emit, value, to, hint)


def _bit_cast(f: Frame, hint: str, value: Value, dtype: Value) -> Value:
    to = matrices.dtype(f, dtype)
    assert to is not None
    if isinstance(value, list):
        value = matrix(f.emit, value)
    if isinstance(value, Mat):
        return Mat(value.shape, tuple(_bit_cast(f, hint, entry, dtype) for entry in value.entries))
    atom = f.emit.number(value)
    if to.bits != atom.type.bits:
        f.emit.refuse("type", f"`bit_cast` needs types of one width, got {atom.type} and {to}")
    return f.emit.let("bit_cast", atom, type=to, hint=hint)


def _to(kind: type) -> Callable[..., Value]:
    def convert(f: Frame, hint: str, value: Value = 0) -> Value:
        if is_open(value):
            return f.emit.computed(kind, value)
        if isinstance(value, str) and kind is float:  # float("inf")
            return kind(value)
        to = scalar_type(kind, f.emit.settings)
        assert to is not None
        return elementary.cast(f.emit, value, to, hint)

    return convert


def _rounded(step: str) -> Callable[..., Value]:
    """Python's `round`, `math.floor`, `math.ceil`, which return integers."""

    def convert(f: Frame, hint: str, value: Value) -> Value:
        return elementary.cast(
            f.emit, elementary.FUNCTIONS[step](f.emit, value), f.emit.settings.default_ip, hint
        )

    return convert


def _len(f: Frame, hint: str, value: Value) -> Value:
    if isinstance(value, Mat):
        return value.shape[0]
    if isinstance(value, tuple | list):
        return len(value)
    if isinstance(value, StructValue):
        return len(value.members)
    if isinstance(value, Opaque) and isinstance(value.value, Sized):
        if value.path is not None:
            f.c.captures.length(value.path, value.value)
        return len(value.value)
    help = "use its `shape`" if isinstance(value, FieldValue) else ""
    f.emit.refuse("type", f"{describe(value)} has no length", help=help)


def _random(f: Frame, hint: str, dtype: Value = None) -> Value:
    return randomness.random(f, matrices.dtype(f, dtype) or f.emit.settings.default_fp, hint)


def _randn(f: Frame, hint: str, dtype: Value = None) -> Value:
    return randomness.normal(f, matrices.dtype(f, dtype) or f.emit.settings.default_fp, hint)


def _zip(f: Frame, hint: str, *args: Value, strict: Value = False) -> Value:
    columns = [items(f, a, ast.Constant(None)) for a in args]
    lengths = sorted({len(c) for c in columns})
    if strict is True and len(lengths) > 1:
        f.emit.refuse(
            "argument", f"`zip` with `strict=True` got sequences of {listed(map(str, lengths))} items"
        )
    return [tuple(row) for row in zip(*columns, strict=False)]


def _enumerate(f: Frame, hint: str, value: Value, start: Value = 0) -> Value:
    return [(i, v) for i, v in enumerate(items(f, value, ast.Constant(None)), start)]


def _reversed(f: Frame, hint: str, value: Value) -> Value:
    return items(f, value, ast.Constant(None))[::-1]


def _isinstance(f: Frame, hint: str, value: Value, kinds: Value) -> Value:
    found = classes.listed_classes(f, kinds)
    if found is None:
        f.emit.refuse("argument", f"`isinstance` takes classes, got {describe(kinds)}")
    return classes.is_instance(f, value, found)


def _derivative(mode: str) -> Callable[..., Value]:
    """``forward(f)`` and ``grad(f)`` inside a kernel."""

    def make(f: Frame, hint: str, function: Value) -> Value:
        found = callable_of(f, function, ast.Constant(None))
        if found is None:
            name = "forward" if mode == "jvp" else "grad"
            f.emit.refuse("argument", f"`{name}` takes a func, got {describe(function)}")
        return Opaque(DerivativeLike((mode, found)))

    return make


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "cast": cast,
    "bit_cast": _bit_cast,
    "int": _to(int),
    "float": _to(float),
    "bool": _to(bool),
    "int_round": _rounded("round"),
    "int_floor": _rounded("floor"),
    "int_ceil": _rounded("ceil"),
    "len": _len,
    "isinstance": _isinstance,
    "random": _random,
    "randn": _randn,
    "zip": _zip,
    "enumerate": _enumerate,
    "reversed": _reversed,
    "range": loop_ranges.counted,
    "ndrange": loop_ranges.grid,
    "grouped": loop_ranges.grouped,
    "assume_in_range": hints.assume_in_range,
    "loop_unique": hints.loop_unique,
    "forward": _derivative("jvp"),
    "grad": _derivative("vjp"),
    **python_operators.FUNCTIONS,
}
