"""The standard sequence of passes, for every kernel before and after it is differentiated."""

from __future__ import annotations

from dsim.ir.nodes import Kernel
from dsim.passes.drop_dead import drop_dead
from dsim.passes.fold import fold
from dsim.passes.hoist import hoist
from dsim.passes.registers import registers
from dsim.passes.reuse import reuse
from dsim.passes.touched import has_inner_loops

CLEAN = (fold, reuse, drop_dead)
MOVE = (hoist, registers)


def simplify(kernel: Kernel) -> Kernel:
    """`kernel` made small.

    What is known is computed, what is equal is done once, what is dead is gone, what does not change in
    an inner loop is done outside of it.
    """
    for one in CLEAN:
        kernel = one(kernel)
    if not has_inner_loops(kernel):
        return kernel
    moved = kernel
    for one in MOVE:
        moved = one(moved)
    if moved is not kernel:  # what stood in two loops may now stand side by side
        for one in CLEAN:
            moved = one(moved)
    return moved
