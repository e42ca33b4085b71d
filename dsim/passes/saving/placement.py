"""Chooses how the residuals of an adjoint are kept, in the order in which each choice affects the next.

==================  ==================================================  =================================
strategy            what is kept                                        chosen for
==================  ==================================================  =================================
recomputation       nothing: statements without carried state run       everything whose inputs are still
                    again (`autodiff.recomputation`)                    there on the way back
copy                a carried value by trip; all elements of a buffer   what is small, or mostly written
undo log            each element before it is written, and marks        large buffers with few writes;
                    (`snapshots_to_undo_log`)                           fields that an adjoint writes again
checkpoint segment  the state before each segment, and the residuals    loops whose residuals may exceed
                    of one segment's trips (`checkpoint_segments`)      the budget
==================  ==================================================  =================================

A tape has the same choice for what a launch overwrites: a snapshot of the region before the launch, or the
adjoint repeats the writes with an undo log (`runtime.recording.save_policy`).
"""

from __future__ import annotations

from dsim.ir.nodes import KernelIR
from dsim.passes.saving.checkpoint_segments import segment_loops
from dsim.passes.saving.snapshots_to_undo_log import snapshots_to_undo_log


def place_residuals(kernel: KernelIR, budget: int, threads: int = 1) -> KernelIR:
    """`kernel` with its residuals placed so that its loops save at most about `budget` bytes at a time.

    Undo logs come first: the length of a segment depends on the residuals that its trips still save.

    Parameters
    ----------
    kernel : KernelIR
        Simplified, without calls; not to be differentiated any more.
    budget : int
        Bytes, for all nested loops and all threads together.
    threads : int
        How many iterations of a parallel loop run at once.
    """
    return segment_loops(snapshots_to_undo_log(kernel), budget, threads)
