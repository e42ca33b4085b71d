"""Memory set to zero, as fast as the C library can."""

from __future__ import annotations

import numpy as np

_SMALL = 1 << 14  # bytes for which making a view takes longer


def zero(memory: np.ndarray) -> None:
    """Sets all numbers to 0.

    NumPy calls `memset` for single bytes only; other types it stores one by one, and so reads each cache
    line first, which `memset` avoids for large arrays.
    """
    if memory.nbytes > _SMALL and memory.flags.c_contiguous:
        memory = memory.reshape(-1).view(np.uint8)
    memory.fill(0)
