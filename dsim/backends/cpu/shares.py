"""Work on a range of bytes by all threads, each on its own share.

Tasks give the same share of an array to the same thread each time (`llvm/parallel/dispatch.py`), so it lies
in that core's cache: one thread alone would fetch the other shares from there, and the next task would have
to fetch them back.
"""

from __future__ import annotations

import ctypes

from dsim.backends.cpu import images
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.runtime import runtime
from dsim.backends.llvm import frame

_Entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p)
_LINE = 64  # bytes; shares end with cache lines

# What a job holds, in slots: where to, where from, how many bytes, and how many of them for each thread.
_TO, _FROM, _BYTES, _EACH = range(4)


def _at(slot: int, base: str) -> str:
    return f"getelementptr inbounds i64, ptr {base}, i64 {slot}"


# As tasks do, it runs alone while another launch has the threads.
_SHARED = f"""
declare i64 @llvm.umin.i64(i64, i64)
define internal void @part(ptr %job, i64 %number) {{
entry:
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
  call void @work(ptr %part_to, ptr %part_from, i64 %size)
  br label %end
end:
  ret void
}}

define void @dsim_entry(ptr %to, ptr %from, i64 %bytes, i64 %least, i64 %most, ptr %runtime) {{
entry:
  %job = alloca [4 x i64]
  %threads_at = {_at(frame.THREADS, "%runtime")}
  %there = load i64, ptr %threads_at
  %worth = udiv i64 %bytes, %least
  %allowed = call i64 @llvm.umin.i64(i64 %there, i64 %most)
  %threads = call i64 @llvm.umin.i64(i64 %allowed, i64 %worth)
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
  %together_at = {_at(frame.TOGETHER, "%runtime")}
  %together = load ptr, ptr %together_at
  %members_at = {_at(frame.MEMBERS, "%runtime")}
  %members = load ptr, ptr %members_at
  call void %together(ptr %members, ptr @part, ptr %job, i64 %threads)
  store atomic i64 0, ptr %busy release, align 8
  ret void
alone:
  call void @work(ptr %to, ptr %from, i64 %bytes)
  ret void
}}
"""


class SharedWork:
    """What `work` does, done by all threads.

    Parameters
    ----------
    work : str
        LLVM functions, of which ``@work(ptr %to, ptr %from, i64 %bytes)`` works on a share.
    least : int
        The least size of a share, in bytes. With fewer than two of them the calling thread works alone.
    level : int
        The optimisation level.

    Attributes
    ----------
    code : MachineCode
    least : int
    """

    def __init__(self, work: str, least: int, level: int = images.SPEED) -> None:
        self.code = MachineCode(work + _SHARED, {}, level)
        self._entry = self.code.function(_Entry)
        self.least = least

    def __call__(self, to: int, source: int, size: int, most: int = 0) -> None:
        """Works on `size` bytes from these addresses on, by at most `most` threads; 0 for no limit."""
        self._entry(to, source, size, self.least, most or size, runtime().address)
