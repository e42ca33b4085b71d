"""The state in which a run that is repeated begins: what it writes is put back before the next time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

import numpy as np

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Args, Context
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.state import randomness
from dsim.runtime.state.stack import opened


class _WriteWatch(Context):
    """Keeps what launches are about to overwrite."""

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[Field, np.ndarray] = {}

    def launch(self, form: Form, args: Args) -> Args:
        """Keeps what it writes, and passes it on."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        for field in form.written:
            if field not in self.before:
                self.before[field] = field.require_memory().copy()
        return self.pass_on(form, args)


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
        return now.shape != self.left.shape or not np.array_equal(now, self.left, now.dtype.kind == "f")

    def put_back(self) -> None:
        if self.renewed():
            self.start = self.memory().copy()
            return
        self.memory()[...] = self.start
        if isinstance(self.of, Field):
            self.of.written_by_python()


class InitialState:
    """What a run writes to, with the values from before its first time.

    What a cell writes there between two runs is what the next one begins with.
    """

    def __init__(self) -> None:
        self._kept: dict[Field | int, _Kept] = {}

    def put_back(self) -> None:
        """Restores all of it."""
        for kept in self._kept.values():
            kept.put_back()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes what launches in the block write; random numbers in it are the same each time."""
        watch = _WriteWatch()
        arrays: list[tuple[Field, np.ndarray]] = []
        try:
            with randomness.apart(), watch:
                try:
                    yield
                finally:
                    arrays += opened()[0].mirrors.arrays()
        finally:
            self._add(watch.before, arrays)

    def _add(self, before: dict[Field, np.ndarray], arrays: list[tuple[Field, np.ndarray]]) -> None:
        for field, start in before.items():
            if not isinstance(field, Mirror):
                self._kept.setdefault(field, _Kept(field, start))
        for mirror, array in arrays:
            if mirror in before and array.flags.writeable:
                self._kept.setdefault(id(array), _Kept(array, before[mirror]))
        for kept in self._kept.values():
            kept.note()
