"""Copies into memory that nobody reads soon, past the caches.

An ordinary store reads its cache line first and evicts another one. For a result that is larger than the
caches both are lost: non-temporal stores write it to memory directly. `memcpy` of the GNU C library uses
such stores too, but only for single copies of more than about the size of the last cache.

Each thread copies the part that lies in its core's cache, since tasks give the same share of an array to
the same thread (`llvm/parallel/dispatch.py`): one thread alone would fetch the other parts from there, and
the next task would have to fetch them back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.runtime import runtime
from dsim.backends.llvm import frame

# A result that is smaller than this stays in the caches, where its reader finds it sooner.
LARGE = 32 << 20
_LINE = 64  # bytes; each trip of the loop writes two lines
_PART = 15  # a thread copies at least 2 to that bytes

_Copy = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)

# Up to the first line, and behind the last pair of lines, it copies as usual. The fence orders the stores
# before whatever tells another thread that they are done, which ordinary stores on x86 need not.
_COPY = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @copy(ptr %to, ptr %from, i64 %bytes) {{
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

# What a job holds, in slots: where to, where from, how many bytes, and how many of them for each thread.
_TO, _FROM, _BYTES, _EACH = range(4)


def _at(slot: int, base: str) -> str:
    return f"getelementptr inbounds i64, ptr {base}, i64 {slot}"


# As tasks do, it runs alone while another launch has the threads. The threading layer adds the number of the
# call to the address in the first argument of the worker, which is 0.
_SHARED = f"""
define internal void @part(ptr %args, ptr %dims, ptr %steps, ptr %job) {{
entry:
  %given = load ptr, ptr %args
  %number = ptrtoint ptr %given to i64
  %to_at = {_at(_TO, "%job")}
  %to = load ptr, ptr %to_at
  %from_at = {_at(_FROM, "%job")}
  %from = load ptr, ptr %from_at
  %bytes_at = {_at(_BYTES, "%job")}
  %bytes = load i64, ptr %bytes_at
  %each_at = {_at(_EACH, "%job")}
  %each = load i64, ptr %each_at
  %start = mul i64 %number, %each
  %left = sub i64 %bytes, %start
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %run, label %end
run:
  %last = icmp slt i64 %left, %each
  %size = select i1 %last, i64 %left, i64 %each
  %part_to = getelementptr i8, ptr %to, i64 %start
  %part_from = getelementptr i8, ptr %from, i64 %start
  call void @copy(ptr %part_to, ptr %part_from, i64 %size)
  br label %end
end:
  ret void
}}

define void @dsim_entry(ptr %to, ptr %from, i64 %bytes, ptr %runtime) {{
entry:
  %job = alloca [4 x i64]
  %args = alloca ptr
  %dims = alloca i64
  %steps = alloca i64
  %threads_at = {_at(frame.THREADS, "%runtime")}
  %there = load i64, ptr %threads_at
  %worth = lshr i64 %bytes, {_PART}
  %few = icmp ult i64 %there, %worth
  %threads = select i1 %few, i64 %there, i64 %worth
  %busy = {_at(frame.BUSY, "%runtime")}
  %several = icmp sgt i64 %threads, 1
  br i1 %several, label %ask, label %alone
ask:
  %pair = cmpxchg ptr %busy, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %share, label %alone
share:
  %to_at = {_at(_TO, "%job")}
  store ptr %to, ptr %to_at
  %from_at = {_at(_FROM, "%job")}
  store ptr %from, ptr %from_at
  %bytes_at = {_at(_BYTES, "%job")}
  store i64 %bytes, ptr %bytes_at
  %fair = udiv i64 %bytes, %threads
  %up = add i64 %fair, {_LINE}
  %each = and i64 %up, -{_LINE}
  %each_at = {_at(_EACH, "%job")}
  store i64 %each, ptr %each_at
  store i64 %threads, ptr %dims
  store ptr null, ptr %args
  store i64 1, ptr %steps
  %for_at = {_at(frame.PARALLEL_FOR, "%runtime")}
  %for = load ptr, ptr %for_at
  %narrow = trunc i64 %threads to i32
  call void %for(ptr @part, ptr %args, ptr %dims, ptr %steps, ptr %job, i64 0, i64 1, i32 %narrow)
  store atomic i64 0, ptr %busy release, align 8
  ret void
alone:
  call void @copy(ptr %to, ptr %from, i64 %bytes)
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
    if not (to.flags.c_contiguous and source.flags.c_contiguous) or to.dtype != source.dtype:
        np.copyto(to, source)
        return
    _copy()(to.ctypes.data, source.ctypes.data, to.nbytes, runtime().address)


@cache
def _copy() -> Callable[[int, int, int, int], None]:
    code = MachineCode(_COPY + _SHARED, {})
    made = _Copy(code.entry)
    made.code = code  # type: ignore[attr-defined]  # its machine code lives as long as the function
    return made
