"""Which frames go to the pages: at most two not yet drawn, the newest first, none while nobody looks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dsim.live.scene.scene import ViewFrame

_MOST = 2  # on their way
_ANSWER_SECONDS = 1.0  # front ends without subshells answer when the running cell has ended
_NEWEST = 0.3  # the weight of the newest time in the mean
_GONE = 200  # frames that other pages have drawn since


class Flow:
    """Sends frames as fast as the fastest page draws them.

    Parameters
    ----------
    send : callable
        Sends one frame to all pages.
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
        self._sent = 0.0  # when the last one was
        self._round_trip = 0.0  # seconds from sending a frame to the answer, a running mean
        self._waiting: ViewFrame | None = None
        self._told: dict[str, int] = {}  # the number of the last word of each page about its sight
        self._pages: dict[str, int] = {}  # that show the view; how many frames others drew since its last

    @property
    def visible(self) -> bool:
        """Whether a page shows the view."""
        return bool(self._pages)

    @property
    def ready(self) -> bool:
        """Whether a frame would be sent now: making one that would not is work for nothing."""
        with self._lock:
            self._forget_unanswered()
            if not self.visible or len(self._under_way) >= _MOST:
                return False
            # Two that arrive together are drawn as one: the second one follows half way.
            return not self._under_way or self._clock() - self._sent >= self._round_trip / _MOST

    def offer(self, frame: ViewFrame) -> None:
        """Sends a frame, or keeps it as the newest until a page is ready."""
        with self._lock:
            self._waiting = frame
            self._flush()

    def drawn(self, number: int, page: str = "") -> None:
        """A page has drawn that frame, and all before it."""
        with self._lock:
            for other in self._pages:
                self._pages[other] += 1
            self._pages[page] = 0
            # A browser that was ended says nothing.
            self._pages = {name: missed for name, missed in self._pages.items() if missed < _GONE}
            if number in self._under_way:
                took = self._clock() - self._under_way[number]
                self._round_trip += _NEWEST * (took - self._round_trip)
            self._under_way = {n: sent for n, sent in self._under_way.items() if n > number}
            self._flush()

    def seen(self, visible: bool, page: str = "", number: int | None = None) -> bool:
        """The view has come into sight in a page, or gone out of it.

        Parameters
        ----------
        visible : bool
            Whether it is in sight.
        page : str
            The name of the page.
        number : int, optional
            Counts the changes in this page. The page repeats a word that may wait for a running cell, so one
            that has waited can come after newer ones.

        Returns
        -------
        bool
            Whether that is news.
        """
        with self._lock:
            if number is not None:
                if number <= self._told.get(page, 0):
                    return False
                self._told[page] = number
            if visible:
                self._pages[page] = 0
                self._under_way.clear()
            else:
                self._pages.pop(page, None)
            self._flush()
            return True

    def closed(self) -> None:
        """No page has the view any more."""
        with self._lock:
            self._pages.clear()
            self._under_way.clear()

    def _flush(self) -> None:
        if self._waiting is not None and self.ready:
            frame, self._waiting = self._waiting, None
            number = frame.header["number"]
            self._under_way[number] = self._sent = self._clock()
            try:
                self._send(frame)
            except BaseException:  # an interrupt
                self._under_way.pop(number, None)
                self._waiting = self._waiting or frame
                raise

    def _forget_unanswered(self) -> None:
        now = self._clock()
        self._under_way = {n: sent for n, sent in self._under_way.items() if now - sent < _ANSWER_SECONDS}
