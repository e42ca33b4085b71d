"""Repeats in a long sequence, found and folded: ``a b c a b c a b c`` is 3 times ``a b c``.

Short repeats are folded first, and the result is folded again, which finds loops inside loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_LONGEST = 64  # items that a repeat may have


@dataclass(frozen=True, slots=True)
class Repeat:
    """`items`, `count` times over."""

    count: int
    items: tuple[Item, ...]

    def __len__(self) -> int:
        return self.count * length(self.items)


Item = int | Repeat


def length(items: Sequence[Item]) -> int:
    """How many members of the sequence `items` stand for."""
    return sum(1 if isinstance(i, int) else len(i) for i in items)


def fold(sequence: Sequence[int]) -> tuple[Item, ...]:
    """`sequence`, of small numbers from 0 on, with its repeats folded.

    Examples
    --------
    >>> fold([7, 0, 0, 1, 0, 0, 1])
    (7, Repeat(count=2, items=(Repeat(count=2, items=(0,)), 1)))
    """
    codes = np.array(sequence, np.int64)
    items: list[Item] = list(range(int(codes.max()) + 1)) if len(codes) else []
    known: dict[tuple[int, ...], int] = {}
    period = 1
    while 2 * period <= len(codes) and period <= _LONGEST:
        shorter = _fold(codes, period, items, known)
        if len(shorter) < len(codes):
            codes, period = shorter, 1
        else:
            period += 1
    return tuple(items[code] for code in codes.tolist())


def _fold(codes: np.ndarray, period: int, items: list[Item], known: dict[tuple[int, ...], int]) -> np.ndarray:
    """`codes` with each repeat of `period` members replaced by one code, for which `items` grows."""
    differ = np.flatnonzero(codes[period:] != codes[:-period])
    starts = np.concatenate(([0], differ + 1))
    ends = np.concatenate((differ, [len(codes) - period]))
    long = ends - starts >= period
    parts: list[np.ndarray] = []
    done = 0
    for begin, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
        start = max(begin, done)
        count = (end - start) // period + 1
        if count < 2:
            continue
        block = tuple(codes[start : start + period].tolist())
        parts += [codes[done:start], np.array([_code(count, block, items, known)])]
        done = start + count * period
    return np.concatenate((*parts, codes[done:])) if parts else codes


def _code(count: int, block: tuple[int, ...], items: list[Item], known: dict[tuple[int, ...], int]) -> int:
    """The code of a repeat: one each."""
    key = (count, *block)
    found = known.get(key)
    if found is None:
        found = known[key] = len(items)
        items.append(Repeat(count, tuple(items[code] for code in block)))
    return found
