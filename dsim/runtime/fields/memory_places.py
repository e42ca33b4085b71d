"""Where the memory of fields, gradients and results begins: at which line of the caches, and of a page."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dsim.runtime.fields.aliases import address

LINE = 64  # bytes of a line of the caches, and of the widest vectors
PAGE = 4096  # bytes: a line for each set of a first cache
_STEP = 37 * LINE  # an odd number of lines: 64 memories begin at 64 places
_SPREAD = 8 << 10  # bytes of memory that is large
_allocated = itertools.count()


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
    """New memory of this shape and type, `place` bytes behind where a page begins; its numbers are any."""
    return _at(np.empty(memory.nbytes + PAGE, np.uint8), PAGE, place, memory.shape, memory.dtype)
