"""Primitives that LLVM has an intrinsic for, which is an instruction of most machines."""

from __future__ import annotations

from dsim.backends.llvm.text import TYPE, Function
from dsim.ir.primitive import Intrinsic
from dsim.ir.types import ScalarType


def intrinsic(f: Function, lowering: Intrinsic, t: ScalarType, a: str) -> str:
    """The value of an intrinsic of one float."""
    name = f"llvm.{lowering.name}.f{t.bits}"
    f.module.declare(name, f"declare {TYPE[t]} @{name}({TYPE[t]})")
    flags = f.module.flags if lowering.rounds else ""
    return f.let(f"call{flags} {TYPE[t]} @{name}({TYPE[t]} {a})")
