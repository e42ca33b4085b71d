"""Elements of fields and private buffers: loading, storing, accumulating, entry by entry."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from dsim.diagnostics import Span
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.names import member_field
from dsim.frontend.values.emit import limits
from dsim.frontend.values.operators import operand
from dsim.frontend.values.values import (
    Element,
    Mat,
    Scalar,
    StructElement,
    StructFieldValue,
    StructValue,
    Value,
    component_names,
    describe,
    describe_shape,
    is_open,
    listed,
)
from dsim.ir.build import const
from dsim.ir.nodes import Accumulate, AccumulateOp, Atom, Load, Store
from dsim.ir.types import ScalarType, u1


def load(f: Frame, value: Value, hint: str = "t") -> Value:
    """`value`, with its entries loaded when it is an element of a memory."""
    if isinstance(value, StructElement):
        hints = {key: hint if hint == "t" else f"{hint}_{key}" for key in value.field.keys}
        return StructValue(
            {key: load(f, member(f, value, key), h) for key, h in hints.items()}, value.field.kind
        )
    if not isinstance(value, Element):
        return value
    atoms = tuple(
        _load(f, value, at, label) for at, label in zip(value.entries, _labels(value, hint), strict=True)
    )
    return Mat(value.shape, atoms) if value.shape else atoms[0]


def refuse_component(f: Frame, number: Mat | Element, node: ast.Attribute) -> NoReturn:
    """Refuses ``p[i].x`` of what is one number."""
    help = f"`{ast.unparse(node.value)}` is one number: write it alone, or make a field of vectors"
    f.refuse("unknown-attribute", f"{describe(load(f, number))} has no `{node.attr}`", node, help=help)


def member(f: Frame, x: StructElement, name: str) -> Element | StructElement:
    """A member of an element of a struct field: an element of the member's own field."""
    field = member_field(f, x.field, name, f.text.node)
    if isinstance(field, StructFieldValue):
        return StructElement(field, x.index)
    return f.c.memories.element(field, x.index)


def _labels(x: Element, hint: str) -> list[str]:
    if hint != "t":
        return component_names(hint, x.shape)
    base = "_".join((x.memory.name, *x.memory.derivative))
    return component_names(base if x.shape else f"{base}_at", x.shape)


def _load(f: Frame, x: Element, at: tuple[Atom, ...], label: str) -> Atom:
    builder = f.emit.builder
    var = builder.fresh(label, x.memory.type)
    builder.add(Load(var, x.memory, (*x.index, *at), builder.origin))
    return _cut(f, x, var, label)


def _cut(f: Frame, x: Element, read: Atom, label: str) -> Atom:
    """The value read from `x`, as a constant where ``stop_grad`` applies to the field."""
    if x.memory.key not in f.emit.stopped or not x.memory.type.is_float:
        return read
    return f.emit.let("stop", read, hint=label)


def entries(f: Frame, x: Element, value: Value, sign: str) -> list[Scalar]:
    """One scalar of `value` for each entry of `x`; a scalar goes to all."""
    given = operand(f.emit, value, sign)
    if not isinstance(given, Mat):
        return [given] * len(x.entries)
    if given.shape != x.shape:
        f.emit.refuse(
            "shape",
            f"`{sign}` needs equal shapes: the left side is {describe_shape(x.shape)}, "
            f"the right side {describe_shape(given.shape)}",
        )
    return list(given.entries)


def cast(f: Frame, s: Scalar, to: ScalarType, name: str, hint: str = "t") -> Atom:
    """`s` as a `to`, which `name`, an identifier or a description, holds; warns when a fraction is lost."""
    called = name if " " in name else f"`{name}`"
    if f.emit.rounds(s, to):
        f.emit.warn(
            "type-change",
            f"a float becomes an integer here: {called} holds values of type {to}",
            help=f"cast it yourself with `int(…)`, or make {called} a float",
        )
    f.emit.warn_unfit(s, to, called)
    return f.emit.atom(s, to, hint)


def cast_local(f: Frame, s: Scalar, to: ScalarType, name: str, label: str) -> Atom:
    """`s` as the local `name`, a `to`, takes it, with a warning when digits are lost."""
    if f.emit.rounds(s, to):
        _keeps_kind(f, name, "a float", "an integer", f"an {to}", ", or cast with `int(…)`")
    elif to == u1 and not f.emit.is_truth(s):
        advice = ": `int(…)` or `float(…)`; or write `… != 0` if this is intended"
        _keeps_kind(f, name, "a number", "a truth value", "a u1", advice)
    elif f.emit.narrows(s, to):
        wide = f.emit.type_of(s)
        loses, kind = ("is rounded", "fp") if to.is_float else ("loses its upper bits", "ip")
        f.emit.warn(
            "type-change",
            f"an {wide} {loses} here: `{name}` is an {to} since its first assignment",
            help=f"start `{name}` as an {wide}: `ds.{wide}(…)`, or set `ds.init(default_{kind}=ds.{wide})`",
        )
    f.emit.warn_unfit(s, to, f"`{name}`")
    return f.emit.atom(s, to, label)


