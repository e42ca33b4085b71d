"""Which arrays share memory, and which of their elements are the same numbers.

It compares addresses, so views of views, tensors and buffers are treated alike.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

import numpy as np

_SEARCH = 1_000  # effort to distinguish overlapping arrays from interleaved ones
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Shared:
    """The elements that one array shares with another, by their indices in both: a row for each element.

    Attributes
    ----------
    to, of : ndarray
        The indices in the one and in the other. An array without axes has one column, of zeros.
    exact : bool
        Whether the two share nothing else: no number of the one partly overlaps numbers of the other,
        and none is read as another type.
    """

    to: np.ndarray
    of: np.ndarray
    exact: bool


def address(array: np.ndarray) -> int:
    """Where the first element of `array` lies."""
    return array.__array_interface__["data"][0]


def extent(array: np.ndarray) -> tuple[int, int]:
    """The address range of `array`, end exclusive; empty if the array is."""
    low = high = address(array)
    if not array.size:
        return low, low
    for stride, length in zip(array.strides, array.shape, strict=True):
        if stride < 0:
            low += stride * (length - 1)
        else:
            high += stride * (length - 1)
    return low, high + array.itemsize


class Comb(NamedTuple):
    """The bytes in which all elements of an array lie: `width` of them at `low`, and again every `step`.

    A `step` of 0 stands for a single place.
    """

    low: int
    step: int
    width: int


def comb(array: np.ndarray) -> Comb:
    """The narrowest comb around `array`."""
    steps = (s for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    return Comb(extent(array)[0], math.gcd(*steps), array.itemsize)


def interleaved(a: Comb, b: Comb) -> bool:
    """Whether the teeth of two combs interleave without overlap, as those of two columns of a table."""
    step = math.gcd(a.step, b.step)
    if not step:
        return False
    ahead = (b.low - a.low) % step
    return a.width <= ahead <= step - b.width


def apart(a: np.ndarray, b: np.ndarray, work: int = _SEARCH) -> bool:
    """Whether two arrays provably share no byte, within bounded effort."""
    if not np.may_share_memory(a, b):
        return True
    try:
        return not np.shares_memory(a, b, max_work=work)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False


def own_place_each(array: np.ndarray) -> bool:
    """Whether, judged by the strides, no two elements of `array` share memory."""
    if not array.size:  # NumPy gives such arrays strides of 0
        return True
    span = array.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True)):
        if length > 1:
            if stride < span:
                return False
            span += stride * (length - 1)
    return True


def shared(to: np.ndarray, of: np.ndarray) -> Shared:
    """What `to` shares with `of`, of which no two elements lie in one place."""
    wanted, known = _addresses(to), _addresses(of)
    near = _between(wanted, known.min() - to.itemsize, known.max() + of.itemsize)
    wanted = wanted[near]
    order = _between(known, wanted.min() - of.itemsize, wanted.max() + to.itemsize) if len(near) else near
    if not len(order):
        return Shared(_indices(order, to.shape), _indices(order, of.shape), True)
    order = order[np.argsort(known[order], kind="stable")]
    known = known[order]
    behind = np.searchsorted(known, wanted, side="right")  # the number of elements that begin no later
    before = np.maximum(behind - 1, 0)
    same = (behind > 0) & (known[before] == wanted)
    across = ~same & (behind > 0) & (known[before] + of.itemsize > wanted)
    after = np.minimum(behind, len(known) - 1)
    across |= ~same & (behind < len(known)) & (wanted + to.itemsize > known[after])
    exact = not across.any() and (to.dtype == of.dtype or not same.any())
    return Shared(_indices(near[same], to.shape), _indices(order[before[same]], of.shape), exact)


def _between(addresses: np.ndarray, low: int, high: int) -> np.ndarray:
    """Which of the addresses lie between two others: a small view of a large array shares little of it."""
    return np.flatnonzero((addresses > low) & (addresses < high))


def _addresses(array: np.ndarray) -> np.ndarray:
    """The address of each element, in the order of a flat array."""
    found = np.array(address(array), np.int64)
    for stride, length in zip(array.strides, array.shape, strict=True):
        found = found[..., None] + np.arange(length, dtype=np.int64) * stride
    return found.reshape(-1)


def _indices(flat: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if not shape:
        return np.zeros((len(flat), 1), np.int32)
    return np.stack(np.unravel_index(flat, shape), axis=1).astype(np.int32)


_Group = tuple[int, int, list[tuple[int, int, T]]]  # where it begins and ends, and what is in it
_low = itemgetter(0)


class Extents(Generic[T]):
    """An index of objects by address range, queried for overlaps."""

    def __init__(self) -> None:
        self._groups: list[_Group[T]] = []  # that share no byte, in order
        self._changes = 0

    def add(self, thing: T, low: int, high: int) -> list[T]:
        """Adds `thing`, at addresses `low` to `high` (exclusive); returns the known ones that overlap it."""
        while low < high:
            before = self._changes
            first = bisect_right(self._groups, low, key=_low)
            if first and self._groups[first - 1][1] > low:
                first -= 1
            there = slice(first, bisect_left(self._groups, high, key=_low))
            joined = self._groups[there]
            members = [m for _, _, group in joined for m in group]
            made = [
                (
                    min([low, *(begin for begin, _, _ in joined)]),
                    max([high, *(end for _, end, _ in joined)]),
                    [*members, (low, high, thing)],
                )
            ]
            if self._changes == before:  # else a signal handler has added something in between
                self._groups[there] = made
                self._changes += 1
                return [t for start, end, t in members if start < high and low < end]
        return []
