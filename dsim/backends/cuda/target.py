"""NVIDIA's devices as a target: C's mathematical functions by name, a pool for memory, a buffer for prints.

A function of C's library is called by a name of dsim's own, ``dsim_math_sin_f64``, which the text declares:
what makes machine code of the text says which function that is.
"""

from __future__ import annotations

from dsim.backends.llvm.grid import prints
from dsim.backends.llvm.grid.pool import HEAP
from dsim.backends.llvm.text import TYPE, Function, Module
from dsim.ir.types import ScalarType


class CudaTarget:
    """See `Target`."""

    heap = HEAP
    polls = False

    def libm(self, f: Function, name: str, t: ScalarType, args: tuple[str, ...]) -> str:
        """A call by dsim's own name."""
        return f.call(TYPE[t], _declared(f.module, name, t, len(args)), *(f"{TYPE[t]} {a}" for a in args))

    def fmod(self, module: Module, t: ScalarType) -> str:
        """LLVM makes of `frem` a quotient, a product and a difference, all of them rounded."""
        return _declared(module, "fmod", t, 2)

    def lanes(self, t: ScalarType) -> tuple[int, ...]:
        """None."""
        return ()

    def print(self, f: Function, which: int, values: list[str]) -> None:
        """A row in the print buffer."""
        prints.write(f, which, values)


def _declared(module: Module, function: str, t: ScalarType, arity: int) -> str:
    name = f"dsim_math_{function}_{t.name}"
    args = ", ".join([TYPE[t]] * arity)
    return module.declare(name, f"declare {TYPE[t]} @{name}({args}) memory(none) nounwind willreturn")
