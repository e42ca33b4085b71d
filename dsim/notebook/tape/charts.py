"""Charts over the calls of a tape: gradient, time, saved bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dsim.notebook.tape import svg
from dsim.notebook.tape.data import thinned
from dsim.notebook.tape.svg import Marker, Series
from dsim.runtime.inspection.tape_summary import CallGroup
from dsim.runtime.tapes.tape import Tape

_POINTS = 400  # of a line
_MEDIANS = 80  # of a line of times
_LINES = 6  # of a chart


@dataclass(frozen=True)
class Chart:
    """Lines over the calls of a tape.

    Attributes
    ----------
    name : str
        In a word or two.
    title : str
        The title of the chart.
    end : int
        The last call.
    marks : tuple of Marker
        Calls to point at.
    """

    name: str
    title: str
    series: tuple[Series, ...]
    end: int
    log: bool
    unit: str
    marks: tuple[Marker, ...]

    def svg(self, *more: Marker) -> str:
        """The drawing."""
        return svg.chart(self.title, self.series, self.end, self.log, (*self.marks, *more), unit=self.unit)


def charts(tape: Tape, lines: Sequence[CallGroup], times: bool = False) -> Iterator[Chart]:
    """The charts of what is known of `tape`, folded to `lines`.

    Times are drawn if they were asked for in recording, or with `times`; of one call nothing is.
    """
    profile, end, marks = tape.profiled, len(tape.calls) - 1, _marks(tape)
    if end < 1:
        return
    if profile is not None and np.isfinite(profile.backward_seconds).any():
        norms = tuple(_by_kernel(lines, profile.gradient_norm, peaks))
        title = "norm of the gradient with respect to what each call wrote"
        yield Chart("gradient", title, norms, end, True, "", marks)
        for way, seconds in (("forward", profile.seconds), ("backward", profile.backward_seconds)):
            if (times or profile.timed) and np.isfinite(seconds).any():
                series = tuple(_by_kernel(lines, seconds, usual))
                yield Chart(f"time {way}", f"time of each call, {way}", series, end, True, "s", marks)
    if tape.saved_bytes:
        total = np.cumsum(tape.calls.saved_bytes()).astype(float)
        saved = Series("saved", *peaks(np.arange(end + 1), total), svg.GREEN)
        yield Chart("saved bytes", "bytes saved up to each call", (saved,), end, False, "B", marks)


def _marks(tape: Tape) -> tuple[Marker, ...]:
    what, profile = tape.not_finite, tape.profiled
    call = None if profile is None else profile.first_not_finite
    call = call if what is None else what.call
    return () if call is None else (Marker(float(call), "not finite", svg.RED),)


Thinning = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _by_kernel(lines: Sequence[CallGroup], values: np.ndarray, thin: Thinning) -> Iterator[Series]:
    """A line for each of the kernels that are called most; the values of others are not shown."""
    called: dict[str, list[np.ndarray]] = {}
    for line in lines:
        called.setdefault(line.facts.name, []).append(line.calls)
    most = sorted(called, key=lambda name: -sum(map(len, called[name])))[:_LINES]
    for name, colour in zip([n for n in called if n in most], svg.COLOURS, strict=False):
        at = np.sort(np.concatenate(called[name]))
        yield Series(name, *thin(at, values[at]), colour)


def peaks(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points, among them every peak and every dip."""
    at = thinned(y, _POINTS)
    return x[at], y[at]


def usual(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points, each with the median of its neighbours: times have meaningless outliers."""
    if len(x) <= _MEDIANS:
        return x, y
    edges = np.linspace(0, len(x), _MEDIANS + 1).astype(np.int64)
    parts = list(pairwise(edges.tolist()))
    medians = [float(np.median(y[a:b])) for a, b in parts]
    return np.array([x[(a + b) // 2] for a, b in parts]), np.array(medians)
