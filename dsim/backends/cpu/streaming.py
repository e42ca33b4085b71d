"""Copies by all threads, into memory that nobody reads soon past the caches.

An ordinary store reads its cache line first and evicts another one. For a result that is larger than the
caches both are lost: non-temporal stores write it to memory directly. `memcpy` of the GNU C library uses
such stores too, but only for single copies of more than about the size of the last cache.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dsim.backends.cpu.shares import SharedWork

# A result that is smaller than this stays in the caches, where its reader finds it sooner.
LARGE = 32 << 20
_LINE = 64  # bytes; each trip of the loop writes two lines
_LEAST = 32 << 10  # bytes that a thread copies

_MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
_COPIED = f"""
{_MEMCPY}
define internal void @work(ptr %to, ptr %from, i64 %bytes) {{
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}}
"""
# Up to the first line, and behind the last pair of lines, it copies as usual. The fence orders the stores
# before whatever tells another thread that they are done, which ordinary stores on x86 need not.
_STREAMED = f"""
{_MEMCPY}
define internal void @work(ptr %to, ptr %from, i64 %bytes) {{
entry:
  %address = ptrtoint ptr %to to i64
  %negated = sub i64 0, %address
  %ahead = and i64 %negated, {_LINE - 1}
  %short = icmp slt i64 %bytes, %ahead
  %head = select i1 %short, i64 %bytes, i64 %ahead
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %head, i1 false)
  %left = sub i64 %bytes, %head
  %whole = and i64 %left, -{2 * _LINE}
  %end = add i64 %head, %whole
  %some = icmp sgt i64 %whole, 0
  br i1 %some, label %lines, label %tail
lines:
  %at = phi i64 [ %head, %entry ], [ %following, %lines ]
  %second = add i64 %at, {_LINE}
  %source_0 = getelementptr i8, ptr %from, i64 %at
  %source_1 = getelementptr i8, ptr %from, i64 %second
  %values_0 = load <8 x i64>, ptr %source_0, align 1
  %values_1 = load <8 x i64>, ptr %source_1, align 1
  %target_0 = getelementptr i8, ptr %to, i64 %at
  %target_1 = getelementptr i8, ptr %to, i64 %second
  store <8 x i64> %values_0, ptr %target_0, align {_LINE}, !nontemporal !0
  store <8 x i64> %values_1, ptr %target_1, align {_LINE}, !nontemporal !0
  %following = add i64 %at, {2 * _LINE}
  %more = icmp slt i64 %following, %end
  br i1 %more, label %lines, label %tail
tail:
  %rest = sub i64 %bytes, %end
  %rest_to = getelementptr i8, ptr %to, i64 %end
  %rest_from = getelementptr i8, ptr %from, i64 %end
  call void @llvm.memcpy.p0.p0.i64(ptr %rest_to, ptr %rest_from, i64 %rest, i1 false)
  fence seq_cst
  ret void
}}

!0 = !{{ i32 1 }}
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
    if not (to.flags.c_contiguous and source.flags.c_contiguous) or to.dtype != source.dtype:
        np.copyto(to, source)
        return
    past_caches()(to.ctypes.data, source.ctypes.data, to.nbytes)


@cache
def past_caches() -> SharedWork:
    """Copies of contiguous memory with non-temporal stores."""
    return SharedWork(_STREAMED, _LEAST)


@cache
def through_caches() -> SharedWork:
    """Copies of contiguous memory with ordinary stores."""
    return SharedWork(_COPIED, _LEAST)
