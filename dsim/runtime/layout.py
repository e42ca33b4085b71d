"""Where fields get their shape: `root`, `dense` below it, `place`, and gradients placed lazily.

Every field has a memory of its own, in the order of its axes. Blocks inside blocks
(``root.dense(ij, n).dense(ij, 4)``) and several fields in one place only give the shape here: they are
advice on memory order that this machine code does not need.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dsim.diagnostics import Diagnostic, LaunchError, LaunchTypeError
from dsim.runtime.fields import BAR, DOT, Field
from dsim.runtime.struct_fields import StructField


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of index space: 0 for `i`, 1 for `j` and so on."""

    number: int


def axes(*numbers: int) -> tuple[Axis, ...]:
    """The axes of these numbers: ``axes(0, 1)`` is `ij`."""
    return tuple(Axis(n) for n in numbers)


class Builder:
    """A node that fields can be placed in: the root, or a dense block of it."""

    def __init__(self, tree: Tree, lengths: dict[int, int]) -> None:
        self._tree = tree
        self._lengths = lengths

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the fields placed here."""
        return tuple(self._lengths[a] for a in sorted(self._lengths))

    def dense(self, axes: Any, dimensions: Any) -> Builder:
        """A block with `dimensions` elements along `axes` in each element of this one."""
        along = [a.number for a in (axes if isinstance(axes, Iterable) else (axes,))]
        lengths = list(dimensions) if isinstance(dimensions, Iterable) else [dimensions] * len(along)
        if len(along) != len(lengths):
            raise ValueError(f"{len(along)} axes need {len(along)} lengths, got {len(lengths)}")
        made = dict(self._lengths)
        for axis, length in zip(along, lengths, strict=True):
            made[axis] = made.get(axis, 1) * _length(length)
        return Builder(self._tree, made)

    def place(self, *fields: Any, offset: Any = None) -> Builder:
        """Places fields, also gradients and tangents of fields; gives the node back."""
        if offset is not None and any(offset if isinstance(offset, Iterable) else (offset,)):
            raise ValueError("fields with an offset are not supported: indices start at 0")
        for f in fields:
            if isinstance(f, list | tuple):
                self.place(*f)
            elif isinstance(f, StructField):
                self.place(*f.__dsim_struct_field__.values())
            elif isinstance(f, Field):
                _place(f, self.shape)
                self._tree.fields.add(f.root)
            else:
                raise TypeError(f"only fields can be placed, not {type(f).__name__}")
        return self

    def lazy_grad(self) -> None:
        """Gives every float field placed so far a gradient."""
        self._lazy(BAR)

    def lazy_dual(self) -> None:
        """Gives every float field placed so far a tangent."""
        self._lazy(DOT)

    def _lazy(self, derivative: tuple[str, ...]) -> None:
        for f in list(self._tree.fields):
            if f.dtype.is_float:
                f.want(derivative)

    def __getattr__(self, name: str) -> Any:
        if name in ("pointer", "bitmasked", "dynamic", "quant_array", "bit_struct", "hash"):
            raise AttributeError(f"sparse layouts ({name}) are not supported: use dense()")
        raise AttributeError(f"a layout node has no attribute {name!r}")


class Tree(Builder):
    """A root of its own: ``FieldsBuilder()``; `root` is the one that everybody uses."""

    def __init__(self) -> None:
        super().__init__(self, {})
        self.fields: weakref.WeakSet[Field] = weakref.WeakSet()

    def finalize(self, raise_warning: bool = True) -> Tree:
        """Gives the tree back: placed fields can be used at once."""
        return self

    def destroy(self) -> None:
        """Lets go of the fields: the memory of each is free when nobody holds it any more."""
        self.forget()

    def forget(self) -> None:
        """Lets `lazy_grad` no longer mean the fields placed so far. They stay what they are."""
        self.fields.clear()


root = Tree()


def _length(value: Any) -> int:
    try:
        length = operator.index(value)
    except TypeError:
        raise TypeError(f"the length of an axis must be an integer, got {type(value).__name__}") from None
    if length <= 0:
        raise ValueError(f"a field needs at least one element along every axis, got length {length}")
    return length


def shape_of(shape: Any) -> tuple[int, ...]:
    """A checked shape from an integer or a sequence of integers."""
    return tuple(_length(n) for n in (shape if isinstance(shape, Iterable) else (shape,)))


def place_at(field: Field, shape: Any) -> None:
    """Places `field` below the root with this shape."""
    _place(field, shape_of(shape))
    root.fields.add(field)


def _place(field: Field, shape: tuple[int, ...]) -> None:
    if field.derivative:
        _place_companion(field, shape)
        return
    if field.buffer is not None:
        message = f"{field.quoted} has been placed already, with shape {field.shape}"
        raise LaunchError(Diagnostic("unplaced", message, help="place every field once"))
    for companion in field.companions.values():
        if companion is not field and companion.wanted:
            _same_shape(companion, shape)
    field.allocate(shape)
    for companion in list(field.companions.values()):
        companion.shape = shape
        if companion.wanted:
            companion.allocate(shape)


def _place_companion(field: Field, shape: tuple[int, ...]) -> None:
    if field.root.buffer is not None:
        _same_shape_as_root(field, shape)
        field.root.want(field.derivative)
        return
    field.shape = shape
    field.wanted = True


def _same_shape(companion: Field, shape: tuple[int, ...]) -> None:
    if companion.shape not in ((), shape):
        _refuse_shape(companion, companion.shape, shape)


def _same_shape_as_root(field: Field, shape: tuple[int, ...]) -> None:
    if shape != field.root.shape:
        _refuse_shape(field, shape, field.root.shape)


def _refuse_shape(companion: Field, got: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    message = f"{companion.quoted} is placed with shape {got}, its field with shape {wanted}"
    raise LaunchTypeError(Diagnostic("shape", message, help="place both with one shape"))
