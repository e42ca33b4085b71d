"""What loops count through: `range`, `ndrange`, `grouped`, fields; and `loop_config`."""

from __future__ import annotations

import ast

from dsim.frontend.frame import Frame
from dsim.frontend.lowered import LoopConfig
from dsim.frontend.subscripts import struct_shape
from dsim.frontend.values import (
    Field,
    Grid,
    Mat,
    Opaque,
    Range,
    Scalar,
    StructField,
    Value,
    describe,
    is_scalar,
)
from dsim.ir.nodes import Const


def counted(f: Frame, hint: str, *args: Value) -> Range:
    """``range(stop)``, ``range(start, stop)``, ``range(start, stop, step)``."""
    if not 1 <= len(args) <= 3:
        f.emit.refuse("argument", f"`range` takes 1 to 3 arguments, got {len(args)}")
    bounds = [_bound(f, a, "range") for a in args]
    start, stop = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    return Range(start, stop, _step(f, bounds[2]) if len(bounds) == 3 else 1)


def _bound(f: Frame, value: Value, what: str) -> Scalar:
    if not is_scalar(value):
        f.emit.refuse("type", f"`{what}` counts with integers, got {describe(value)}")
    if f.emit.type_of(value).is_float:
        f.emit.refuse(
            "type", f"`{what}` counts with integers, got {describe(value)}", help="cast it: `int(n)`"
        )
    return value.value if isinstance(value, Const) else value


def _step(f: Frame, value: Scalar) -> int:
    if not isinstance(value, int):
        f.emit.refuse(
            "static", "the step of a range must be known at compile time", help="write a `while` loop"
        )
    if value == 0:
        f.emit.refuse("argument", "the step of a range cannot be 0")
    return value


def grid(f: Frame, hint: str, *args: Value) -> Grid:
    """``ndrange(n, (lo, hi), …)``, outermost first."""
    if not args:
        f.emit.refuse("argument", "`ndrange` needs at least one length")
    return Grid(tuple(_axis(f, a) for a in args))


def _axis(f: Frame, value: Value) -> Range:
    if isinstance(value, Opaque) and isinstance(value.value, tuple | list):
        value = tuple(value.value)
    if isinstance(value, Mat) and value.shape == (2,):
        value = value.entries
    if isinstance(value, tuple | list):
        if len(value) != 2:
            f.emit.refuse(
                "argument", f"an axis of `ndrange` is a length or (first, end), got {describe(value)}"
            )
        return Range(_bound(f, value[0], "ndrange"), _bound(f, value[1], "ndrange"))
    return Range(0, _bound(f, value, "ndrange"))


def grouped(f: Frame, hint: str, value: Value) -> Grid:
    """``grouped(x)``: one index vector instead of an index for each axis."""
    found = of_value(f, value)
    if found is None:
        f.emit.refuse("type", f"`grouped` takes a field or an `ndrange`, got {describe(value)}")
    return Grid(found.axes, True)


def of_value(f: Frame, value: Value) -> Grid | None:
    """What a loop over `value` counts through; None when one cannot loop over it."""
    if isinstance(value, Grid):
        return value
    if isinstance(value, Range):
        return Grid((value,))
    if isinstance(value, Field):
        return Grid(tuple(Range(0, n) for n in value.field.shape))
    if isinstance(value, StructField):
        shape = struct_shape(f, value, f.text.node)
        return Grid(tuple(Range(0, n) for n in shape))
    return None


def configure(f: Frame, node: ast.Call) -> None:
    """``loop_config(serialize=…, parallel=…)``: kept for the next loop; block sizes mean nothing here."""
    values = {k.arg: f.value(k.value) for k in node.keywords}
    known = {
        "serialize",
        "parallel",
        "block_dim",
        "parallelize",
        "name",
        "block_dim_adaptive",
        "bit_vectorize",
    }
    for k in node.keywords:
        if k.arg not in known:
            f.refuse(
                "argument",
                f"`loop_config` has no `{k.arg}`",
                node,
                help="`serialize=True` or `parallel=True`",
            )
    serialize = values.get("serialize") is True or values.get("parallelize") == 1
    f.config = LoopConfig(serialize=serialize, parallel=values.get("parallel") is True)