def _keeps_kind(f: Frame, name: str, given: str, kept: str, to: str, advice: str) -> None:
    """Says that the local `name`, of one kind, is given another one; Python would continue with that."""
    if f.plain:
        message = f"`{name}` becomes {given} here, and was {kept} before"
        f.emit.refuse("type", message, help=f"start `{name}` as {given}")
    message = f"{given} becomes {kept} here: `{name}` is {to} since its first assignment"
    f.emit.warn("type-change", message, help=f"start `{name}` as {given}{advice}")


def store(f: Frame, x: Element | StructElement, value: Value, shows: bool = True) -> None:
    """``x = value``, with a probe in a watched kernel, unless its line has one already."""
    if isinstance(x, StructElement):
        _store_struct(f, x, value)
        return
    builder = f.emit.builder
    to, name = x.memory.type, x.memory.name
    given = entries(f, x, value, "=")
    if x.memory.private:
        atoms = [cast_local(f, s, to, name, "t") for s in given]
    else:
        atoms = [cast(f, s, to, name) for s in given]
    if shows and f.shows is not None:
        atoms = f.shows.stored(x.memory.name, atoms, x, builder.origin.span)
    for at, atom in zip(x.entries, atoms, strict=True):
        builder.add(Store(x.memory, (*x.index, *at), atom, builder.origin))


def _store_struct(f: Frame, x: StructElement, value: Value) -> None:
    """Every member of `x` becomes that of `value`."""
    keys = x.field.keys
    if not isinstance(value, StructValue) or set(value.members) != set(keys):
        f.emit.refuse(
            "type",
            f"{describe(x)} is a struct of {listed(keys)}; the right side is {describe(value)}",
            help=f"assign a struct with these members, or one member: `{x.field.name}[…].{keys[0]} = …`",
        )
    for key in keys:
        store(f, member(f, x, key), value.members[key])


def accumulate(
    f: Frame,
    x: Element,
    op: AccumulateOp,
    value: Value,
    sign: str,
    used: bool,
    target: Span | None = None,
) -> Value:
    """``x = op(x, value)`` in one step; the value before, when it is `used`.

    `target` is the syntax node of `x` when that is not the current one.
    """
    builder = f.emit.builder
    if op in ("mul", "min", "max") and x.memory.key in f.emit.stopped:
        name = f"`{x.memory.name}`"
        message = f"this changes {name} in place, and `stop_grad` makes its value constant"
        f.emit.refuse("type", message, help="assign instead: `x[i] = max(x[i], a)`, `x[i] *= a`", span=target)
    given = entries(f, x, value, sign)
    if op in ("min", "max"):
        given = [_within(f, s, x.memory.type) for s in given]
    atoms = [cast(f, s, x.memory.type, x.memory.name) for s in given]
    if f.shows is not None:
        atoms = f.shows.stored(x.memory.name, atoms, x, builder.origin.span, op, target)
    olds: list[Atom] = []
    for at, atom in zip(x.entries, atoms, strict=True):
        old = builder.fresh("old", x.memory.type) if used else None
        builder.add(Accumulate(x.memory, (*x.index, *at), atom, op, old, builder.origin))
        if old is not None:
            olds.append(_cut(f, x, old, "old"))
    if not used:
        return None
    return Mat(x.shape, tuple(olds)) if x.shape else olds[0]


def _within(f: Frame, s: Scalar, to: ScalarType) -> Scalar:
    """The integer `s`, or the number nearest to it that the integer type `to` holds.

    Wrapped around, it could change an extreme that it lies beyond.
    """
    of = f.emit.type_of(s)
    if not (of.is_integer and to.is_integer) or u1 in (of, to):
        return s
    low, high = limits(to)
    if is_open(s):
        return f.emit.computed(partial(_clamped, low, high), s)
    least, most = limits(of)
    if least < low:
        s = f.emit.let("max", f.emit.atom(s), const(low, of))
    return f.emit.let("min", f.emit.atom(s), const(high, of)) if most > high else s


def _clamped(low: int, high: int, value: int) -> int:
    return min(max(value, low), high)


def updated(f: Frame, x: Element, change: Callable[[Value], Value]) -> None:
    """``x = change(x)``, the element loaded first."""
    store(f, x, change(load(f, x)))
