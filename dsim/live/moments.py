"""When the pictures of a view are made: at its updates, by the thread that writes the numbers.

Another thread that read the fields while a cell writes them would see parts of two steps.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from dsim.live.flow import Flow
from dsim.live.latest import running_loop
from dsim.live.outside import Outside
from dsim.live.scene.scene import ViewFrame
from dsim.live.slept import slept

_SHARE = 24  # of the time of a simulation, one part goes into its pictures
_SHARE_OUTSIDE = 20  # and one into what its pictures cost elsewhere on the machine
_ANSWER = 0.0015  # seconds that ipykernel's threads take for the answer of a page
_SPARE = 2  # times as long as a frame takes a simulation must have slept for one that costs it nothing
_LOOK = 0.002  # seconds between two looks at whether the simulation sleeps
_AT_ONCE = 0.1  # seconds after which frames may come at once again: a single update is never late


class Moments:
    """Makes frames, and gives them to a `Flow`.

    Parameters
    ----------
    make : callable
        Makes a frame of the present numbers.
    flow : Flow
        What takes it to the page.
    clock : callable
        Seconds that pass.
    slept : callable
        Seconds that the thread has slept.
    outside : Outside, optional
        Measures what frames cost elsewhere on the machine.

    Attributes
    ----------
    newest : ViewFrame or None
        The last one that was made.
    """

    def __init__(
        self,
        make: Callable[[], ViewFrame],
        flow: Flow,
        clock: Callable[[], float] = time.perf_counter,
        slept: Callable[[], float] = slept,
        outside: Outside | None = None,
    ) -> None:
        self._make, self._flow, self._clock, self._slept = make, flow, clock, slept
        self._outside = outside or Outside()
        self._lock = threading.RLock()  # frames go to the page in the order of their numbers
        self._loop = running_loop()
        self._thread = threading.get_ident()  # in which the view was made; its loop runs between cells
        self._elsewhere = False  # the last update came from another thread
        self._behind = False  # an update has no frame
        self._asked = False  # the loop to catch up
        self._rested = -math.inf  # when an update may make another frame
        self._looked = -math.inf  # when it was looked last whether the thread sleeps
        self._free = 0.0  # how long it must have slept for another frame to cost nothing
        self.newest: ViewFrame | None = None

    def update(self) -> None:
        """The numbers are those of a moment that is to be seen."""
        self._elsewhere = threading.get_ident() != self._thread
        self._behind = True  # before the page's answer can come, which another thread takes
        if not self._flow.visible:
            return
        # Nobody can ask another thread for its last numbers later.
        now = self._clock()
        if self._elsewhere or now >= self._rested or self._idle(now):
            self._renew()
        else:
            self._later()

    def _idle(self, now: float) -> bool:
        """Whether the thread has slept since the last frame for as long as that took, and a page is ready."""
        if now < self._looked + _LOOK or not self._flow.ready:
            return False
        self._looked = now
        return self._slept() >= self._free

    def offer(self, frame: ViewFrame) -> None:
        """Takes a frame that was made of the present numbers."""
        with self._lock:
            self._elsewhere = threading.get_ident() != self._thread
            self._behind = False
            self.newest = frame
            self._flow.offer(frame)

    def captured(self, frame: ViewFrame) -> None:
        """A frame of the present numbers was made for something else."""
        if self._here():
            self.newest = frame

    def appeared(self, present: bool) -> None:
        """A page shows the view; `present` where it shall see the numbers between two cells as they are."""
        if present and not self._elsewhere and self._here():
            self._renew()
            return
        with self._lock:
            if self.newest is not None:
                self._flow.offer(self.newest)
        if present and not self._elsewhere:
            self._behind = True
            self._later()

    def drawn(self, number: int, page: str) -> None:
        """The page has drawn that frame, and all before it."""
        if self._behind and not self._elsewhere:
            if self._here():
                self._catch_up()
            else:
                self._later()
        self._flow.drawn(number, page)

    def _here(self) -> bool:
        """Whether this is the thread of the view, which then is between two updates of it."""
        return threading.get_ident() == self._thread

    def _later(self) -> None:
        """Catches up as soon as no cell runs."""
        if self._loop is not None and not self._loop.is_closed() and not self._asked:
            self._asked = True
            self._loop.call_soon_threadsafe(self._between_cells)

    def _between_cells(self) -> None:
        self._asked = False
        with suppress(KeyboardInterrupt, asyncio.CancelledError):  # raised further, it would end the session
            self._catch_up()

    def _catch_up(self) -> None:
        if self._behind and self._flow.visible:
            self._renew()

    def _renew(self) -> None:
        with self._lock:
            begun = self._clock()
            self._behind = False
            try:
                frame = self._make()
                self.newest = frame
                self._flow.offer(frame)
            except BaseException:
                self._behind = True  # an interrupt, or a function that fails now
                raise
            took = self._clock() - begun + _ANSWER
            self._outside.frame()
            pause = _SHARE * took + _SHARE_OUTSIDE * self._outside.seconds
            self._rested = max(self._rested, begun - _AT_ONCE) + pause
            self._free = self._slept() + _SPARE * took
