"""The standard pass pipelines: for every kernel that is shown or differentiated, and for machine code.

Reduction promotion runs only before machine code: the derivative of the person's own ``U[None] += e`` is
shorter, and easier to read, than that of a promoted sum.
"""

from __future__ import annotations

from dsim.ir.nodes import KernelIR
from dsim.passes.common_subexpression_elimination import eliminate_common_subexpressions
from dsim.passes.constant_folding import fold_constants
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.guards_to_bounds import guards_to_bounds
from dsim.passes.index_set_splitting import split_index_sets
from dsim.passes.inline import inline
from dsim.passes.loop_invariant_code_motion import move_loop_invariants
from dsim.passes.loop_unrolling import unroll_short_loops
from dsim.passes.lower_probes import lower_probes
from dsim.passes.reduction_promotion import promote_reductions
from dsim.passes.rerolling.loops import reroll_rows
from dsim.passes.touched_elements import has_inner_loops

CLEAN = (fold_constants, eliminate_common_subexpressions, eliminate_dead_code)


def simplify(kernel: KernelIR) -> KernelIR:
    """`kernel` simplified: constant folding, CSE, DCE and LICM."""
    for one in CLEAN:
        kernel = one(kernel)
    if not has_inner_loops(kernel):
        return kernel
    return _cleaned(
        kernel, move_loop_invariants(kernel)
    )  # hoisted statements of two loops may now be equal in one block


def finish(kernel: KernelIR) -> KernelIR:
    """A simplified kernel lowered for machine code.

    Calls are inlined, rows rerolled, guards moved into bounds, index sets split, short loops unrolled, and
    reductions promoted.
    """
    kernel = without_calls(kernel)
    kernel = _cleaned(kernel, reroll_rows(kernel))
    kernel = _cleaned(kernel, guards_to_bounds(kernel))
    return _lowered(_cleaned(kernel, split_index_sets(kernel)))


def finish_for_grid(kernel: KernelIR) -> KernelIR:
    """The same for a device. Index sets stay whole: loops that are cut are no nest for threads to share."""
    return _lowered(without_calls(kernel))


def _lowered(kernel: KernelIR) -> KernelIR:
    kernel = _cleaned(kernel, unroll_short_loops(kernel))
    return _cleaned(kernel, promote_reductions(kernel)) if has_inner_loops(kernel) else kernel


def inlined(kernel: KernelIR) -> KernelIR:
    """A simplified kernel without `Call` and `Probe` nodes, simplified again: shown, and run, as Python."""
    after = lower_probes(inline(kernel))
    return kernel if after is kernel else simplify(after)


def without_calls(kernel: KernelIR) -> KernelIR:
    """A simplified kernel without `Call` nodes, simplified again."""
    after = inline(kernel)
    return kernel if after is kernel else simplify(after)


def _cleaned(before: KernelIR, after: KernelIR) -> KernelIR:
    if after is not before:
        for one in CLEAN:
            after = one(after)
    return after
