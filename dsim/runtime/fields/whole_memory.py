"""The memory of fields set to zero and copied, by as many threads as launches have.

Each thread works on the part that it has in parallel tasks, too: so that part stays in its core's caches.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from dsim.backends.cpu import streaming, zeroing
from dsim.runtime.fields.aliases import address
from dsim.runtime.state import settings

LINE = 64  # bytes of a line of the caches, and of the widest vectors
PAGE = 4096  # bytes: a line for each set of a first cache
_STEP = 37 * LINE  # has no divisor with a page in common but lines: 64 arrays begin at 64 places
_SPREAD = 8 << 10  # bytes of memory that is large
_allocated = itertools.count()
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


def aligned(raw: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that begins with a cache line of `raw`, which has a line more bytes than it needs."""
    return _at(raw, LINE, 0, shape, dtype)


def zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The memory of a field, of zeros: large memory begins at another cache line of a page each time.

    An allocator begins all large arrays at one place of a page. The same element of each then falls into the
    same set of the first cache, which holds eight lines or so: a loop over more arrays would lose them.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _SPREAD:
        return aligned(np.zeros(size + LINE, np.uint8), shape, dtype)
    place = next(_allocated) * _STEP % PAGE
    return _at(np.zeros(size + PAGE, np.uint8), PAGE, place, shape, dtype)


def _at(raw: np.ndarray, step: int, place: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array at an address of `place` modulo `step` in `raw`, which has `step` more bytes than it."""
    start = (place - address(raw)) % step
    return raw[start : start + raw.nbytes - step].view(dtype).reshape(shape)


def like(memory: np.ndarray, place: int = 0) -> np.ndarray:
    """New memory of this shape and type, `place` bytes behind the begin of a page; its numbers are any."""
    return _at(np.empty(memory.nbytes + PAGE, np.uint8), PAGE, place, memory.shape, memory.dtype)


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
