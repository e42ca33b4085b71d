"""The adjoint of one field after several calls, which a sweep copies on its way to the rows of an array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dsim.backends.cpu.row_copies import RowCopies
from dsim.backends.cpu.shares import SharedWork
from dsim.backends.cpu.streaming import LARGE, past_caches, stream, through_caches
from dsim.runtime.fields.fields import Field
from dsim.runtime.recording.record import Entry
from dsim.runtime.sweeping.sweep_plan import SweepPlan

# Bytes of a gradient that several threads copy. Tasks on less run on one thread, in whose cache it is.
_MANY = 1 << 16


RowLaunch = tuple[RowCopies, tuple[int]]  # and the byte at which the row begins


class Copies(NamedTuple):
    """What machine code copies in a sweep, whatever the address of the rows.

    Attributes
    ----------
    bar : Field
        The adjoint.
    places : tuple of int
        After how many entries each row has the adjoint: copied before the backward pass of the entry before.
    to : int
        The least of them, where the sweep ends.
    bars : tuple of Field
        All adjoints of the sweep.
    work : SharedWork or None
        What copies a row by all threads; None where the calling thread does so alone.
    """

    bar: Field
    places: tuple[int, ...]
    to: int
    bars: tuple[Field, ...]
    work: SharedWork | None

    @property
    def past_caches(self) -> bool:
        """Whether the rows are too large for the caches."""
        return self.work is past_caches()

    def by_entry(self) -> Mapping[int, list[RowLaunch]]:
        """The copies before the backward pass of each entry, as launches."""
        memory = self.bar.require_memory()
        copies = RowCopies(memory, self.work)
        found: dict[int, list[RowLaunch]] = {}
        for row, place in enumerate(self.places):
            found.setdefault(place - 1, []).append((copies, (row * memory.nbytes,)))
        return found


class AdjointRows:
    """Copies the adjoint of a field when the sweep has reached certain entries.

    Parameters
    ----------
    field : Field
        The field.
    places : iterable of int
        After how many entries each row has the adjoint.
    values : ndarray
        The rows.

    Attributes
    ----------
    to : int
        The least of the places: to which entry a sweep has to go.
    """

    looks_inside = False

    def __init__(self, field: Field, places: Iterable[int], values: np.ndarray) -> None:
        self._field = field
        self._values = values
        self._places = tuple(places)
        self.to = min(self._places)
        self._shared = values[:1].nbytes >= _MANY
        self._streams = self._shared and values.nbytes > LARGE

    @cached_property
    def _rows(self) -> dict[int, list[int]]:
        """The rows by entry, for a sweep that Python observes: one in machine code asks for none of them."""
        found: dict[int, list[int]] = {}
        for row, place in enumerate(self._places):
            found.setdefault(place - 1, []).append(row)
        return found

    def entering(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """Before the backward pass of an entry: the adjoints are those after it."""
        rows = self._rows.get(number)
        if rows is not None:
            self._copy(rows, plan)

    def leaving(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """After it, nothing: the next entry follows, or the sweep ends."""

    def clear(self) -> None:
        """Sets all rows to 0: no sweep reaches the field."""
        self._values[...] = 0

    def take(self, plan: SweepPlan) -> None:
        """Copies the adjoint where the sweep ended."""
        self._copy(self._rows[self.to - 1], plan)

    def _copy(self, rows: Iterable[int], plan: SweepPlan) -> None:
        bar = plan.bars.get(self._field)
        copy = stream if self._streams else np.copyto
        for row in rows:
            if bar is None:
                self._values[row] = 0
            else:
                copy(self._values[row, ...], bar.require_memory())

    @property
    def address(self) -> int:
        """Where the first row is."""
        return self._values.ctypes.data

    def copies(self, plan: SweepPlan) -> Copies | None:
        """What machine code can copy in a sweep; None where NumPy has to."""
        bar = plan.bars.get(self._field)
        if bar is None:
            return None
        memory = bar.require_memory()
        plain = memory.flags.c_contiguous and self._values.flags.c_contiguous and memory.size > 0
        if not plain:
            return None
        work = past_caches() if self._streams else through_caches() if self._shared else None
        return Copies(bar, self._places, self.to, tuple(plan.bars.values()), work)
