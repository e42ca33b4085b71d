"""The differences between the machines that the LLVM emitter supports.

The emitter keeps to the part of LLVM that NVVM takes as well; everything beyond it goes through
these methods.
"""

from __future__ import annotations

from typing import Protocol

from dsim.backends.llvm.float_mode import FloatMode
from dsim.backends.llvm.text import Function, Module
from dsim.ir.nodes import AccumulateOp
from dsim.ir.primitive import Intrinsic, Libm
from dsim.ir.types import ScalarType


class Target(Protocol):
    """One machine.

    Attributes
    ----------
    name : str
        For messages.
    recent : bool
        Whether it knows the flags of `trunc` and `zext` that LLVM has had since version 19.
    float_mode : FloatMode, optional
        The register with its mode of floating point, where threads have one.
    """

    name: str
    recent: bool
    float_mode: FloatMode | None

    def header(self) -> str:
        """The first lines of a module: data layout and triple."""
        ...

    def math(self, f: Function, lowering: Libm | Intrinsic, t: ScalarType, args: tuple[str, ...]) -> str:
        """The value of a mathematical primitive (roots, powers, transcendentals, rounding)."""
        ...

    def lanes(self, t: ScalarType) -> tuple[int, ...]:
        """How many numbers of the float type `t` its vectors may hold; none where there are no vectors."""
        ...

    def negate(self, f: Function, t: ScalarType, a: str) -> str:
        """``-a`` of a float."""
        ...

    def saturate(self, f: Function, a: str, source: ScalarType, to: ScalarType) -> str:
        """The float `a` as an integer: truncated, saturated, 0 for NaN."""
        ...

    def accumulate(
        self, f: Function, op: AccumulateOp, t: ScalarType, address: str, value: str, old: bool
    ) -> str | None:
        """``*address = op(*address, value)`` in one step for all threads; the old value if `old`."""
        ...

    def finish(self, module: Module) -> None:
        """Adds what the module needs once all functions are written."""
        ...
