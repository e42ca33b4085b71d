"""Finds the field that owns an address, from any object at the address: a view, a buffer, a tensor."""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Any

import numpy as np

from dsim.backends.locks import short_lock
from dsim.runtime.fields.aliases import extent
from dsim.weak_mappings import WeakValues

# Weak references to all fields with memory, by their base address: an array that a user passes
# gives its address only. An entry is removed with its field; the sorted list of addresses drops
# the stale ones that a search finds.
_FIELDS: WeakValues[int, Any] = WeakValues()
_BEGINS: list[int] = []
_LOCK = short_lock()


def note(field: Any) -> None:
    """Registers the memory of `field`."""
    begin, end = extent(field.buffer)
    if begin == end:
        return
    with _LOCK:
        if begin not in _FIELDS:
            at = bisect_right(_BEGINS, begin)
            if not at or _BEGINS[at - 1] != begin:
                insort(_BEGINS, begin)
        _FIELDS[begin] = field


def holder(array: np.ndarray) -> Any:
    """The field whose memory contains `array`; None if there is none."""
    low, high = extent(array)
    if low == high:
        return None
    with _LOCK:
        while at := bisect_right(_BEGINS, low):
            begin = _BEGINS[at - 1]
            field = _FIELDS.get(begin)
            if field is not None and field.buffer is not None:
                return field if low < extent(field.buffer)[1] else None
            if _BEGINS[at - 1 : at] == [begin]:  # else a signal handler has changed the list
                del _BEGINS[at - 1]
        return None


def in_use() -> int:
    """The total size of all fields, in bytes."""
    return sum(f.buffer.nbytes for f in _FIELDS.living() if f.buffer is not None)
