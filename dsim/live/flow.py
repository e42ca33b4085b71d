"""Which frames go to the page: at most two not yet drawn, the newest first, none while nobody looks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dsim.live.scene import ViewFrame

_MOST = 2  # on their way
_ANSWER_SECONDS = 1.0  # front ends without subshells answer when the running cell has ended


class Flow:
    """Sends frames as fast as the page draws them.

    Parameters
    ----------
    send : callable
        Sends one frame.
    clock : callable
        Seconds that pass.
    """

    def __init__(
        self, send: Callable[[ViewFrame], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._clock = clock
        self._lock = threading.RLock()
        self._under_way: dict[int, float] = {}  # the numbers of frames, and when each was sent
        self._waiting: ViewFrame | None = None
        self._visible = False

    @property
    def visible(self) -> bool:
        """Whether a page shows the view."""
        return self._visible

    @property
    def ready(self) -> bool:
        """Whether a frame would be sent now: making one that would not is work for nothing."""
        with self._lock:
            self._forget_unanswered()
            return self._visible and len(self._under_way) < _MOST

    def offer(self, frame: ViewFrame) -> None:
        """Sends a frame, or keeps it as the newest until the page is ready."""
        with self._lock:
            self._waiting = frame
            self._flush()

    def drawn(self, number: int) -> None:
        """The page has drawn that frame, and all before it."""
        with self._lock:
            self._under_way = {n: sent for n, sent in self._under_way.items() if n > number}
            self._flush()

    def seen(self, visible: bool) -> None:
        """The view has come into sight, or gone out of it."""
        with self._lock:
            self._visible = visible
            self._under_way.clear()
            self._flush()

    def _flush(self) -> None:
        if self._waiting is not None and self.ready:
            frame, self._waiting = self._waiting, None
            self._under_way[frame.header["number"]] = self._clock()
            self._send(frame)

    def _forget_unanswered(self) -> None:
        now = self._clock()
        self._under_way = {n: sent for n, sent in self._under_way.items() if now - sent < _ANSWER_SECONDS}
