"""The lock under which everything is made that is made at first use: one thread at a time compiles.

It is taken before Numba's own lock, never after it. A child of `os.fork` finds both free.
"""

from __future__ import annotations

import os
import threading

from numba.core.compiler_lock import global_compiler_lock

COMPILING = threading.RLock()


def _before_fork() -> None:
    COMPILING.acquire()
    global_compiler_lock.acquire()


def _after_fork() -> None:
    global_compiler_lock.release()
    COMPILING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
