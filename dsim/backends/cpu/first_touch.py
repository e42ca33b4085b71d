"""Pages of memory that a system promised, made resident by another thread before they are used.

A system gives a page of new memory when it is first written to. In a virtual machine, whose host does the
same once more, that takes 10 microseconds for 4 KiB: longer than a stencil needs for its numbers.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache

import numpy as np

from dsim.backends.cpu import images
from dsim.backends.cpu.code import MachineCode
from dsim.backends.locks import NUMBAS_LOCK

_PAGE = 4096  # bytes, or a part of a page
_Entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_AT_ONCE = 512  # pages between two looks at whether to stop

# An atomic `or` with 0 is a write after which every byte is as another thread has it.
_TOUCH = f"""
define void @dsim_entry(ptr %start, i64 %pages) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = mul i64 %i, {_PAGE}
  %byte = getelementptr i8, ptr %start, i64 %at
  %old = atomicrmw volatile or ptr %byte, i8 0 monotonic
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %pages
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


def touch(memory: np.ndarray, stopped: threading.Event) -> None:
    """Has the system give all pages of `memory`, until `stopped` is set. No number changes."""
    with NUMBAS_LOCK:  # one of the threads that begin at the same time makes the code, for all
        write = _code()
    pages = memory.nbytes // _PAGE
    for first in range(0, pages, _AT_ONCE):
        if stopped.is_set():
            return
        write(memory.ctypes.data + first * _PAGE, min(_AT_ONCE, pages - first))


@cache
def _code() -> Callable[[int, int], None]:
    try:
        return MachineCode(_TOUCH, {}, images.QUICK).function(_Entry)
    finally:
        images.forget_targets()  # the thread would free them when it ends, perhaps while another one forks
