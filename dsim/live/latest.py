"""Calls that follow what a person moves: one for all that were asked for in a burst, with newest values."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PAUSE = 0.03  # seconds in which requests count as one


class Latest:
    """Calls a function some time after it was asked for, once for all that asked until then.

    Parameters
    ----------
    function : callable
        Without parameters; it reads the newest values itself.
    stopped : callable
        Called when an interrupt ended `function`: raised further, it would end the session.

    Attributes
    ----------
    pause : float
        The seconds between a request and the call.
    asked : bool
        Whether a call will come.
    """

    def __init__(self, function: Callable[[], Any], stopped: Callable[[], Any]) -> None:
        self._function = function
        self._stopped = stopped
        self.pause = PAUSE
        self.asked = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop = running_loop()

    def ask(self, *_: Any) -> None:
        """Asks for a call, from any thread. The event loop makes it, so it waits for a cell that runs."""
        if self._loop is None or self._loop.is_closed():
            self._loop = running_loop()
        if self.asked:
            return
        self.asked = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._soon, self._loop)
            return
        try:
            self._function()
        finally:
            self.asked = False

    def cancel(self) -> None:
        """Forgets what was asked for."""
        self.asked = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if self.asked and self._timer is None:
            self._timer = loop.call_later(self.pause, self._call)

    def _call(self) -> None:
        self._timer = None
        self.asked = False  # what asks from here on wants another call
        try:
            with _interruptible():
                self._function()
        except (KeyboardInterrupt, asyncio.CancelledError):
            self._stopped()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Hears interrupts inside: ipykernel ignores the signal but while it handles a message of the page."""
    in_main = threading.current_thread() is threading.main_thread()  # other threads set no handlers
    if not in_main or signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of this thread; None where there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
