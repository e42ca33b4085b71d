"""Interrupts for tests: Ctrl-C as soon as the main thread executes a launch."""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dsim.backends.cpu.stop import _nanoseconds, _running
from dsim.backends.llvm import frame

_TOO_LONG = 100  # seconds after which a test whose launch does not stop ends the process
_MAIN = threading.main_thread()


@contextmanager
def watched() -> Iterator[None]:
    """A launch that nobody stops inside must not hang the tests."""
    faulthandler.dump_traceback_later(_TOO_LONG, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def wait_for_launch(thread: threading.Thread) -> None:
    """Returns when `thread` is in the machine code of a launch.

    On a busy machine it may wait long between Python's last look for signals and the entry, which notes the
    time: a Ctrl-C in between came before the launch, and stops nothing. Code that asks nobody notes no time.
    """
    since, seen = time.time_ns(), 0
    while seen < 300:
        found = _running(thread.ident or 0)
        if found is not None:
            if _nanoseconds(*found[1][frame.BEGAN : frame.BEGAN + 2]) >= since:
                break
            seen += 1
        time.sleep(0.001)
    time.sleep(0.01)


def press() -> None:
    """Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def ctrl_c(times: int = 1, act: Callable[[], object] = press) -> Iterator[None]:
    """Presses Ctrl-C (or acts otherwise) when the main thread is inside of a launch."""

    def work() -> None:
        wait_for_launch(_MAIN)
        for _ in range(times):
            act()
            time.sleep(0.05)

    thread = threading.Thread(target=work)
    with watched():
        thread.start()
        try:
            yield
        finally:
            thread.join()
