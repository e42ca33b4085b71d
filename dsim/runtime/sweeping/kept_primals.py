"""Puts back what a backward function of a person overwrites of the fields with which a tape's calls work.

The adjoints of earlier calls read these, and after the backward pass every field holds what it held at the
end of the block. Other fields keep what the function writes.
"""

from __future__ import annotations

from collections.abc import Container
from threading import get_ident
from typing import Any

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import whole
from dsim.runtime.launching.contexts import Args, Context
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.interval_sets import Box, outside
from dsim.runtime.recording.write_history import Trial
from dsim.runtime.saving.snapshots import SnapshotStore

_SHORT = 32  # boxes of one field to compare with, before the rest of it is kept at once


class KeptPrimals(Context):
    """Keeps the values of fields before the first launch in its block that writes to them.

    It keeps the elements that a launch writes to, not whole fields: such a field may have an axis for the
    step, and a backward function for each.

    Parameters
    ----------
    fields : container of Field
        Those to keep.
    store : SnapshotStore
        The tape's, whose outer contexts see the copies.
    """

    differentiates = False

    def __init__(self, fields: Container[Field], store: SnapshotStore) -> None:
        super().__init__()
        self._fields, self._store = fields, store
        self._kept: list[tuple[Field, Box, Any]] = []
        self._boxes: dict[Field, list[Box]] = {}  # where they are
        self._changed: dict[Field, int] = {}  # when Python had written to them
        self._trial: Trial | None = None  # from the first of those launches on

    def launch(self, form: Form, args: Args) -> Args:
        """Keeps what it overwrites, and passes it on."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        for f, box in form.writes.of(args):
            if not f.derivative and f in self._fields:
                self._keep(f, box)
        return self.pass_on(form, args)

    def _keep(self, field: Field, box: Box) -> None:
        self._trial = self._trial or Trial()
        self._changed.setdefault(field, field.changed)
        boxes = self._boxes.setdefault(field, [])
        if len(boxes) >= _SHORT:
            box = whole(field)
        for part in outside([box], boxes):
            self._kept.append((field, part, self._store.take(field, part)))
            boxes.append(part)

    def put_back(self) -> None:
        """Gives the fields their values again: for tapes that ended before, they have not changed."""
        if self._trial is not None:
            self._trial.undo(self._changed, self._restore)

    def _restore(self) -> None:
        for field, box, values in self._kept:
            self._store.restore(field, box, values)
