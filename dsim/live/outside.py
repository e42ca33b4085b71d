"""What frames cost a simulation outside of its process: a browser on its machine takes processors from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import psutil

_WINDOW = 0.25  # seconds between two looks: the system counts in ticks of 10 ms
_STALE = 2.0  # seconds after which a look tells of more than frames
_NEWEST = 0.5  # the weight of the newest look in the mean
_LEFT = 0.5  # of the processors: if so many are idle, nothing is taken from a simulation
_LONGEST = 0.03  # seconds that a frame may seem to cost: other programs on the machine are not its work


class Processors(NamedTuple):
    """Seconds since an arbitrary moment, of all processors together.

    Attributes
    ----------
    busy : float
        In which they worked, for whatever process.
    idle : float
        In which they had nothing to do.
    own : float
        In which they worked for this process.
    """

    busy: float
    idle: float
    own: float


def processors() -> Processors:
    """What the system tells now."""
    told = psutil.cpu_times()
    idle = told.idle + getattr(told, "iowait", 0.0)
    # A guest's time is part of the user's; what a hypervisor has taken is nobody's work.
    twice = sum(getattr(told, name, 0.0) for name in ("guest", "guest_nice", "steal"))
    return Processors(sum(told) - idle - twice, idle, time.process_time())


class Outside:
    """Measures what a frame costs outside of this process.

    While no processor is idle, what other processes work is taken from the simulation. Between two looks that
    is divided by the frames that were made: the work of the server and of the browser, and nothing where
    the browser has a machine of its own. Threads of a parallel loop wait for each other, so it makes no
    difference how many processors there are.

    Parameters
    ----------
    clock : callable
        Seconds that pass.
    told : callable
        Gives `Processors`.

    Attributes
    ----------
    seconds : float
        By which a frame delays the simulation, a running mean.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        told: Callable[[], Processors] = processors,
    ) -> None:
        self._clock, self._told = clock, told
        self._since = 0.0  # when it was looked last
        self._then: Processors | None = None  # what was told then
        self._frames = 0
        self.seconds = 0.0

    def frame(self) -> None:
        """One more frame is made now."""
        now = self._clock()
        if self._then is not None and now < self._since + _WINDOW:
            self._frames += 1
            return
        told = self._told()
        if self._then is not None and now < self._since + _STALE:
            self.seconds += _NEWEST * (self._cost(self._then, told) - self.seconds)
        self._since, self._then, self._frames = now, told, 1

    def _cost(self, then: Processors, now: Processors) -> float:
        busy, idle, own = (getattr(now, name) - getattr(then, name) for name in ("busy", "idle", "own"))
        crowded = max(0.0, 1 - idle / (_LEFT * max(busy + idle, 1e-9)))
        others = max(0.0, busy - own)
        return min(_LONGEST, crowded * others / self._frames)
