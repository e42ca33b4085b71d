"""Time and gradient of each call of a tape, measured on request."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from dsim.runtime.fields.fields import Field
from dsim.runtime.inspection.calls import Calls, whole
from dsim.runtime.launching.access_regions import Reach
from dsim.runtime.launching.interval_sets import Box, distinct
from dsim.runtime.recording.profile import Profile
from dsim.runtime.recording.record import Entry
from dsim.runtime.saving.entries import RecordedLaunch
from dsim.runtime.sweeping.sweep_plan import SweepPlan

_MOST = 64  # the number of calls whose regions are cached

_FEW = 32  # up to this many numbers, Python computes the norm faster than NumPy

Parts = tuple[tuple[Field, tuple[slice, ...]], ...]


class CallTimer:
    """Measures the time of each call that a tape adds to `entries`."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self.seconds: list[float] = []
        self._start = 0.0

    def before(self, call: RecordedLaunch) -> None:
        """A launch begins."""
        self._start = perf_counter()

    def after(self, call: RecordedLaunch) -> None:
        """It is over; its time counts if it was recorded."""
        now = perf_counter()
        entries = self._entries
        if entries and entries[-1] is call:
            missing = len(entries) - 1 - len(self.seconds)  # functions with gradients of their own
            self.seconds += [*[math.nan] * missing, now - self._start]


class Profiler:
    """Fills a profile in the backward pass."""

    looks_inside = False

    def __init__(self, profile: Profile, calls: Calls) -> None:
        self._profile = profile
        self._calls = calls
        self._number = len(calls)
        self._spent = self._start = 0.0
        self._parts: dict[tuple[Any, ...], Parts] = {}

    def entering(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """Before the backward pass of an entry."""
        if number + 1 == self._calls.starts[self._number]:  # the last one of a call
            self._number -= 1
            self._spent = 0.0
            self._profile.gradient_norm[self._number] = self._norm(entry, plan, False)
        self._start = perf_counter()

    def leaving(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """After it."""
        self._spent += perf_counter() - self._start
        if number == self._calls.starts[self._number]:
            self._profile.backward_seconds[self._number] = self._spent
            self._profile.gradient_norm_before[self._number] = self._norm(entry, plan, True)

    def _norm(self, entry: Entry, plan: SweepPlan, read: bool) -> float:
        found = self._regions(entry, plan, read)
        return math.hypot(*(norm(plan.bars[f].require_memory()[at]) for f, at in found))

    def _regions(self, entry: Entry, plan: SweepPlan, read: bool) -> Parts:
        if not isinstance(entry, RecordedLaunch):
            return tuple((f, ()) for f in dict.fromkeys(entry.fields()) if f in plan.bars)
        form = whole(entry.form)
        key = (form, entry.args, read)
        found = self._parts.get(key)
        if found is None:
            found = _parts((form.loads, form.writes) if read else (form.writes,), entry.args, plan)
            if len(self._parts) < _MOST:
                self._parts[key] = found
        return found


def _parts(reaches: Iterable[Reach], args: tuple[Any, ...], plan: SweepPlan) -> Parts:
    boxes: dict[Field, list[Box]] = {}
    for reach in reaches:
        for field, box in reach.of(args):
            if field in plan.bars:
                boxes.setdefault(field, []).append(box)
    return tuple(
        (field, tuple(slice(low, high) for low, high in box))
        for field, found in boxes.items()
        for box in (found if len(found) == 1 else distinct(found))
    )


def norm(values: np.ndarray) -> float:
    """The Euclidean norm, without overflow or underflow of squares."""
    flat = values.ravel()
    if len(flat) <= _FEW:
        return math.hypot(*flat.tolist())
    with np.errstate(all="ignore"):
        squared = float(np.dot(flat, flat))
    if 1e-30 < squared < math.inf:
        return math.sqrt(squared)
    largest = float(np.abs(flat).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    return largest * math.sqrt(float(np.square(flat.astype(np.float64) / largest).sum()))
