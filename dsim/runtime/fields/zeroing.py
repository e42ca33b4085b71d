"""The memory of fields set to zero, by as many threads as launches have."""

from __future__ import annotations

import numpy as np

from dsim.backends.cpu import zeroing
from dsim.runtime.state import settings

SMALL = 16 << 10  # bytes; for less NumPy takes no longer


def zero(memory: np.ndarray) -> None:
    """Sets all numbers to 0."""
    if memory.nbytes <= SMALL:
        memory.fill(0)
    else:
        zeroing.zero(memory, settings.current().threads)
