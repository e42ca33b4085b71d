"""Launching a kernel with probes of the values that its lines assign, and of their adjoints."""

from __future__ import annotations

from typing import Any

from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.launching.probe_buffers import Born, Kinked, Looking, WatchedLine


class Watching:
    """A kernel with probes of what its lines assign; launched like the kernel, with the same effects.

    Made by `watch`. Inside a tape the adjoints of what the lines assigned are shown too, inside forward
    mode their tangents. It runs in series, so that what it shows is the same each time.

    Parameters
    ----------
    kernel : Kernel
        What to watch.
    births : bool
        Whether to look for the primitives that make numbers which are not finite, too.

    Attributes
    ----------
    kernel : Kernel
        The kernel with its watches.
    """

    def __init__(self, kernel: Kernel, births: bool = False) -> None:
        self._looking = Looking(kinks=True, births=births)
        self.kernel = kernel.watched_by(self._looking)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Launches it; its observations add to the present ones."""
        return self.kernel(*args, **named)

    @property
    def probe(self) -> tuple[int, ...] | None:
        """The iteration to look at, by the indices of the outermost loops.

        None for the last one in which a line ran, line by line.
        """
        return self._looking.probe

    @probe.setter
    def probe(self, probe: tuple[int, ...] | None) -> None:
        self._looking.ask(probe, self.trip)

    @property
    def trip(self) -> int | None:
        """Which of the times that a line runs in this iteration, from 0; None for the last one."""
        return self._looking.trip

    @trip.setter
    def trip(self, trip: int | None) -> None:
        self._looking.ask(self.probe, trip)

    def clear(self) -> None:
        """Clears the observations, not the selected iteration."""
        self._looking.clear()

    def results(self) -> list[WatchedLine]:
        """What each line assigned since the last `clear`, in the order of the text."""
        return self._looking.results()

    def kinked(self) -> list[Kinked]:
        """The kinks met since the last `clear`, in the order of the source."""
        return self._looking.kinked()

    def born(self) -> list[Born]:
        """The origins of non-finite numbers since the last `clear`, in the order of the source."""
        return self._looking.born()

    @property
    def loops(self) -> list[tuple[str, int, int]]:
        """The indices of the outermost loops: name, least value, greatest value plus one."""
        return self._looking.loops

    def telling(self) -> tuple[int, ...] | None:
        """An iteration that reaches the line that ran least often; None without an outermost loop.

        After launches without a `probe`.
        """
        reached = [w for w in self.results() if w.times and w.slot.axes]
        if not reached:
            return None
        deepest = max(w.slot.axes for w in reached)
        return min((w for w in reached if w.slot.axes == deepest), key=lambda w: w.times).where


def watch(kernel: Kernel, births: bool = False) -> Watching:
    """`kernel` with probes of what its lines assign.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    births : bool
        Whether it shows, too, which primitives make of finite numbers others that are not.

    Returns
    -------
    Watching
        To be launched instead of it.

    Examples
    --------
    >>> import dsim as ti
    >>> from dsim.runtime.kernels.watching import watch
    >>> x = ti.field(ti.f64, shape=3, needs_grad=True)
    >>> loss = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def energy():
    ...     for i in x:
    ...         y = x[i] + i
    ...         loss[None] += y * y
    >>> watching = watch(energy)
    >>> watching.probe = (2,)
    >>> with ti.ad.Tape(loss):
    ...     watching()
    >>> for w in watching.results():
    ...     print(w.slot.name, w.value, w.gradient)
    y 2.0 4.0
    loss[None] 4.0 1.0
    """
    return Watching(kernel, births)
