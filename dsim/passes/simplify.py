"""The standard sequence of passes, for every kernel before and after it is differentiated."""

from __future__ import annotations

from dsim.ir.nodes import Kernel
from dsim.passes.drop_dead import drop_dead
from dsim.passes.fold import fold
from dsim.passes.hoist import hoist
from dsim.passes.registers import registers
from dsim.passes.reuse import reuse

PASSES = (fold, reuse, drop_dead, hoist, registers, fold, reuse, drop_dead)


def simplify(kernel: Kernel) -> Kernel:
    """`kernel` made small.

    What is known is computed, what is equal is done once, what is dead is gone, what does not change in
    an inner loop is done outside of it.
    """
    for one in PASSES:
        kernel = one(kernel)
    return kernel
