"""The standard sequences of passes: for every kernel that is read or differentiated, and for machine code.

Sums in registers come only before machine code: a derivative of the person's own ``U[None] += e`` is
shorter, and reads better, than one of a sum that a pass made.
"""

from __future__ import annotations

from dsim.ir.nodes import Kernel
from dsim.passes.drop_dead import drop_dead
from dsim.passes.exposed import exposed
from dsim.passes.fold import fold
from dsim.passes.hoist import hoist
from dsim.passes.inline import inline
from dsim.passes.registers import registers
from dsim.passes.reuse import reuse
from dsim.passes.touched import has_inner_loops

CLEAN = (fold, reuse, drop_dead)


def simplify(kernel: Kernel) -> Kernel:
    """`kernel` made small.

    What is known is computed, what is equal is done once, what is dead is gone, what does not change in
    an inner loop is done outside of it.
    """
    for one in CLEAN:
        kernel = one(kernel)
    if not has_inner_loops(kernel):
        return kernel
    return _cleaned(kernel, hoist(kernel))  # what stood in two loops may now stand side by side


def finish(kernel: Kernel) -> Kernel:
    """A simple kernel with what only the machine likes: no calls, sums in registers."""
    kernel = without_calls(kernel)
    return _cleaned(kernel, registers(kernel)) if has_inner_loops(kernel) else kernel


def inlined(kernel: Kernel) -> Kernel:
    """A simple kernel without `Call` and `Watch` nodes, simple again: what is read, and run, as Python."""
    after = exposed(inline(kernel))
    return kernel if after is kernel else simplify(after)


def without_calls(kernel: Kernel) -> Kernel:
    """A simple kernel without `Call` nodes, simple again."""
    after = inline(kernel)
    return kernel if after is kernel else simplify(after)


def _cleaned(before: Kernel, after: Kernel) -> Kernel:
    if after is not before:
        for one in CLEAN:
            after = one(after)
    return after
