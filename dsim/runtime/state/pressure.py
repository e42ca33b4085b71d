"""Runs Python's garbage collector depending on the memory of fields.

A field and its gradient refer to each other, and so do fields and the forms that were made for them. Only the
collector frees these, and it counts objects, of which they are few, not bytes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable


class Pressure:
    """Runs the collector when the fields made since its last run take as much as those that it left.

    Parameters
    ----------
    least : int
        The minimum of these, in bytes.
    """

    def __init__(self, least: int) -> None:
        self._least = self._most = least
        self._made = 0

    def add(self, size: int, in_use: Callable[[], int]) -> None:
        """Notes that `size` bytes were made; `in_use` says how many bytes there are."""
        self._made += size
        if self._made >= self._most and gc.isenabled():
            gc.collect()
            self._made, self._most = 0, max(self._least, in_use())


# One for the process, as Python's collector and the memory are; each run of the collector resets its count.
PRESSURE = Pressure(1 << 28)
