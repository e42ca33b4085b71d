"""The state in which a run that is repeated begins: what it writes is put back before the next time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from dsim.runtime.checking.overwritten import OverwrittenValues
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.state import randomness
from dsim.runtime.state.stack import opened


class _Kept:
    """One field or array: what it held before a run, and what the run left in it."""

    def __init__(self, of: Field | np.ndarray, start: np.ndarray) -> None:
        self.of, self.start = of, start
        self.note()

    def memory(self) -> np.ndarray:
        return self.of.require_memory() if isinstance(self.of, Field) else self.of

    def note(self) -> None:
        self.left = self.memory().copy()
        self.written = self.of.changed if isinstance(self.of, Field) else 0

    def renewed(self) -> bool:
        """Whether something else has written to it since."""
        if isinstance(self.of, Field) and self.of.changed != self.written:
            return True
        now = self.memory()
        return not self.holds_what_was_left(now)

    def holds_what_was_left(self, now: np.ndarray) -> bool:
        return now.shape == self.left.shape and np.array_equal(now, self.left, now.dtype.kind == "f")

    def follow(self) -> bool:
        """Begins with what something else has written; gives whether it has."""
        if self.renewed():
            self.start = self.memory().copy()
            self.note()
            return True
        return False

    def put_back(self) -> None:
        if self.follow():
            return
        self.memory()[...] = self.start
        if isinstance(self.of, Field):
            self.of.written_by_python()


class InitialState:
    """What a run writes to, with the values from before its first time.

    What a cell writes there between two runs is what the next one begins with.

    Parameters
    ----------
    fields : iterable of Field
        Those that begin with their numbers as they are now, also if the run does not write to them.
    """

    def __init__(self, fields: Iterable[Field] = ()) -> None:
        self._kept: dict[Field | int, _Kept] = {f: _Kept(f, f.require().copy()) for f in fields}

    def start(self, field: Field) -> np.ndarray:
        """The numbers with which a run begins, to be read and to be changed."""
        return self._kept[field].start

    def follow(self, field: Field) -> None:
        """Runs begin with what a cell has written to `field` since the last one, if it has."""
        self._kept[field].follow()

    def renewed(self, field: Field) -> bool:
        """Whether `field` holds other numbers than the last run has left there."""
        kept = self._kept[field]
        return not kept.holds_what_was_left(kept.memory())

    @contextmanager
    def again(self) -> Iterator[None]:
        """The block is a run and what prepares it: all is put back before it."""
        for kept in self._kept.values():
            kept.put_back()
        try:
            yield
        finally:
            for kept in self._kept.values():
                kept.note()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes what launches in the block write; random numbers in it are the same each time."""
        watch = OverwrittenValues()
        arrays: list[tuple[Field, np.ndarray]] = []
        try:
            with randomness.apart(), watch:
                try:
                    yield
                finally:
                    arrays += opened()[0].mirrors.arrays()
        finally:
            self._add(watch.entry, arrays)

    def _add(self, before: dict[Field, np.ndarray], arrays: list[tuple[Field, np.ndarray]]) -> None:
        for field, start in before.items():
            if not isinstance(field, Mirror):
                self._kept.setdefault(field, _Kept(field, start))
        for mirror, array in arrays:
            if mirror in before and array.flags.writeable:
                self._kept.setdefault(id(array), _Kept(array, before[mirror]))
