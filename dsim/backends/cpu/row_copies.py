"""Copies of one array into the rows of another, as launches of a table (`replay.py`).

A row has the address of the rows from the frame, where each run of the table puts it, and its own place
among them from the table: the table serves for rows at any address.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.runtime import runtime
from dsim.backends.cpu.shares import SharedWork
from dsim.backends.llvm import frame

# The slots of a frame behind the fixed ones: where the rows are, where the numbers come from, how many bytes,
# by which shared work (0: alone), of what least size, and at which byte of the rows.
_ROWS, _FROM, _BYTES, _WORK, _LEAST, _AT = range(frame.FIXED, frame.FIXED + 6)
_SLOTS = frame.FIXED + 6


def _load(name: str, slot: int, type: str) -> str:
    return f"""
  %{name}_at = getelementptr inbounds i64, ptr %frame, i64 {slot}
  %{name} = load {type}, ptr %{name}_at"""


_TEXT = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i64 @dsim_entry(ptr %frame) {{{_load("rows", _ROWS, "ptr")}{_load("from", _FROM, "ptr")}
{_load("bytes", _BYTES, "i64")}{_load("work", _WORK, "ptr")}{_load("least", _LEAST, "i64")}
{_load("place", _AT, "i64")}{_load("runtime", frame.RUNTIME, "ptr")}
  %to = getelementptr i8, ptr %rows, i64 %place
  %alone = icmp eq ptr %work, null
  br i1 %alone, label %copy, label %share
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret i64 0
share:
  call void %work(ptr %to, ptr %from, i64 %bytes, i64 %least, i64 %bytes, ptr %runtime)
  ret i64 0
}}
"""


@cache
def _code() -> MachineCode:
    return MachineCode(_TEXT, {})


class RowCopies:
    """What a table launches to copy an array into rows.

    Parameters
    ----------
    source : ndarray
        The array, which is contiguous. It is kept alive.
    work : SharedWork or None
        What copies a row by all threads; None where the calling thread does so alone.

    Attributes
    ----------
    entry : int
        The address of the machine code.
    args_at : int
        The byte of a frame where the place of a row stands, in bytes from the first row.
    """

    args_at = 8 * _AT

    def __init__(self, source: np.ndarray, work: SharedWork | None) -> None:
        self._source = source
        self._work = work
        self._code = _code()
        self.entry = self._code.entry

    def frame(self) -> RowFrame:
        """A frame for the copies of one table."""
        slots = (ctypes.c_int64 * _SLOTS)()
        slots[frame.RUNTIME] = runtime().address
        slots[_FROM], slots[_BYTES] = self._source.ctypes.data, self._source.nbytes
        if self._work is not None:
            slots[_WORK], slots[_LEAST] = self._work.code.entry, self._work.least
        return RowFrame(slots)


class RowFrame:
    """The frame of the copies in one table.

    In the slot number `rows` it has the address of the rows, and in `source` that of what is copied.
    """

    rows, source = _ROWS, _FROM

    def __init__(self, slots: ctypes.Array[ctypes.c_int64]) -> None:
        self.slots = slots
        self.address = ctypes.addressof(slots)
