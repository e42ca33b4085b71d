"""Time and gradient of each call of a tape: measured where it is asked for, and only then."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from dsim.runtime.calls import Calls, whole
from dsim.runtime.fields import Field
from dsim.runtime.keeper import Call
from dsim.runtime.overlaps import Box, distinct
from dsim.runtime.reach import Reach
from dsim.runtime.sweep import Entry, Plan

_MOST = 64  # different calls whose regions are kept: mostly calls are alike, or all different

_FEW = 32  # numbers whose norm Python finds quicker than NumPy

Parts = tuple[tuple[Field, tuple[slice, ...]], ...]


class Profile:
    """Of each call of a tape, how long it took, and how large the gradient is around it.

    Attributes
    ----------
    seconds, backward_seconds : ndarray
        How long the calls and their adjoints took; NaN where that was not measured.
    gradient_norm : ndarray
        The norm of the gradient by what a call wrote, as it is after the call.
    gradient_norm_before : ndarray
        The norm of the gradient by what a call read and wrote, as it is before the call.
    timed : bool
        Whether times are shown where all else is the same in every run: someone asked for them.
    """

    def __init__(self, calls: Calls, seconds: list[float]) -> None:
        self.seconds = _of_calls(calls, seconds)
        self.timed = not bool(np.isnan(self.seconds).all())
        self.backward_seconds = np.full(len(calls), np.nan)
        self.gradient_norm, self.gradient_norm_before = np.full((2, len(calls)), np.nan)

    def __len__(self) -> int:
        return len(self.seconds)

    def unreached(self) -> None:
        """Notes that no call wrote the loss: there is nothing on the way back."""
        for column in (self.backward_seconds, self.gradient_norm, self.gradient_norm_before):
            column[:] = 0.0

    def of(self, call: int) -> tuple[float | None, ...]:
        """The four numbers of one call; None where one was not measured."""
        times = (float(column[call]) for column in (self.seconds, self.backward_seconds))
        known = not math.isnan(self.backward_seconds[call])  # a norm may be NaN
        norms = (self.gradient_norm, self.gradient_norm_before)
        return (
            *(None if math.isnan(t) else t for t in times),
            *(float(column[call]) if known else None for column in norms),
        )

    @property
    def first_not_finite(self) -> int | None:
        """The first call, on the way back, before which the gradient is not finite."""
        found = np.flatnonzero(~np.isfinite(self.gradient_norm_before) & ~np.isnan(self.backward_seconds))
        return int(found[-1]) if len(found) else None

    def __repr__(self) -> str:
        calls = f"{len(self):,} calls"
        forward, backward = (np.nansum(s) for s in (self.seconds, self.backward_seconds))
        took = f"{_time(forward)} forward, " if not np.isnan(self.seconds).all() else ""
        return f"<profile of {calls}: {took}{_time(backward)} backward>"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


class Timer:
    """Takes the time of each call that a tape adds to `entries`."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self.seconds: list[float] = []
        self._start = 0.0

    def before(self, call: Call) -> None:
        """A launch begins."""
        self._start = perf_counter()

    def after(self, call: Call) -> None:
        """It is over; its time counts if it was recorded."""
        now = perf_counter()
        entries = self._entries
        if entries and entries[-1] is call:
            missing = len(entries) - 1 - len(self.seconds)  # functions with gradients of their own
            self.seconds += [*[math.nan] * missing, now - self._start]


def _of_calls(calls: Calls, seconds: list[float]) -> np.ndarray:
    """The times of entries, put together for each call; NaN where none was taken."""
    if not len(calls):
        return np.zeros(0)
    entries = np.full(calls.starts[-1], np.nan)
    entries[: len(seconds)] = seconds
    missing = np.logical_and.reduceat(np.isnan(entries), calls.starts[:-1])
    return np.where(missing, np.nan, np.add.reduceat(np.nan_to_num(entries), calls.starts[:-1]))


class Profiler:
    """Fills a profile on the way back."""

    def __init__(self, profile: Profile, calls: Calls) -> None:
        self._profile = profile
        self._calls = calls
        self._number = len(calls)
        self._spent = self._start = 0.0
        self._parts: dict[tuple[Any, ...], Parts] = {}

    def entering(self, number: int, entry: Entry, plan: Plan) -> None:
        """Before the backward pass of an entry."""
        if number + 1 == self._calls.starts[self._number]:  # the last one of a call
            self._number -= 1
            self._spent = 0.0
            self._profile.gradient_norm[self._number] = self._norm(entry, plan, False)
        self._start = perf_counter()

    def leaving(self, number: int, entry: Entry, plan: Plan) -> None:
        """After it."""
        self._spent += perf_counter() - self._start
        if number == self._calls.starts[self._number]:
            self._profile.backward_seconds[self._number] = self._spent
            self._profile.gradient_norm_before[self._number] = self._norm(entry, plan, True)

    def _norm(self, entry: Entry, plan: Plan, read: bool) -> float:
        found = self._regions(entry, plan, read)
        return math.hypot(*(norm(plan.bars[f].require_memory()[at]) for f, at in found))

    def _regions(self, entry: Entry, plan: Plan, read: bool) -> Parts:
        if not isinstance(entry, Call):
            return tuple((f, ()) for f in dict.fromkeys(entry.fields()) if f in plan.bars)
        form = whole(entry.form)
        key = (form, entry.args, read)
        found = self._parts.get(key)
        if found is None:
            found = _parts((form.loads, form.writes) if read else (form.writes,), entry.args, plan)
            if len(self._parts) < _MOST:
                self._parts[key] = found
        return found


def _parts(reaches: Iterable[Reach], args: tuple[Any, ...], plan: Plan) -> Parts:
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
    """The Euclidean norm, also of numbers whose squares are too large or too small."""
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
