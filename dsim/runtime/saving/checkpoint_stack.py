"""The checkpoints of a loop and its recorded steps, in order of the steps.

The newest checkpoint notes what launches overwrite. The first one, of the state before the loop, is always
there: it leads back to what calls before the loop left, and serves further backward passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.interval_sets import Box
from dsim.runtime.saving.checkpoint_store import CheckpointStore
from dsim.runtime.saving.checkpoints import Checkpoint
from dsim.runtime.saving.entries import Custom, RecordedLaunch
from dsim.runtime.saving.memory_limits import MemoryLimit
from dsim.runtime.saving.snapshots import SavedRegion
from dsim.runtime.schedules import online


class RecordedStep:
    """A step with what its adjoint needs.

    Attributes
    ----------
    position : int
        Its number.
    calls : list
        What it recorded.
    after : list of SavedRegion
        Values that its adjoint, or one before it, needs, and that later steps overwrite.
    """

    def __init__(self, position: int) -> None:
        self.position = position
        self.calls: list[RecordedLaunch | Custom] = []
        self.after: list[SavedRegion] = []

    @property
    def saved(self) -> Iterator[SavedRegion]:
        """All that it keeps."""
        yield from self.after
        for call in self.calls:
            if isinstance(call, RecordedLaunch):
                yield from call.own
                yield from call.before

    @property
    def bytes(self) -> int:
        """The size of it."""
        return sum(s.bytes for s in self.saved)


class CheckpointStack:
    """Checkpoints and recorded steps.

    Parameters
    ----------
    store : CheckpointStore
        Where values are.
    limit : MemoryLimit
        How much memory they may take.

    Attributes
    ----------
    items : list
        Both, in order.
    base, newest : Checkpoint
        The first and the last checkpoint.
    """

    def __init__(self, store: CheckpointStore, limit: MemoryLimit) -> None:
        self.store = store
        self._limit = limit
        self.base = self.newest = Checkpoint(store, 0, online.BASE)
        self.items: list[Checkpoint | RecordedStep] = [self.base]
        self._base_counts = True

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The checkpoints."""
        return [item for item in self.items if isinstance(item, Checkpoint)]

    @property
    def bytes(self) -> int:
        """The size of what the checkpoints hold, without the recorded steps."""
        return sum(log.bytes for log in self.checkpoints)

    # -- changes

    def mark(self, position: int, level: int = 0) -> None:
        """Keeps the present state, that before the step `position`."""
        self.newest = Checkpoint(self.store, position, level)
        self.items.append(self.newest)

    def record(self, position: int) -> RecordedStep:
        """Adds a recorded step."""
        made = RecordedStep(position)
        self.items.append(made)
        return made

    def remove(self, number: int) -> None:
        """Removes a checkpoint, which is not the first; the one before takes over its values."""
        kept = self.checkpoints
        kept[number - 1].absorb(kept[number])
        self.items.remove(kept[number])
        del kept[number]
        self.newest = kept[-1]

    def leave(self, top: Checkpoint) -> None:
        """Removes the checkpoint that is last, from which no step runs again; the first one remains."""
        if top is self.base:
            self._base_counts = False
        else:
            self.remove(-1)

    def pop(self) -> None:
        """Removes what is last."""
        if self.items[-1] is self.newest:
            self.remove(-1)
        else:
            self.items.pop()

    def free(self, step: RecordedStep) -> None:
        """Frees what a step keeps."""
        for s in step.saved:
            self.store.free(s.field, s.box, s.values)

    def drop_recorded(self) -> None:
        """Frees all recorded steps: they run again from the checkpoint before."""
        for step in [item for item in self.items if isinstance(item, RecordedStep)]:
            self.free(step)
            self.items.remove(step)

    def start_again(self) -> None:
        """Leaves only the state before the loop."""
        while len(self.items) > 1:
            last = self.items[-1]
            if isinstance(last, RecordedStep):
                self.free(last)
            self.pop()
        self._base_counts = True

    # -- memory

    def base_is_free(self) -> None:
        """No step but the first will run again from the first checkpoint: a schedule does not have it."""
        self._base_counts = False

    @property
    def free_room(self) -> int:
        """How many of the schedule's units are left."""
        if self._limit.strict:
            last = self.items[-1]
            residual = last.bytes if isinstance(last, RecordedStep) else None
            return self._limit.free(self.store.bytes + self._limit.to_come(self.newest.bytes, residual))
        states = len(self.checkpoints)
        recorded = len(self.items) - states
        states -= not self._base_counts
        return self._limit.room - states * self._limit.state - recorded * self._limit.residual

    def freed(self, top: Checkpoint) -> int:
        """How many units become free when `top`, which is last, is left."""
        if not self._limit.strict:
            return self._limit.state
        return 0 if top is self.base else self._limit.units(top.shared(self.checkpoints[-2]))

    @property
    def full(self) -> bool:
        """Whether a checkpoint has to go before another one comes."""
        return self._limit.full(len(self.checkpoints), self.store.bytes)

    @property
    def can_skip(self) -> bool:
        """Whether steps may run now without a checkpoint of their own: the last item is one."""
        return self.items[-1] is self.newest

    @property
    def changed(self) -> Iterable[tuple[Field, Box]]:
        """All that going backwards changes."""
        found = ((f, box) for log in self.checkpoints for f, boxes in log.regions.items() for box in boxes)
        return dict.fromkeys(found)
