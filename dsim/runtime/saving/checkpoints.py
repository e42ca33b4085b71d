"""A checkpoint as an undo log: what was overwritten since, each element once, as it was then.

Nothing is copied when a checkpoint begins. The first write after it to a region copies what stands there, so
a field of which each step writes another row costs only these rows. Undoing the checkpoints from the last to
one of them leads back to its state. Where one between two others goes, its values become the earlier one's.
"""

from __future__ import annotations

from typing import Any

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import Reach
from dsim.runtime.launching.interval_sets import Box, hull, outside
from dsim.runtime.saving.checkpoint_store import CheckpointStore
from dsim.runtime.saving.snapshots import size_of

_MOST_BOXES = 8  # of one field; then one box around them is saved, and room for as much again


class Checkpoint:
    """The values of regions at one moment, saved when they were first overwritten after it.

    Parameters
    ----------
    store : CheckpointStore
        Where the values go.
    position : int
        The number of the step before which it began.
    level : int
        See `schedules.online`.
    """

    def __init__(self, store: CheckpointStore, position: int, level: int) -> None:
        self.position = position
        self.level = level
        self._store = store
        self._saved: dict[Field, list[tuple[Box, Any]]] = {}
        self._covered: dict[Field, list[Box]] = {}
        self._seen: set[Reach] = set()

    def note(self, writes: Reach, args: tuple[Any, ...]) -> None:
        """Saves what is about to be overwritten, if it is not saved."""
        if writes in self._seen:
            return
        for field, box in writes.of(args):
            self._save(field, box)
        if writes.fixed:
            self._seen.add(writes)

    def _save(self, field: Field, box: Box) -> None:
        covered = self._covered.setdefault(field, [])
        missing = outside([box], covered)
        if not missing:
            return
        if len(covered) >= _MOST_BOXES:
            box = _wider(covered, box, field.full_shape)
            missing = outside([box], covered)
            covered[:] = [box]
        else:
            covered += missing
        saved = self._saved.setdefault(field, [])
        for part in missing:
            saved.append((part, self._store.take(field, part)))

    def cost(self, writes: Reach, args: tuple[Any, ...]) -> int:
        """About how many bytes `note` would save."""
        if writes in self._seen:
            return 0
        return sum(
            size_of(field, part)
            for field, box in writes.of(args)
            for part in outside([box], self._covered.get(field, ()))
        )

    def shared(self, earlier: Checkpoint) -> int:
        """How many bytes are freed when `earlier` absorbs this one."""
        return self.bytes - sum(
            size_of(field, part)
            for field, saved in self._saved.items()
            for part in outside([box for box, _ in saved], earlier._covered.get(field, ()))
        )

    def restore(self) -> None:
        """Puts all values back; they stay in the log."""
        for field, saved in self._saved.items():
            for box, values in saved:
                self._store.restore(field, box, values)

    def absorb(self, later: Checkpoint) -> None:
        """Takes over the values of the log that began after this one, where this one has none."""
        for field, saved in later._saved.items():
            known, covered = self._saved.setdefault(field, []), self._covered.setdefault(field, [])
            before = tuple(covered)
            for box, values in saved:
                missing = outside([box], before)
                if missing != [box]:
                    kept = [(part, self._store.part(field, box, values, part)) for part in missing]
                    self._store.free(field, box, values)
                    known += kept
                else:
                    known.append((box, values))
                covered += missing
            _simplify(covered)
        self._seen |= later._seen
        later._saved, later._covered, later._seen = {}, {}, set()

    def clear(self) -> None:
        """Frees everything."""
        for field, saved in self._saved.items():
            for box, values in saved:
                self._store.free(field, box, values)
        self._saved, self._covered, self._seen = {}, {}, set()

    @property
    def bytes(self) -> int:
        """The size of the saved values."""
        return sum(size_of(field, box) for field, saved in self._saved.items() for box, _ in saved)

    @property
    def regions(self) -> dict[Field, list[Box]]:
        """The disjoint regions that it holds."""
        return {field: [box for box, _ in saved] for field, saved in self._saved.items()}


def _wider(covered: list[Box], box: Box, shape: tuple[int, ...]) -> Box:
    """A box around all of them, twice as long where the last one reaches beyond the others."""
    known = covered[0]
    for other in covered[1:]:
        known = hull(known, other)
    around = hull(known, box)
    return tuple(
        (max(0, 2 * low - high) if low < first else low, min(n, 2 * high - low) if high > last else high)
        for (low, high), (first, last), n in zip(around, known, shape, strict=True)
    )


def _simplify(covered: list[Box]) -> None:
    """Replaces many boxes by those of them that are not inside the others."""
    if len(covered) > _MOST_BOXES:
        left: list[Box] = []
        for box in sorted(covered, key=_volume, reverse=True):
            if outside([box], left):
                left.append(box)
        covered[:] = left


def _volume(box: Box) -> int:
    found = 1
    for low, high in box:
        found *= high - low
    return found
