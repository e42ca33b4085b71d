"""Keeps Ctrl-C out of LLVM.

Python raises `KeyboardInterrupt` between any two of its instructions, those of llvmlite included. There it
may leave a lock held, for which other threads then wait for ever, or free a module twice.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uninterrupted() -> Iterator[None]:
    """In the main thread, Ctrl-C comes at the end of the block."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[Any] = []
    try:
        signal.signal(signal.SIGINT, lambda *given: came.append(given))
    except ValueError:  # in a subinterpreter, which gets no signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[-1])
