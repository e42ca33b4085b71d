"""Checkpoints of a run whose length is not known: which one goes when there is no room for another.

The rule of Wang, Moin and Iaccarino (2009), "Minimal repetition dynamic checkpointing algorithm for unsteady
adjoint calculation": each checkpoint has a level, and one before a checkpoint of a higher level is
dispensable. At any length no step is repeated more often than with the best schedule for that length.
"""

from __future__ import annotations

from collections.abc import Sequence

BASE = 1 << 30  # the level of the first checkpoint, which never goes


def place(levels: Sequence[int]) -> tuple[int, int]:
    """Makes room for a checkpoint behind the others, and gives it a level.

    Without another one going, it would have the level 0.

    Parameters
    ----------
    levels : sequence of int
        The levels of the checkpoints, in order; that of the first is `BASE`.

    Returns
    -------
    tuple of (int, int)
        The number of the checkpoint that goes, 0 if none can; and the level of the new one.
    """
    highest = 0
    for number in range(len(levels) - 1, 0, -1):
        if levels[number] < highest:
            return number, 0
        highest = max(highest, levels[number])
    last = len(levels) - 1
    return last, levels[last] + 1
