"""Parameters of kernels: the scalars of the IR that an argument of a type fills."""

from __future__ import annotations

from typing import Any

from dsim.frontend.source.lowered import Param, StructParam
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.types import matrix_type, scalar_type, struct_type
from dsim.frontend.values.values import Mat, StructValue, Value, component_names


def parameter(e: Emitter, name: str, annotation: Any) -> tuple[Param | StructParam, Value] | None:
    """The parameter `name` and its value in the kernel; None when the annotation is no type of numbers.

    Of a struct's member, `name` is ``p.pos``.
    """
    kind = struct_type(annotation)
    if kind is not None:
        made = {key: parameter(e, f"{name}.{key}", t) for key, t in kind.members}
        members = {key: m for key, m in made.items() if m is not None}
        value = StructValue({key: v for key, (_, v) in members.items()}, kind)
        return StructParam(name, kind, tuple(p for p, _ in members.values())), value
    vector = matrix_type(annotation)
    to = scalar_type(annotation if vector is None else vector.dtype, e.settings)
    if to is None:
        return None
    shape = () if vector is None else vector.shape
    labels = component_names(name, shape)
    variables = tuple(e.builder.fresh(label, to) for label in labels)
    return Param(name, to, variables, shape), Mat(shape, variables) if shape else variables[0]
