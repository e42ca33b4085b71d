"""Roots, powers, transcendentals, rounding: LLVM's intrinsics, and functions of C's library."""

from __future__ import annotations

from dsim.backends.llvm.target import Target
from dsim.backends.llvm.text import TYPE, Function
from dsim.ir.primitive import Intrinsic, Libm
from dsim.ir.types import ScalarType, f32


def math(
    f: Function, target: Target, lowering: Libm | Intrinsic, t: ScalarType, args: tuple[str, ...]
) -> str:
    """The value of a mathematical primitive; functions of the library take halves as floats of 32 bits."""
    if isinstance(lowering, Libm) and t.bits == 16:
        wide = tuple(f.let(f"fpext half {a} to float") for a in args)
        return f.let(f"fptrunc float {target.libm(f, lowering.name, f32, wide)} to half")
    if isinstance(lowering, Libm):
        return target.libm(f, lowering.name, t, args)
    name = f"llvm.{lowering.name}.f{t.bits}"
    f.module.declare(name, f"declare {TYPE[t]} @{name}({TYPE[t]})")
    flags = f.module.flags("call") if lowering.rounds else ""
    return f.let(f"call{flags} {TYPE[t]} @{name}({TYPE[t]} {args[0]})")
