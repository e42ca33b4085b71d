"""Copies by all threads, into memory that nobody reads soon past the caches.

An ordinary store reads its cache line first and evicts another one. For a result that is larger than the
caches both are lost: non-temporal stores write it to memory directly. `memcpy` of the GNU C library uses
such stores too, but only for single copies of more than about the size of the last cache.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dsim.backends.cpu import images
from dsim.backends.cpu.shares import SharedWork
from dsim.backends.llvm.parallel.streams import STREAM

# A result that is smaller than this stays in the caches, where its reader finds it sooner. Last caches are
# several times as large, but other cores share them, and with these cores other virtual machines; and only
# copies past the caches are fused into loops (docs/decisions/0023-a-tape-after-its-block.md).
LARGE = 4 << 20
_LEAST = 32 << 10  # bytes that a thread copies

_MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
_COPIED = f"""
{_MEMCPY}
define internal void @work(ptr %to, ptr %from, i64 %bytes) {{
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}}
"""
_STREAMED = f"""
{_MEMCPY}
{STREAM.replace("define ", "define internal ", 1)}
define internal void @work(ptr %to, ptr %from, i64 %bytes) {{
  call void @dsim_stream(ptr %to, ptr %from, i64 %bytes)
  fence seq_cst
  ret void
}}
"""


def stream(to: np.ndarray, source: np.ndarray) -> None:
    """Copies `source` into `to`, past the caches where both are contiguous and of one type.

    Parameters
    ----------
    to : ndarray
        A part of a result of more than `LARGE` bytes; its memory is not that of `source`.
    source : ndarray
        Numbers of the same shape.
    """
    if not _alike(to, source):
        np.copyto(to, source)
        return
    past_caches()(to.ctypes.data, source.ctypes.data, to.nbytes)


def copy(to: np.ndarray, source: np.ndarray, threads: int) -> None:
    """Copies `source` into `to`, each thread the part that it has in parallel tasks, too.

    Parameters
    ----------
    to, source : ndarray
        Numbers of one shape, in memory that does not overlap.
    threads : int
        At most so many; 0 for no limit.
    """
    if to.nbytes < 2 * _LEAST or not _alike(to, source):
        np.copyto(to, source)
    else:
        through_caches()(to.ctypes.data, source.ctypes.data, to.nbytes, threads)


def _alike(to: np.ndarray, source: np.ndarray) -> bool:
    contiguous = to.flags.c_contiguous and source.flags.c_contiguous
    return contiguous and to.flags.writeable and to.dtype == source.dtype


@cache
def past_caches() -> SharedWork:
    """Copies of contiguous memory with non-temporal stores."""
    return SharedWork(_STREAMED, _LEAST)


@cache
def through_caches() -> SharedWork:
    """Copies of contiguous memory with ordinary stores."""
    return SharedWork(_COPIED, _LEAST, images.AS_IT_STANDS)
