"""The warning about a budget so small that steps run again very often."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dsim.diagnostics import Diagnostic
from dsim.diagnostics.places import caller
from dsim.runtime.saving.checkpoint_stack import CheckpointStack, RecordedStep
from dsim.runtime.saving.checkpoints import Checkpoint
from dsim.runtime.saving.memory_limits import MemoryLimit
from dsim.runtime.schedules.offline import revolve_runs

_MANY = 20  # runs of each step, on the average
_FEW = 5  # with the budget that the warning names
_SHARE = 4 / 3  # of what steps need, for a tape that first spends a quarter of its budget on other values


def many_runs(stack: CheckpointStack, limit: MemoryLimit, steps: int, shared: bool) -> Iterator[Diagnostic]:
    """The warning, if the steps will run more often than `_MANY` times.

    Parameters
    ----------
    stack, limit
        The loop's, when its first run is over.
    steps : int
        How many there are.
    shared : bool
        Whether the budget is that of the whole tape.
    """
    runs = (steps + _runs_again(stack, limit, steps)) / steps
    if runs <= _MANY:
        return
    slots = next(slots for slots in range(1, steps + 1) if revolve_runs(steps, slots) <= (_FEW - 1) * steps)
    message = f"each of the {steps:,} steps runs about {runs:,.0f} times"
    if limit.budget is None:
        message += f": `slots={limit.slots}` holds few states"
        more = f"slots={slots}"
    else:
        message += f": the budget of {limit.budget:,} bytes is small"
        enough = limit.bytes_for(stack.base.bytes, slots)
        more = f"budget={_rounded(int(_SHARE * enough) if shared else enough):_}"
    advice = f"`{more}`: then each runs about {_FEW} times"
    yield Diagnostic("reruns", message, caller(), "here", help=advice)


def _runs_again(stack: CheckpointStack, limit: MemoryLimit, steps: int) -> float:
    """About how many steps run on the way back."""
    total, room = 0.0, stack.free_room
    marks = [*((item.position, item) for item in stack.items), (steps, None)]
    for (begin, item), (end, _) in reversed(list(pairwise(marks))):
        if isinstance(item, Checkpoint):
            total += _runs(limit, end - begin, room)
            room += limit.state
        elif isinstance(item, RecordedStep):
            room += limit.residual
    return total


def _runs(limit: MemoryLimit, steps: int, room: int) -> float:
    """For so many steps from a state that stays, with so much room beside it."""
    if room >= limit.state:
        return limit.runs(steps, room + limit.state)
    return steps * (steps / min(limit.recorded(room), steps) + 1) / 2


def _rounded(size: int) -> int:
    """A bit more, with two digits."""
    unit = 10 ** max(0, len(str(size)) - 2)
    return -(-size // unit) * unit
