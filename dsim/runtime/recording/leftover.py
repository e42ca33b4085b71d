"""Warnings about sums that were not reset, to which a tape adds, and on which its loss depends.

A tape sets its own loss to 0, and nothing else. A sum on the path to the loss (a centre of mass, an energy)
must be reset by the program. A state that continues from tape to tape is added to in the same way, and is
meant to keep its value; so there is no warning where a tape may continue from the state of the last one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from dsim.diagnostics import Diagnostic, Span
from dsim.ir.nodes import Accumulate, Load, Store
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.interval_sets import Box, joined, meet, outside
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.recording import write_history
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.recording.unreached import leading
from dsim.runtime.saving.entries import RecordedLaunch
from dsim.runtime.state.notices import warn
from dsim.runtime.state.write_clock import CLOCK

_MOST_BOXES = 64  # of one field, before a program counts as one that continues from its state


def look(tape: TapeRecord, launched: Collection[Form], sums: dict[Field, Accumulate]) -> list[Diagnostic]:
    """The warnings about those of `sums` that still hold the result of an earlier tape.

    Called before the backward pass, which writes to fields. The tape's block launched the forms `launched`;
    no gradient depends on some of them.
    """
    asked = [f for f in sums if f.summed]
    if not asked or not _counts(tape):
        return []
    return [_diagnostic(f, sums[f].origin.span) for f in asked if _is_left(tape, launched, f, sums)]


def note(tape: TapeRecord, sums: Iterable[Field], said: Iterable[Diagnostic]) -> None:
    """Notes what `tape`, which has gone backwards, has added to; and warns of what is to be `said`."""
    asked = [f for f in sums if f.summed is not None]
    if asked and _counts(tape):
        now = CLOCK.tick()
        for field in asked:
            field.summed = now
    warn(said)


def _counts(tape: TapeRecord) -> bool:
    """Whether the results of `tape` are permanent, and all its launches are recorded."""
    return (
        tape.outer is None
        and not write_history.trying()
        and all(isinstance(e, RecordedLaunch) for e in tape.entries)
    )


def _is_left(tape: TapeRecord, launched: Collection[Form], field: Field, sums: Collection[Field]) -> bool:
    """Whether `field` holds the result of an earlier tape by mistake; decided once."""
    before = field.summed
    if before is None or max(field.changed, field.writers.gone()) >= before or isinstance(field, Mirror):
        return False
    field.summed = None
    calls = [e for e in tape.entries if isinstance(e, RecordedLaunch)]
    matters = not _stored(field, before) and field in leading(tape.loss, (c.form for c in calls))
    return matters and not _goes_on(tape, launched, before, sums)


def _stored(field: Field, since: int) -> bool:
    """Whether a kernel that ran `since` sets `field`."""
    forms = (run.form() for run in field.writers.since(since))
    return any(Store in form.touching[field] for form in forms if form is not None)


def _goes_on(tape: TapeRecord, launched: Collection[Form], before: int, sums: Collection[Field]) -> bool:
    """Whether the calls read results of the last tape in a field that they write again."""
    calls = [e for e in tape.entries if isinstance(e, RecordedLaunch)]
    instead = (c.adjoint.launched for c in calls if c.adjoint is not None)
    own = frozenset((*(c.form for c in calls), *instead, *launched))
    left = [f for f in _state(own) if f is not tape.loss and f not in sums]
    same = [f for f in left if write_history.since(before, (f,), own) is None]
    recorded = {f for c in calls for f in c.form.written}
    return any(f not in recorded or _read_first(f, calls) for f in same)


def _state(forms: Iterable[Form]) -> Iterator[Field]:
    """The fields that `forms` write, and read or add to."""
    kinds: dict[Field, set[type]] = {}
    for form in forms:
        for f, found in form.touching.items():
            kinds.setdefault(f, set()).update(found)
    for f, found in kinds.items():
        if not f.derivative and (Accumulate in found or {Load, Store} <= found):
            yield f


def _read_first(field: Field, calls: list[RecordedLaunch]) -> bool:
    """Whether `calls` write elements that they also read, or add to, before they have stored to them."""
    read: list[Box] = []
    stored: list[Box] = []
    written: list[Box] = []
    for c in calls:
        stores = [box for f, box in c.form.stores.of(c.args) if f is field]
        writes = [box for f, box in c.form.writes.of(c.args) if f is field]
        adds = writes if Accumulate in c.form.touching.get(field, ()) else []
        for box in (*(box for f, box in c.form.loads.of(c.args) if f is field), *adds):
            read += outside([box], stored)
        for box in stores:
            _include(stored, box)
        for box in writes:
            _include(written, box)
        if max(map(len, (read, stored, written))) > _MOST_BOXES:
            return True
        if any(meet(r, w) is not None for r in read for w in written):
            return True
    return False


def _include(boxes: list[Box], new: Box) -> None:
    whole = joined(boxes[-1], new) if boxes else None
    if whole is None:
        boxes.append(new)
    else:
        boxes[-1] = whole


def _diagnostic(field: Field, span: Span | None) -> Diagnostic:
    left = f"the value that an earlier one left in {field.quoted}"
    message = f"this tape adds to {left}, and its loss depends on the sum"
    zero = f"{field.name}[None] = 0" if not field.full_shape else f"{field.name}.fill(0)"
    advice = f"set it to 0 first: `{zero}`, or in a kernel; a tape resets only its loss"
    return Diagnostic("leftover", message, span, "added to here", help=advice)
