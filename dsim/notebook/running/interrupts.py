"""Defers interrupts (Ctrl-C, the stop button) to points where no operation is half done.

Python hears them between any two instructions, also between those that put fields back. Inside of `held` they
are kept, and heard at `heard`, which stands between launches, and at its end. A launch under way stops.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dsim.backends.cpu.stop import stops


class _Held:
    """Whether interrupts are held, and whether one came."""

    def __init__(self) -> None:
        self.holds = False
        self.came = False

    def note(self, *_: object) -> None:
        """Notes an interrupt."""
        self.came = True


_STATE = _Held()
stops(_STATE.note)


@contextmanager
def held() -> Iterator[None]:
    """Holds interrupts inside; one that nobody heard there is heard at the end."""
    if _STATE.holds or threading.current_thread() is not threading.main_thread():  # other threads get none
        yield
        return
    before = signal.signal(signal.SIGINT, _STATE.note)
    _STATE.holds = True
    try:
        yield
    finally:
        _STATE.holds = False
        came, _STATE.came = _STATE.came, False
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def heard() -> None:
    """Raises a held interrupt: here nothing is half done.

    Raises
    ------
    KeyboardInterrupt
        When one came since `held`.
    """
    if _STATE.came and threading.current_thread() is threading.main_thread():
        _STATE.came = False
        raise KeyboardInterrupt
