"""The names of derivatives: ``x_dot`` a tangent, ``x_bar`` an adjoint, ``saved_x`` a saved value."""

from __future__ import annotations

from dataclasses import replace

from dsim.ir.build import Names, const
from dsim.ir.nodes import Const, Memory
from dsim.ir.types import ScalarType

TANGENT = "dot"
ADJOINT = "bar"


def companion(memory: Memory, label: str, names: Names) -> Memory:
    """The companion of `memory`: a field's has a longer derivative path, a private one's a fresh name."""
    if memory.private:
        return replace(memory, name=names.fresh(f"{memory.name}_{label}"))
    return replace(memory, derivative=(*memory.derivative, label))


def zero(type: ScalarType) -> Const:
    """The number 0 of a float type."""
    return const(0.0, type)
