"""Where the values of checkpoints and of recorded steps are: in memory or on disk, until they are freed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Context
from dsim.runtime.launching.interval_sets import Box
from dsim.runtime.saving.snapshots import Overwriter, SavedRegion, SnapshotStore, size_of
from dsim.runtime.saving.values_on_disk import Files, ValuesOnDisk


class CheckpointStore(SnapshotStore):
    """Saved values, which may be freed one by one.

    Parameters
    ----------
    context : Context
        The tape.
    directory : Path or None
        Where files with the values are written; None for memory.

    Attributes
    ----------
    bytes, most : int
        The size of the values that are held now, and the largest that it was.
    """

    def __init__(self, context: Context, directory: Path | None) -> None:
        super().__init__(context)
        self.most = 0
        self._shared: set[Any] = set()
        self._files = None if directory is None else Files(directory)

    def save(self, field: Field, box: Box, writer: Overwriter, readers: Sequence[Any]) -> SavedRegion:
        """Takes a snapshot of a region that is about to be overwritten."""
        return SavedRegion(field, box, self.take(field, box), writer, readers)

    def take(self, field: Field, box: Box) -> Any:
        """The present values of a region."""
        field.scratch(field.derivative)  # the gradients of a tape inside may have no memory yet
        values = super().take(field, box)
        self.bytes += size_of(field, box)
        self.most = max(self.most, self.bytes)
        if self._files is not None and isinstance(values, np.ndarray):
            return self._files.write(values)
        return values

    def part(self, field: Field, box: Box, values: Any, part: Box) -> Any:
        """The values of a part of a saved region, saved by themselves; the others remain to be freed."""
        self.bytes += size_of(field, part)
        if isinstance(values, tuple):
            self._shared.add(values)  # the slot as it is, which serves no other values from now on
            return values
        held = values.read() if isinstance(values, ValuesOnDisk) else values
        inner = tuple(slice(p - low, q - low) for (low, _), (p, q) in zip(box, part, strict=True))
        copied = np.array(held[inner])
        return copied if self._files is None else self._files.write(copied)

    def free(self, field: Field, box: Box, values: Any) -> None:
        """Frees saved values."""
        self.bytes -= size_of(field, box)
        if isinstance(values, ValuesOnDisk):
            values.delete()
        elif isinstance(values, tuple) and values not in self._shared:
            self.reuse(field, values)
