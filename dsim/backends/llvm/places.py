"""How one LLVM function accesses a memory: addresses, and registers that replace elements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from dsim.backends.llvm.arithmetic.integers import cast
from dsim.backends.llvm.arithmetic.primitives import binary
from dsim.backends.llvm.target import Target
from dsim.backends.llvm.text import TYPE, Function
from dsim.ir.nodes import AccumulateOp, Atom, Memory
from dsim.ir.types import ScalarType

Length = int | str


class Register(NamedTuple):
    """A sum (or product, least, greatest, …) over many iterations, kept on the stack of one thread.

    `type` may be wider than the memory's, for precision.
    """

    slot: str
    op: AccumulateOp
    type: ScalarType

    def add(self, f: Function, target: Target, value: str, source: ScalarType) -> None:
        """Takes one value of type `source` in."""
        if source != self.type:
            value = cast(f, value, source, self.type)
        ty = TYPE[self.type]
        old = f.let(f"load {ty}, ptr {self.slot}, align 8")
        new = binary(f, target, self.op, self.type, old, value)
        f.do(f"store {ty} {new}, ptr {self.slot}, align 8")


@dataclass(slots=True)
class MemRef:
    """How one memory is reached inside one LLVM function.

    Attributes
    ----------
    base : str
        Its address.
    shape, strides : tuple
        Per axis the length and the distance of two elements, counted in elements: a number, or an
        LLVM value known only at run time.
    target : str
        The address that accumulations are relative to, when that is another one.
    atomic : bool
        Whether other threads accumulate into the same elements.
    registers : dict
        What stands for elements while a task runs, by index and operation.
    """

    memory: Memory
    base: str
    shape: tuple[Length, ...]
    strides: tuple[Length, ...]
    target: str = ""
    atomic: bool = False
    registers: dict[tuple[tuple[Atom, ...], AccumulateOp], Register] = field(default_factory=dict)

    @property
    def small(self) -> bool:
        """Whether offsets of its elements fit into 31 bits, and none is negative."""
        known = all(isinstance(n, int) for n in (*self.shape, *self.strides))
        return known and 0 < self.extent < 1 << 31 and all(int(d) >= 0 for d in self.strides)

    @property
    def extent(self) -> int:
        """Of a place of known shape: how many elements it reaches over; 0 when it has none."""
        if 0 in self.shape:
            return 0
        return 1 + sum((int(n) - 1) * int(d) for n, d in zip(self.shape, self.strides, strict=True))

    @property
    def dense(self) -> bool:
        """Whether elements lie in C order at distances known now."""
        return self.strides == dense_strides(self.shape)


def dense_strides(shape: tuple[Length, ...]) -> tuple[Length, ...] | None:
    """The strides of C order, or None where an inner length is known only at run time."""
    strides: list[Length] = []
    distance = 1
    for length in reversed(shape):
        strides.append(distance)
        if isinstance(length, str) and len(strides) < len(shape):
            return None
        distance *= length if isinstance(length, int) else 1
    return tuple(reversed(strides))
