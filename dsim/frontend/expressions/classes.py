"""Whether a value is an instance of a class, which is known when the kernel is compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dsim.frontend.frames.builtins import builtin
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.static import compile_time
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.frontend.values.types import struct_type
from dsim.frontend.values.values import (
    Element,
    Mat,
    Opaque,
    RecordValue,
    StructElement,
    StructValue,
    Value,
    describe,
    is_open,
    is_scalar,
    kind_of,
)

_EXAMPLES = {"bool": False, "int": 0, "uint": 0, "float": 0.0}


def listed_classes(f: Frame, kinds: Value) -> list[object] | None:
    """The classes in the second argument of `isinstance`, struct types among them; None if one is none."""
    found = list(_opened(f, kinds))
    known = (isinstance(k, type | StructTypeBase) or builtin(k) in ("Vector", "Matrix") for k in found)
    return found if all(known) else None


def _opened(f: Frame, kinds: Value) -> Iterator[object]:
    held = kinds.value if isinstance(kinds, Opaque) else kinds
    if isinstance(held, tuple):
        for kind in held:
            yield from _opened(f, kind)
        return
    if isinstance(kinds, Opaque):
        note(f, kinds)
    yield struct_type(held) or held


def note(f: Frame, kind: Opaque) -> None:
    """Notes a class of the person's, which may be defined anew, as captured."""
    if kind.path is not None and getattr(kind.value, "__module__", "") != "builtins":
        f.c.captures.function(kind.path, kind.value)


def is_instance(f: Frame, value: Value, kinds: list[object]) -> bool:
    """Python's `isinstance`: a run-time number is a `float`, an `int` or a `bool`."""
    if isinstance(value, Mat):
        names = {"Matrix"} if len(value.shape) == 2 else {"Vector", "Matrix"}
        return any(builtin(kind) in names for kind in kinds)
    if isinstance(value, StructValue):
        return value.kind is not None and any(kind == value.kind for kind in kinds)
    if isinstance(value, Element | StructElement):
        f.emit.refuse("type", f"`isinstance` does not work on {describe(value)}")
    classes = tuple(kind for kind in kinds if isinstance(kind, type))
    if isinstance(value, RecordValue):
        return issubclass(value.kind, classes)
    if is_open(value):
        return issubclass(kind_of(value), classes)
    if is_scalar(value):
        return isinstance(_EXAMPLES[value.type.kind], classes)
    if isinstance(value, Opaque) and value.path is not None:
        f.c.captures.function(value.path, value.value)  # another object may be of another class
    return isinstance(compile_time(f, value, ast.Constant(None)), classes)
