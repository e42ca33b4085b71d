"""What all launches of a process share: the threads, the printer, the limit of memory.

Machine code reaches it through one block of memory. Threads are those of Numba's threading layer; a
forked child has none and runs everything alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba.np.ufunc import parallel

from dsim.backends import llvm_frame as frame
from dsim.backends.cpu_prints import PRINTS
from dsim.backends.cpu_stop import stop_own
from dsim.ir.nodes import Print
from dsim.ir.types import ScalarType

_Printer = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))
_KEEP_FREE = 0.1  # of the machine's memory
_clock = ctypes.CDLL(None).clock_gettime


class Runtime:
    """The block, and what its addresses need to stay alive."""

    def __init__(self) -> None:
        self._block = (ctypes.c_int64 * frame.RUNTIME_SLOTS)()
        self._lock = threading.Lock()
        self._started = False
        self._numbers = itertools.count()
        self._printers: dict[int, Sequence[Print]] = {}
        self._callback = _Printer(self._print)
        self.interrupted: list[BaseException] = []
        self._block[frame.THREADS] = 1
        self._block[frame.PRINTER] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self._block[frame.MEMORY_LEFT] = memory_limit()
        self._block[frame.CLOCK] = ctypes.cast(_clock, ctypes.c_void_p).value or 0
        os.register_at_fork(after_in_child=self._forked)

    @property
    def address(self) -> int:
        """Where the block lies."""
        return ctypes.addressof(self._block)

    def start_threads(self) -> None:
        """Starts the threads, once."""
        with self._lock:
            if self._started:
                return
            self._started = True
            with contextlib.suppress(ValueError):  # no threading layer works here: all runs alone
                self._start()

    def _start(self) -> None:
        parallel._launch_threads()  # Numba's own code calls it so before it compiles a parallel loop
        self._block[frame.PARALLEL_FOR] = llvm.address_of_symbol("numba_parallel_for")
        self._block[frame.THREADS] = thread_count()

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self._started = True  # and without threads: the parent's do not exist here
        self._block[frame.THREADS] = 1
        self._block[frame.BUSY] = 0  # launches of the parent's other threads are not here
        self._block[frame.MEMORY_LEFT] = memory_limit()

    def prints(self, statements: Sequence[Print]) -> int:
        """A number by which machine code names these print statements' list."""
        number = next(self._numbers)
        self._printers[number] = statements
        return number

    def forget(self, number: int) -> None:
        """Takes back a number that `prints` gave: its machine code is gone."""
        del self._printers[number]

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Around a launch that prints.

        Python hears Ctrl-C as soon as it is called, when nothing can catch that yet: ctypes tells it as an
        exception that it ignores.
        """
        before = sys.unraisablehook

        def tell(ignored: Any) -> None:
            if isinstance(ignored.exc_value, KeyboardInterrupt) and "ctypes" in (ignored.err_msg or ""):
                self._stop(ignored.exc_value)
            else:
                before(ignored)

        sys.unraisablehook = tell
        try:
            yield
        finally:
            sys.unraisablehook = before

    def _stop(self, error: BaseException) -> None:
        self.interrupted.append(error)
        stop_own()

    def _print(self, owner: int, which: int, values: ctypes._Pointer[ctypes.c_int64]) -> None:
        """Called by machine code, from any thread. An exception, which cannot pass, stops the launch."""
        try:
            if PRINTS.wanted():
                sys.stdout.write(_line(self._printers[owner][which], values))
        except BaseException as e:  # noqa: BLE001 (an interrupt, or whatever stands for standard output)
            self._stop(e)


def _line(s: Print, values: ctypes._Pointer[ctypes.c_int64]) -> str:
    out, at = "", 0
    for p in s.parts:
        if isinstance(p, str):
            out += p
            continue
        value = decode(values[at], p.type)
        out += formatted(value, s.formats[at]) if s.formats else str(value)
        at += 1
    return out + s.end


def formatted(value: np.generic, given: str) -> str:
    """`value` as a format of `Print` says."""
    if given.startswith("%"):
        return given % value.item()
    return format(value.item(), given[1:]) if given else str(value)


def decode(bits: int, t: ScalarType) -> np.generic:
    """The scalar that machine code reports as 64 bits: a float as a double, others as an integer."""
    if t.is_float:
        return t.numpy.type(np.int64(bits).view(np.float64))
    if t.kind == "bool":
        return np.bool_(bits & 1)
    return np.int64(bits).astype(t.numpy)[()]


def thread_count() -> int:
    """How many threads a loop is split among."""
    return int(numba.get_num_threads())


def memory_limit() -> int:
    """Bytes that private buffers may take in all: most of what this process may have."""
    limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 1 << 33
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            limit = min(limit, int(Path(file).read_text().strip()))
    return int(limit * (1 - _KEEP_FREE))


@cache
def runtime() -> Runtime:
    """This process's runtime."""
    return Runtime()
