"""Values as lists of scalars and back: what loops carry and branches yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dsim.frontend.values.values import (
    FieldValue,
    Mat,
    Opaque,
    RecordValue,
    Scalar,
    StructFieldValue,
    StructValue,
    Value,
    component_names,
    is_scalar,
)
from dsim.ir.nodes import Atom

_Named = StructValue | RecordValue


def scalars(value: Value) -> list[Scalar]:
    """The scalars in `value`, in order; things known at compile time have none."""
    if is_scalar(value):
        return [value]
    if isinstance(value, Mat):
        return list(value.entries)
    if isinstance(value, _Named):
        return [s for v in value.members.values() for s in scalars(v)]
    if isinstance(value, tuple | list):
        return [s for v in value for s in scalars(v)]
    return []


def rebuilt(value: Value, atoms: Iterator[Atom]) -> Value:
    """`value` with its scalars replaced by the next of `atoms`."""
    if is_scalar(value):
        return next(atoms)
    if isinstance(value, Mat):
        return Mat(value.shape, tuple(next(atoms) for _ in value.entries))
    if isinstance(value, StructValue):
        return StructValue({name: rebuilt(v, atoms) for name, v in value.members.items()}, value.kind)
    if isinstance(value, RecordValue):
        members = {name: rebuilt(v, atoms) for name, v in value.members.items()}
        return RecordValue(value.kind, value.name, members, value.after)
    if isinstance(value, tuple | list):
        return type(value)(rebuilt(v, atoms) for v in value)
    return value


def labels(name: str, value: Value) -> list[str]:
    """A readable name for each of the scalars in `value`."""
    if is_scalar(value):
        return [name]
    if isinstance(value, Mat):
        return component_names(name, value.shape)
    if isinstance(value, _Named):
        return [label for key, v in value.members.items() for label in labels(f"{name}_{key}", v)]
    if isinstance(value, tuple | list):
        return [label for i, v in enumerate(value) for label in labels(f"{name}_{i}", v)]
    return []


def fits(a: Value, b: Value) -> bool:
    """Whether `a` and `b` are alike but for their scalars."""
    if is_scalar(a) or is_scalar(b):
        return is_scalar(a) and is_scalar(b)
    if isinstance(a, Mat) and isinstance(b, Mat):
        return a.shape == b.shape
    if isinstance(a, _Named) and isinstance(b, _Named):
        return a.kind == b.kind and _pairwise(fits, a, b)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(fits, a, b))
    return same(a, b)


def same(a: Value, b: Value) -> bool:
    """Whether `a` and `b` are one value (``1`` and ``1.0`` are not)."""
    if a is b or type(a) is not type(b):
        return a is b
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mat):
        return a.shape == b.shape and same(a.entries, b.entries)
    if isinstance(a, _Named):
        return a.kind == b.kind and _pairwise(same, a, b)
    if isinstance(a, Opaque | FieldValue | StructFieldValue):
        return _held(a) is _held(b)
    return bool(a == b)


def _pairwise(test: Callable[[Value, Value], bool], a: _Named, b: _Named) -> bool:
    """Whether `a` and `b` have the same members in the same order, and `test` holds for each."""
    return tuple(a.members) == tuple(b.members) and all(map(test, a.members.values(), b.members.values()))


def _held(value: Opaque | FieldValue | StructFieldValue) -> object:
    """The Python object behind a value."""
    return value.value if isinstance(value, Opaque) else value.field
