"""Chooses how the residuals of an adjoint are kept, in the order in which one choice bears on the next.

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

A tape chooses between the same: what a launch overwrites is copied before it, by region (a snapshot), or the
adjoint writes it again with an undo log (`runtime.recording.save_policy`).
"""

from __future__ import annotations

from dsim.ir.nodes import Kernel
from dsim.passes.saving.checkpoint_segments import segment_loops
from dsim.passes.saving.snapshots_to_undo_log import snapshots_to_undo_log


def place_residuals(kernel: Kernel, budget: int, threads: int = 1) -> Kernel:
    """`kernel` with its residuals kept so that its loops save about `budget` bytes at a time, at most.

    Undo logs come first: a segment is as long as what its trips still save allows.

    Parameters
    ----------
    kernel : Kernel
        Simple, without calls; not to be derived from any more.
    budget : int
        Bytes, for all loops inside of one another and all threads together.
    threads : int
        How many iterations of a parallel loop run at once.
    """
    return segment_loops(snapshots_to_undo_log(kernel), budget, threads)
