"""How the norm of an adjoint changes from step to step, on the way back: found in numbers, and told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

LARGE = 1e3  # the change of a norm that is called exploding, or in the other direction vanishing
NOTED = 1.05  # the change from one step to the next that is told


@dataclass(frozen=True, slots=True)
class NormChange:
    """Two steps, and the change of the norm of the adjoint on the way back.

    Attributes
    ----------
    start, end : int
        The places of both steps in the trajectory; the way back leads from `start` down to `end`.
    factor : float
        The norm at `end`, divided by that at `start`.
    """

    start: int
    end: int
    factor: float


def largest_rise(norms: np.ndarray) -> NormChange | None:
    """The largest change upwards between any two norms; those that are 0 or not finite are passed over."""
    return _largest(norms, 1.0)


def largest_fall(norms: np.ndarray) -> NormChange | None:
    """The largest change downwards."""
    return _largest(norms, -1.0)


def largest_step(norms: np.ndarray) -> NormChange | None:
    """The largest change upwards between neighbours."""
    good = np.isfinite(norms) & (norms > 0)
    both = np.flatnonzero(good[1:] & good[:-1])
    if not len(both):
        return None
    with np.errstate(over="ignore"):
        factors = norms[both] / norms[both + 1]
    at = int(both[len(factors) - 1 - np.argmax(factors[::-1])])  # the first on the way back
    return NormChange(at + 1, at, float(np.max(factors)))


def _largest(norms: np.ndarray, sign: float) -> NormChange | None:
    good = np.flatnonzero(np.isfinite(norms) & (norms > 0))[::-1]  # in the order of the way back
    if len(good) < 2:
        return None
    logs = sign * np.log(norms[good].astype(np.float64))
    lowest = np.minimum.accumulate(logs)
    end = int(np.argmax(logs - lowest))
    start = int(np.flatnonzero(logs[: end + 1] == lowest[end])[-1])
    with np.errstate(over="ignore"):
        factor = float(norms[good[end]] / norms[good[start]])
    return NormChange(int(good[start]), int(good[end]), factor)


def sentences(steps: np.ndarray, norms: np.ndarray, bad: np.ndarray, unit: str) -> Iterator[str]:
    """What the numbers say.

    Parameters
    ----------
    steps : ndarray of int
        The numbers of the steps.
    norms : ndarray
        The norm of the adjoint at each.
    bad : ndarray of int
        How many numbers of each adjoint are not finite.
    unit : str
        What a step is called.
    """
    rise, fall, once = largest_rise(norms), largest_fall(norms), largest_step(norms)
    if rise is not None and rise.factor >= LARGE:
        yield f"grows {rise.factor:.2g}-fold {_way(rise, steps, unit)}: exploding"
    if fall is not None and fall.factor <= 1 / LARGE:
        yield f"shrinks {1 / fall.factor:.2g}-fold {_way(fall, steps, unit)}: vanishing"
    if once is not None and once.factor >= NOTED:
        yield f"largest growth at once: {once.factor:.3g}-fold {_way(once, steps, unit)}"
    if bad.any():
        first = int(np.flatnonzero(bad)[-1])
        count = f"{bad[first]:,} number{'s' if bad[first] > 1 else ''}"
        share = f"{np.count_nonzero(bad):,} of {len(steps):,} {unit}s"
        yield f"not finite at {share}; the first on the way back is {unit} {steps[first]:,}, with {count}"
    yield from _zeros(steps, norms, unit)


def _zeros(steps: np.ndarray, norms: np.ndarray, unit: str) -> Iterator[str]:
    zero = norms == 0
    if zero.all():
        yield "0 everywhere: the loss depends on none of these values"
        return
    other = np.flatnonzero(~zero)
    if other[-1] + 1 < len(norms):
        yield f"0 from {unit} {steps[other[-1] + 1]:,} on: what comes then reads it no more"
    if other[0] > 0:
        yield f"0 up to {unit} {steps[other[0] - 1]:,}: nothing of it reaches the loss"


def _way(change: NormChange, steps: np.ndarray, unit: str) -> str:
    return f"from {unit} {steps[change.start]:,} back to {unit} {steps[change.end]:,}"
