"""What loops count through: `range`, `ndrange`, `grouped`, fields; and `loop_config`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from typing import Any

from dsim.frontend.expressions.subscripts import struct_shape
from dsim.frontend.frames.frame import Frame
from dsim.frontend.source.captures import is_host_grid, is_layout_node
from dsim.frontend.source.lowered import LoopConfig
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.values import (
    FieldValue,
    Grid,
    Mat,
    Opaque,
    Range,
    Scalar,
    StructFieldValue,
    Value,
    Weak,
    describe,
    is_number,
    is_open,
    is_scalar,
)
from dsim.ir.build import const
from dsim.ir.nodes import Assert, Atom, Const, Var
from dsim.ir.ranges import MOST
from dsim.ir.types import ScalarType, i64, promote, u64
from dsim.records import record


def counted(f: Frame, hint: str, *args: Value) -> Range:
    """``range(stop)``, ``range(start, stop)``, ``range(start, stop, step)``."""
    if not 1 <= len(args) <= 3:
        f.emit.refuse("argument", f"`range` takes 1 to 3 arguments, got {len(args)}")
    bounds = [_bound(f, a, "range") for a in args]
    start, stop = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    return Range(start, stop, _step(f, bounds[2]) if len(bounds) == 3 else 1)


def _bound(f: Frame, value: Value, what: str) -> Scalar:
    if not is_scalar(value):
        f.emit.refuse("type", f"`{what}` takes integers, got {describe(value)}")
    if f.emit.type_of(value).is_float:
        f.emit.refuse("type", f"`{what}` takes integers, got {describe(value)}", help="cast it: `int(n)`")
    return value.value if isinstance(value, Const) else value


def _step(f: Frame, value: Scalar) -> Scalar:
    if isinstance(value, Weak):
        f.emit.refuse(
            "static",
            "this number is compiled in as a constant: the sign of the step sets the loop's direction",
        )
    if is_number(value) and value == 0:
        f.emit.refuse("argument", "the step of a range cannot be 0")
    return value


@record
class Strides:
    """A range whose step is known at run time only: ``start + trip * step`` for `count` trips."""

    start: Atom
    step: Atom
    count: Atom

    def at(self, e: Emitter, trip: Var, hint: str) -> Atom:
        """The value in one trip."""
        offset = e.let("mul", e.let("cast", trip, type=self.start.type), self.step)
        return e.let("add", self.start, offset, hint=hint)


def strides(e: Emitter, r: Range) -> Strides:
    """The trip count of `r` when the sign of its step is a run-time value; a step of 0 is a fault."""
    t, by = index_type(e, (r.start, r.stop)), e.type_of(r.step)
    if t.kind == "uint" or promote(t, by).kind == "int":
        t = promote(t, by)
    start, stop, step = e.atom(r.start, t), e.atom(r.stop, t), e.atom(r.step, promote(by, by))
    zero, one = const(0, step.type), const(1, u64)
    e.builder.add(Assert(e.let("ne", step, zero), ("the step of a range cannot be 0",), e.builder.origin))
    up = e.let("gt", step, zero)
    ahead = e.let("select", up, e.let("lt", start, stop), e.let("gt", start, stop))
    low, high, size = (e.let("cast", s, type=u64) for s in (start, stop, step))  # modulo 2^64
    upwards = e.let("sub", high, low)
    distance = e.let("select", up, upwards, e.let("neg", upwards))
    size = e.let("max", e.let("select", up, size, e.let("neg", size)), one)
    trips = e.let("add", e.let("floordiv", e.let("sub", distance, one), size), one)
    trips = e.let("cast", e.let("min", trips, const(MOST, u64)), type=i64)
    count = e.let("select", ahead, trips, const(0, i64), hint="trips")
    return Strides(start, e.let("cast", step, type=t), count)


def index_type(e: Emitter, ends: Sequence[Scalar]) -> ScalarType:
    """The type in which a range counts: one that holds its ends with their signs, where there is one."""
    t = e.common(ends)
    signed = [
        s for s in ends if (e.is_known(s, operator.lt, 0) if is_open(s) else e.type_of(s).kind == "int")
    ]
    if t.kind != "uint" or not signed:
        return t
    if t.bits < 64:
        return i64
    message = f"this range has ends with and without a sign, and {t} holds no negative number"
    e.refuse("type", message, help="cast what has no sign: `ds.cast(n, ds.i64)`")


def grid(f: Frame, hint: str, *args: Value) -> Grid:
    """``ndrange(n, (lo, hi), …)``, outermost first; without lengths there is one trip."""
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
    """The range of a loop over `value`; None when a loop cannot iterate over it."""
    if isinstance(value, Grid):
        return value
    if isinstance(value, Range):
        return Grid((value,))
    if isinstance(value, FieldValue):
        return _box(tuple(value.field.shape), value.field.offset)
    if isinstance(value, StructFieldValue):
        return _box(struct_shape(f, value, f.text.node), value.field.offset)
    return _of_object(value.value) if isinstance(value, Opaque) else None


def _of_object(value: Any) -> Grid | None:
    """The same for a Python object: a node of the layout, a `range`, an `ndrange`."""
    if is_layout_node(value):
        return _box(value.shape, ())
    if isinstance(value, range):
        return Grid((Range(value.start, value.stop, value.step),))
    if is_host_grid(value):
        return Grid(tuple(Range(low, high) for low, high in value.bounds))
    return None


def _box(shape: tuple[int, ...], offset: tuple[int, ...]) -> Grid:
    """All indices of a field, or of a node of the layout."""
    return Grid(tuple(Range(o, o + n) for o, n in zip(offset or (0,) * len(shape), shape, strict=True)))


def configure(f: Frame, node: ast.Call) -> None:
    """``loop_config(serialize=…, parallel=…)``: applies to the next loop; block sizes have no effect."""
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
