"""The standard sequences of passes: for every kernel that is read or differentiated, and for machine code.

Sums in registers come only before machine code: a derivative of the person's own ``U[None] += e`` is
shorter, and reads better, than one of a sum that a pass made.
"""

from __future__ import annotations

from dsim.ir.nodes import Kernel
from dsim.passes.common_subexpression_elimination import eliminate_common_subexpressions
from dsim.passes.constant_folding import fold_constants
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.inline import inline
from dsim.passes.loop_invariant_code_motion import move_loop_invariants
from dsim.passes.lower_probes import lower_probes
from dsim.passes.reduction_promotion import promote_reductions
from dsim.passes.touched_elements import has_inner_loops

CLEAN = (fold_constants, eliminate_common_subexpressions, eliminate_dead_code)


def simplify(kernel: Kernel) -> Kernel:
    """`kernel` made small.

    What is known is computed, what is equal is done once, what is dead is gone, what does not change in
    an inner loop is done outside of it.
    """
    for one in CLEAN:
        kernel = one(kernel)
    if not has_inner_loops(kernel):
        return kernel
    return _cleaned(
        kernel, move_loop_invariants(kernel)
    )  # what stood in two loops may now stand side by side


def finish(kernel: Kernel) -> Kernel:
    """A simple kernel with what only the machine likes: no calls, sums in registers."""
    kernel = without_calls(kernel)
    return _cleaned(kernel, promote_reductions(kernel)) if has_inner_loops(kernel) else kernel


def inlined(kernel: Kernel) -> Kernel:
    """A simple kernel without `Call` and `Watch` nodes, simple again: what is read, and run, as Python."""
    after = lower_probes(inline(kernel))
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
