"""What a replay of a run showed, beside what was recorded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


class Outcome:
    """Collects differences.

    Parameters
    ----------
    tolerance : mapping
        By a dtype's name, how far a value may be off, in units that `compare` is given. Values of other types
        have to be equal.

    Attributes
    ----------
    wrong : list of str
        What differs.
    off : dict
        By a dtype's name, the largest deviation, in the same units.
    """

    def __init__(self, tolerance: Mapping[str, float]) -> None:
        self.tolerance = tolerance
        self.wrong: list[str] = []
        self.off: dict[str, float] = {}

    def same(self, what: str, found: object, wanted: object) -> None:
        """Compares what has to be equal."""
        if found != wanted:
            self.wrong.append(f"{what}: {str(found)[:200]} for {str(wanted)[:200]}")

    def compare(self, what: str, found: np.ndarray, wanted: np.ndarray, unit: float) -> None:
        """Compares arrays of one axis."""
        most = self.tolerance.get(found.dtype.name)
        if most is None:
            if not np.array_equal(found, wanted):
                self._add(what, found, wanted, int(np.flatnonzero(found != wanted)[0]))
            return
        finite = np.isfinite(wanted)
        if not np.array_equal(found[~finite], wanted[~finite], equal_nan=True):
            self.wrong.append(f"{what}: other infinities or NaN")
            return
        apart = np.zeros(found.shape)
        np.subtract(found, wanted, out=apart, where=finite, dtype=float)
        off = float(np.abs(apart).max(initial=0.0)) / unit
        self.off[found.dtype.name] = max(self.off.get(found.dtype.name, 0.0), off)
        if not off <= most:
            self._add(what, found, wanted, int(np.argmax(np.nan_to_num(np.abs(apart), nan=np.inf))))

    def _add(self, what: str, found: np.ndarray, wanted: np.ndarray, at: int) -> None:
        self.wrong.append(f"{what}: {found[at]} for {wanted[at]} at {at}")
