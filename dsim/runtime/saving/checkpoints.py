"""A checkpoint as an undo log: what was overwritten since, each element once, as it was then.

Nothing is copied when a checkpoint begins. The first write after it to a region copies what stands there, so
a field of which each step writes another row costs only these rows. Undoing the checkpoints from the last to
one of them leads back to its state. Where one between two others goes, its values become the earlier one's.
"""

from __future__ import annotations

from typing import Any

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import Reach
from dsim.runtime.launching.interval_sets import Box, hull, include, outside
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

    Attributes
    ----------
    bytes : int
        The size of the saved values.
    """

    def __init__(self, store: CheckpointStore, position: int, level: int) -> None:
        self.position = position
        self.level = level
        self._store = store
        self._saved: dict[Field, list[tuple[Box, Any]]] = {}
        self._covered: dict[Field, list[Box]] = {}
        self._seen: set[Reach] = set()
        self.bytes = 0

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
            self.bytes += size_of(field, part)

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
            for field, covered in self._covered.items()
            for part in outside(covered, earlier._covered.get(field, ()))
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
            added = outside(later._covered[field], covered)
            if added == later._covered[field]:
                less, more = sorted((known, saved), key=len)  # in a row of steps one of them has many
                more += less
                self._saved[field] = more
            else:
                for box, values in saved:
                    known += self._outside(field, box, values, covered)
            self.bytes += sum(size_of(field, part) for part in added)
            for part in added:
                include(covered, part)
        self._seen |= later._seen
        later._saved, later._covered, later._seen, later.bytes = {}, {}, set(), 0

    def _outside(self, field: Field, box: Box, values: Any, covered: list[Box]) -> list[tuple[Box, Any]]:
        """Saved values of what is not `covered`; the others are freed."""
        missing = outside([box], covered)
        if missing == [box]:
            return [(box, values)]
        kept = [(part, self._store.part(field, box, values, part)) for part in missing]
        self._store.free(field, box, values)
        return kept

    def clear(self) -> None:
        """Frees everything."""
        for field, saved in self._saved.items():
            for box, values in saved:
                self._store.free(field, box, values)
        self._saved, self._covered, self._seen, self.bytes = {}, {}, set(), 0

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
