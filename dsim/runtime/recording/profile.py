"""Time and gradient of each call of a tape: the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


class Profile:
    """The time of each call of a tape, and the norm of the gradient before and after it.

    Parameters
    ----------
    starts : sequence of int
        See `Calls.starts`.
    seconds : sequence of float
        The times of the first entries, as far as they were measured.

    Attributes
    ----------
    seconds, backward_seconds : ndarray
        The times of the calls and their adjoints; NaN where not measured.
    gradient_norm : ndarray
        The norm of the gradient with respect to what a call wrote, after the call.
    gradient_norm_before : ndarray
        The norm of the gradient with respect to what a call read and wrote, before the call.
    timed : bool
        Whether reproducible outputs include times, because the user requested them.
    """

    def __init__(self, starts: Sequence[int], seconds: Sequence[float]) -> None:
        self.seconds = _of_calls(starts, seconds)
        self.timed = not bool(np.isnan(self.seconds).all())
        self.backward_seconds = np.full(len(self.seconds), np.nan)
        self.gradient_norm, self.gradient_norm_before = np.full((2, len(self.seconds)), np.nan)

    def __len__(self) -> int:
        return len(self.seconds)

    def unreached(self) -> None:
        """Notes that no call wrote the loss, so the backward pass is empty."""
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
        """The first call, in the order of the backward pass, before which the gradient is not finite."""
        found = np.flatnonzero(~np.isfinite(self.gradient_norm_before) & ~np.isnan(self.backward_seconds))
        return int(found[-1]) if len(found) else None

    def __repr__(self) -> str:
        calls = f"{len(self):,} calls"
        forward, backward = (np.nansum(s) for s in (self.seconds, self.backward_seconds))
        took = f"{_time(forward)} forward, " if not np.isnan(self.seconds).all() else ""
        return f"<profile of {calls}: {took}{_time(backward)} backward>"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _of_calls(starts: Sequence[int], seconds: Sequence[float]) -> np.ndarray:
    """The times of entries, put together for each call; NaN where none was taken."""
    if len(starts) < 2:
        return np.zeros(0)
    entries = np.full(starts[-1], np.nan)
    entries[: len(seconds)] = seconds
    missing = np.logical_and.reduceat(np.isnan(entries), starts[:-1])
    return np.where(missing, np.nan, np.add.reduceat(np.nan_to_num(entries), starts[:-1]))
