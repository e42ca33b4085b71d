"""The memory of fields set to zero and copied, by as many threads as launches have.

Each thread works on the part that it has in parallel tasks, too: so that part stays in its core's caches.
"""

from __future__ import annotations

import numpy as np

from dsim.backends.cpu import streaming, zeroing
from dsim.runtime.state import settings

SMALL = 16 << 10  # bytes; for less NumPy takes no longer


def zero(memory: np.ndarray) -> None:
    """Sets all numbers to 0."""
    if memory.nbytes <= SMALL:
        memory.fill(0)
    else:
        zeroing.zero(memory, settings.current().threads)


def copy(to: np.ndarray, source: np.ndarray) -> None:
    """Copies numbers to an array of the same shape and type, elsewhere in memory."""
    if to.nbytes <= SMALL:
        np.copyto(to, source)
    else:
        streaming.copy(to, source, settings.current().threads)


def copied(source: np.ndarray) -> np.ndarray:
    """A new array with the numbers of `source`."""
    if source.nbytes <= SMALL:
        return np.array(source)
    made = np.empty_like(source)
    copy(made, source)
    return made


def put(memory: np.ndarray, part: tuple[slice | int, ...], values: np.ndarray) -> None:
    """Copies `values` to a part of a memory."""
    if values.nbytes <= SMALL:
        memory[part] = values
    else:
        copy(memory[part], values)
