"""The compile lock, which guards everything built at first use: one thread at a time compiles.

It is taken before Numba's own lock, never after it, outer locks before both and short locks after both. A
child of `os.fork` finds all of them free.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

_SWITCH = 1e-4  # seconds until Python gives way to a thread that goes from one call of LLVM to the next
_FRAMES = 20_000  # of Python's: passes walk through nested loops and branches by recursion


# Locks in C: `with` takes and releases them in single instructions, between which Ctrl-C cannot come.
COMPILING = threading.RLock()
NUMBAS_LOCK: AbstractContextManager[Any] = getattr(global_compiler_lock, "_lock", global_compiler_lock)


class room_to_compile:  # noqa: N801 (read as a function)
    """Lets the holder of the compile lock exceed the recursion limit, which all threads share.

    Where Ctrl-C keeps it from ending, the higher limit stays.
    """

    def __enter__(self) -> None:
        self._limit, self._interval = sys.getrecursionlimit(), sys.getswitchinterval()
        sys.setrecursionlimit(max(self._limit, _FRAMES))
        sys.setswitchinterval(min(self._interval, _SWITCH))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setrecursionlimit(self._limit)
        sys.setswitchinterval(self._interval)


# All locks, in the order in which they were made: a fork takes them, so its child finds them free.
# Modules make theirs when they are imported; none goes.
_OUTER: list[threading.RLock] = []
_SHORT: list[threading.RLock] = []
_BEFORE_FORK: list[Callable[[], None]] = []


def outer_lock() -> threading.RLock:
    """A new re-entrant lock that is held while kernels compile and run: taken before the compile lock."""
    made = threading.RLock()
    _OUTER.append(made)
    return made


def short_lock() -> threading.RLock:
    """A new lock for a few statements; under it only short locks created earlier may be taken.

    It is re-entrant. Signal handlers and finalizers run between any two of these statements, in the thread
    that holds the lock, and may launch kernels: the statements leave nothing half-done that would mislead
    them.
    """
    made = threading.RLock()
    _SHORT.append(made)
    return made


def before_fork(act: Callable[[], None]) -> None:
    """Calls `act` before each `os.fork`, in the thread that then holds the compile lock."""
    _BEFORE_FORK.append(act)


_INTERRUPTED: list[bool] = []  # whether Ctrl-C came while a fork waited


def _surely(act: Callable[[], object]) -> None:
    """Calls `act` until no Ctrl-C comes in between: Python ignores errors of what runs around a fork."""
    done = False
    while not done:
        try:
            act()
            done = True
        except KeyboardInterrupt:
            _INTERRUPTED.append(True)


def _before_fork() -> None:
    for lock in _OUTER:
        _surely(lock.acquire)
    _surely(COMPILING.acquire)
    for act in _BEFORE_FORK:
        _surely(act)
    _surely(NUMBAS_LOCK.__enter__)
    for lock in reversed(_SHORT):
        _surely(lock.acquire)


def _after_fork() -> None:
    for lock in _SHORT:
        lock.release()
    NUMBAS_LOCK.__exit__(None, None, None)
    COMPILING.release()
    for lock in reversed(_OUTER):
        lock.release()


def _after_fork_in_parent() -> None:
    _after_fork()
    if _INTERRUPTED:
        _INTERRUPTED.clear()
        main = threading.main_thread().ident
        threading.Timer(0.01, signal.pthread_kill, (main, signal.SIGINT)).start()  # the fork has returned


def _after_fork_in_child() -> None:
    _after_fork()
    _INTERRUPTED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
