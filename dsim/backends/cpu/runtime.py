"""The state that all launches of a process share: threads, printer, memory limit.

Machine code reaches it through one block of memory. There are as many threads as Numba would have; a
forked child has none and runs everything on one thread.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.np.ufunc import parallel

from dsim.backends.cpu.team import Team
from dsim.backends.llvm import frame
from dsim.backends.prints import PRINTS, is_silent
from dsim.ir.nodes import Print
from dsim.ir.types import ScalarType

_Printer = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))
_KEEP_FREE = 0.1  # of the machine's memory
_LONGEST_END = 5.0  # seconds
_clock = ctypes.CDLL(None).clock_gettime


class Printing:
    """The output of a launch, from all of its threads.

    Attributes
    ----------
    error : BaseException or None
        The first error in printing.
    silent : bool
        Whether nothing is printed.
    """

    __slots__ = ("_address", "error", "silent", "statements")

    def __init__(self, address: int, statements: Sequence[Print]) -> None:
        self._address = address
        self.statements = statements
        self.error: BaseException | None = None
        self.silent = is_silent()

    def stop(self, error: BaseException) -> None:
        """Stops the launch because of `error`."""
        self.error = self.error or error
        ctypes.c_int64.from_address(self._address + 8 * frame.STOP).value = 1

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Around a launch of the main thread.

        Python handles Ctrl-C as soon as the callback starts, when nothing can catch the exception yet: ctypes
        reports it as an ignored exception.
        """
        before, main = sys.unraisablehook, threading.get_ident()

        def tell(ignored: Any) -> None:
            own = isinstance(ignored.exc_value, KeyboardInterrupt) and threading.get_ident() == main
            if own and "ctypes" in (ignored.err_msg or ""):
                self.stop(ignored.exc_value)
            else:
                before(ignored)

        sys.unraisablehook = tell
        try:
            yield
        finally:
            if sys.unraisablehook is tell:
                sys.unraisablehook = before


class Runtime:
    """The block, and the objects whose addresses it holds."""

    def __init__(self) -> None:
        self._block = (ctypes.c_int64 * frame.RUNTIME_SLOTS)()
        self._lock = threading.RLock()  # re-entrant, for signal handlers
        self._started = False
        self._team: Team | None = None
        self._lent = 0  # processors at other work
        self._printing: dict[int, Printing] = {}  # by where the frame of the launch lies
        self._callback = _Printer(self._print)
        self._block[frame.THREADS] = 1
        self._block[frame.PRINTER] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self._block[frame.MEMORY_LEFT] = memory_limit()
        self._block[frame.CLOCK] = ctypes.cast(_clock, ctypes.c_void_p).value or 0
        os.register_at_fork(after_in_child=self._forked)

    @property
    def address(self) -> int:
        """Where the block lies."""
        return ctypes.addressof(self._block)

    @property
    def threads(self) -> int:
        """How many threads a launch may have."""
        return self._block[frame.THREADS]

    def start_threads(self) -> None:
        """Starts the threads, once."""
        with self._lock:
            if self._started:
                return
            team = self._team = Team(parallel.NUM_THREADS)
            self._block[frame.TOGETHER], self._block[frame.MEMBERS] = team.together, team.address
            self._started = True
            atexit.register(self._end_threads)
            try:
                team.start()
            finally:
                self._count_threads()

    def _count_threads(self) -> None:
        if self._team is not None:
            self._block[frame.THREADS] = max(1, min(thread_count(), self._team.size) - self._lent)

    def _end_threads(self) -> None:
        """At the end of the process. A launch of a daemon thread that takes long keeps its members."""
        with self._lock:
            team, self._team = self._team, None
            self._block[frame.THREADS] = 1
        last = time.monotonic() + _LONGEST_END
        while self._block[frame.BUSY] and time.monotonic() < last:
            time.sleep(0.001)
        if team is not None and not self._block[frame.BUSY]:
            team.end()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """In the block, the calling thread has a processor, and launches have one less.

        They would wait at their ends for a thread that has to share it.
        """
        self._lend(1)
        try:
            yield
        finally:
            self._lend(-1)

    def _lend(self, more: int) -> None:
        with self._lock:
            self._lent += more
            self._count_threads()

    def _forked(self) -> None:
        self._lock = threading.RLock()
        self._lent, self._team = 0, None
        self._started = True  # and without threads: the parent's do not exist here
        self._block[frame.THREADS] = 1
        self._block[frame.BUSY] = 0  # launches of the parent's other threads are not here
        self._block[frame.MEMORY_LEFT] = memory_limit()

    @contextmanager
    def printing(self, address: int, statements: Sequence[Print]) -> Iterator[Printing]:
        """Around a launch that prints, on the frame at `address`."""
        made = self._printing[address] = Printing(address, statements)
        try:
            if threading.current_thread() is threading.main_thread():
                with made.hearing():
                    yield made
            else:
                yield made
        finally:
            del self._printing[address]

    def _print(self, owner: int, which: int, values: ctypes._Pointer[ctypes.c_int64]) -> None:
        """Called by machine code, from any thread. An exception, which cannot propagate, stops the launch."""
        printing = self._printing[owner]
        try:
            if not printing.silent and PRINTS.wanted():
                sys.stdout.write(_line(printing.statements[which], values))
        except BaseException as e:  # noqa: BLE001 (an interrupt, or whatever stands for standard output)
            printing.stop(e)


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
    """`value` formatted by a format of `Print`."""
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
    """How many threads a loop is split among.

    To ask Numba starts its threads, which kernels without parallel loops never need. Until they are started
    there are all: who chooses another number by `numba.set_num_threads` starts them.
    """
    return int(numba.get_num_threads() if parallel._is_initialized else parallel.NUM_THREADS)


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
