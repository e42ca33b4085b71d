"""What a run that is recorded launches, overwrites, and reads in Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from dsim.runtime.checking.replays import Recorder
from dsim.runtime.fields.fields import Field


class RunRecorder(Recorder):
    """A recorder that also keeps the values of fields that Python reads: they may steer the run.

    Attributes
    ----------
    read : dict of Field to ndarray
        What Python read, with its values then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: dict[Field, np.ndarray] = {}

    def element_read(self, field: Field) -> None:
        """Keeps the values, and passes the read on."""
        if field not in self.read:
            self.read[field] = field.require_memory().copy()
        super().element_read(field)

    def begins_here(self, own: Collection[Field], arrays: Mapping[Field, np.ndarray]) -> bool:
        """Whether a run would find the same numbers now, beside those of the fields `own`.

        Parameters
        ----------
        own : collection of Field
            What it is given anew each time.
        arrays : mapping of Field to ndarray
            The arrays that stand behind fields.
        """
        began = {f: values for f, values in self.entry.items() if f.root is f}
        began = {**self.read, **began}  # what it overwrote before Python read it
        return all(
            np.array_equal(arrays.get(f, f.require_memory()), values, equal_nan=f.dtype.is_float)
            for f, values in began.items()
            if f not in own
        )
