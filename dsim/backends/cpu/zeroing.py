"""Memory set to zero."""

from __future__ import annotations

from functools import cache

import numpy as np

from dsim.backends.cpu import images
from dsim.backends.cpu.shares import SharedWork

_LEAST = 128 << 10  # bytes that a thread sets: less is done before another thread has begun

_ZERO = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @work(ptr %to, ptr %from, i64 %bytes) {
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 %bytes, i1 false)
  ret void
}
"""


def zero(memory: np.ndarray, threads: int) -> None:
    """Sets all numbers to 0, by at most so many threads; 0 for no limit.

    NumPy calls `memset` for single bytes only; other types it stores one by one, and so reads each cache
    line first, which `memset` avoids for large arrays.
    """
    if not memory.flags.c_contiguous:
        memory.fill(0)
    elif memory.nbytes < 2 * _LEAST or threads == 1 or not memory.flags.writeable:
        memory.reshape(-1).view(np.uint8).fill(0)
    else:
        _by_threads()(memory.ctypes.data, 0, memory.nbytes, threads)


@cache
def _by_threads() -> SharedWork:
    return SharedWork(_ZERO, _LEAST, images.AS_IT_STANDS)
