"""What a run that is recorded launches, overwrites, and reads in Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from dsim.runtime.checking.replays import Recorder
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.shadow_arrays import Mirror, Mirrors
from dsim.runtime.saving.snapshots import SavedValues


def _owner(array: np.ndarray) -> np.ndarray:
    """The array that `array` is a view of, or itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class RunRecorder(Recorder):
    """A recorder that also keeps the values of fields that Python reads: they may steer the run.

    Parameters
    ----------
    mirrors : Mirrors, optional
        The shadow arrays of the run; those of its own by default.

    Attributes
    ----------
    read : dict of Field to ndarray
        What Python read, with its values then.
    """

    def __init__(self, mirrors: Mirrors | None = None) -> None:
        super().__init__()
        self.read: dict[Field, np.ndarray] = {}
        self._shadows = self.mirrors if mirrors is None else mirrors
        self._wholes: list[tuple[np.ndarray, np.ndarray]] = []

    def keep(self, field: Field) -> None:
        """Keeps the values; of a view of an array those of the whole array, which Python may change, too."""
        new = isinstance(field, Mirror) and field not in self.entry
        for array in [array for mirror, array in self._shadows.arrays() if new and mirror is field]:
            whole = _owner(array)
            if whole is not array and not any(whole is each for each, _ in self._wholes):
                self._wholes.append((whole, whole.copy()))
        super().keep(field)

    def arrays(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The NumPy arrays that kernels wrote to, with their numbers before, to be put back from the last."""
        pairs = [(mirror, array) for mirror, array in self._shadows.arrays() if array.flags.writeable]
        views = [(array, self.entry[mirror]) for mirror, array in pairs if mirror in self.entry]
        return [*(each for each in self._wholes if each[0].flags.writeable), *views]

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
        began = {f: values for f, values in self.entry.items() if _is_users(f)}
        began = {**self.read, **began}  # what it overwrote before Python read it
        return all(
            _same(arrays.get(f, f.require_memory()), values) for f, values in began.items() if f not in own
        )


def _is_users(field: Field) -> bool:
    """Whether a user may have written to it. A tape writes to its slots before it reads them."""
    return field.root is field and not isinstance(field, SavedValues)


def _same(now: np.ndarray, before: np.ndarray) -> bool:
    """Whether all bits are the same: those of the sign of 0, too."""
    if (now.shape, now.dtype) != (before.shape, before.dtype):
        return np.array_equal(now, before)
    bits, others = (np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (now, before))
    return np.array_equal(bits, others)
