"""Finds the first NaN or infinity of a tape: checks after every call, and in the backward pass.

A non-finite number from before the tape is ignored, until a call computes another one
from it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from dsim.diagnostics import Diagnostic, Label, NonFiniteError, Span
from dsim.diagnostics.places import caller
from dsim.ir.nodes import Statement
from dsim.runtime.fields.fields import Field
from dsim.runtime.inspection import probed_reruns
from dsim.runtime.inspection.calls import Calls
from dsim.runtime.launching.access_regions import whole
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.launching.interval_sets import Box, number
from dsim.runtime.launching.probe_buffers import Born
from dsim.runtime.recording.record import Entry, TapeRecord
from dsim.runtime.saving.entries import RecordedLaunch
from dsim.runtime.sweeping.sweep_plan import SweepPlan

_FORWARD = "look for a division by 0, a `log` or `sqrt` outside its domain, or too large a step"
_BACKWARD = "the slope is infinite there, or 0 times infinity: avoid the point, as in `sqrt(x + 1e-12)`"


@dataclass(frozen=True, slots=True)
class FirstNonFinite:
    """The first number that is not finite.

    Attributes
    ----------
    call : int or None
        The number of the call that computed it; None for a launch that was not recorded.
    kernel : str
        The kernel's name.
    field : str
        The name of the field that holds it, of a gradient that of the gradient.
    element : str
        The element, as a user writes it.
    value : float
        The number.
    span : Span or None
        The statement that stored it, or whose adjoint did, if only one can have.
    """

    call: int | None
    kernel: str
    field: str
    element: str
    value: float
    span: Span | None


class Finder:
    """Raises an error at the first call of a tape that writes a non-finite number, in either direction.

    Raises
    ------
    NonFiniteError
        From `after` and `leaving`.
    """

    looks_inside = True

    def __init__(self, record: TapeRecord) -> None:
        self._record: TapeRecord = weakref.proxy(record)  # which owns this one
        self.found: FirstNonFinite | None = None
        self._known: set[Field] = set()
        self._before: set[Field] = set()  # fields that had such numbers before they were first touched
        self._source = ""
        self._start = probed_reruns.Before(())

    # -- forward

    def before(self, call: RecordedLaunch) -> None:
        """Before a launch: notes non-finite numbers that it reads."""
        for field in call.form.touching:
            if field not in self._known and field.dtype.is_float:
                self._known.add(field)
                if field.buffer is not None and not np.isfinite(field.buffer).all():
                    self._before.add(field)
        self._source = self._read(call) if self._before else ""
        if call.form.part is None or call.form.part[1] == 0:
            self._start = probed_reruns.of_launch(call)

    def _read(self, call: RecordedLaunch) -> str:
        """The first such number that the launch reads, as text."""
        for field, box in call.form.loads.of(call.args):
            at = _bad(field, box) if field in self._before else None
            if at is not None:
                value = field.require_memory()[at]
                return f"; it reads `{_named(field, at)}`, which was {value} already"
        return ""

    def after(self, call: RecordedLaunch) -> None:
        """It is over."""
        for field, box in call.form.writes.of(call.args):
            looked = field.dtype.is_float and not _between(field, call.form)
            at = _bad(field, box) if looked else None
            if at is not None and not self._from_python(call):
                self._raise_forward(call, field, at)

    def _from_python(self, call: RecordedLaunch) -> bool:
        """Whether Python wrote it on purpose, such as the start value of a minimum."""
        if call.form.from_python:
            self._before.update(call.form.written)
            self._known.update(call.form.written)
        return call.form.from_python

    def _raise_forward(self, call: RecordedLaunch, field: Field, at: tuple[int, ...]) -> None:
        entries = self._record.entries
        number = len(Calls(self._record)) - 1 if entries and entries[-1] is call else None
        found = list(call.form.writes.touching(call.args, field, _box(at)))
        what = _found(number, call.name, field, at, found)
        text = f"`{what.element}` becomes {what.value} in {_call(what)}{self._source}"
        made = (
            probed_reruns.forward(call, self._start) if self._record.outer is None else probed_reruns.Found()
        )
        first = made.first(what.span)
        if first is not None:
            here = f"not finite here, {probed_reruns.often(first.values, first.times)}"
            self._raise_at(what, text, first, here, "stored here", _FORWARD)
        labels = probed_reruns.told(made, 0, "not finite")
        self._raise(what, text, call.form, found, "stored here", _FORWARD, labels)

    # -- backward

    def entering(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """Before the backward pass of a call."""
        adjoint = _adjoint(entry, plan)
        if adjoint is not None:
            assert isinstance(entry, RecordedLaunch)
            self._start = probed_reruns.of_adjoint(entry, adjoint)

    def leaving(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """After it."""
        for field, bar, box in _written(entry, plan):
            at = _bad(bar, box)
            if at is not None:
                self._raise_backward(number, entry, plan, field, at)

    def _raise_backward(
        self, number: int, entry: Entry, plan: SweepPlan, field: Field, at: tuple[int, ...]
    ) -> None:
        found: list[Statement] = []
        made = probed_reruns.Found()
        adjoint = _adjoint(entry, plan)
        if isinstance(entry, RecordedLaunch):
            found += entry.form.loads.touching(entry.args, field, _box(at))
        if isinstance(entry, RecordedLaunch) and adjoint is not None and self._record.outer is None:
            made = probed_reruns.backward(entry, adjoint, self._start)
        call = Calls(self._record).holding(number)
        what = _found(call, entry.name, plan.bars[field], at, found)
        text = f"`{what.element}` becomes {what.value} in the backward pass of {_call(what)}"
        form = entry.form if isinstance(entry, RecordedLaunch) else None
        first = made.first(what.span)
        if first is not None:
            here = f"the slope is not finite here, {probed_reruns.often(first.derivatives, first.times)}"
            self._raise_at(what, text, first, here, "the gradient of this", _BACKWARD)
        labels = probed_reruns.told(made, 1, "the gradient of this is not finite")
        self._raise(what, text, form, found, "the gradient of this", _BACKWARD, labels)

    def _raise_at(
        self, what: FirstNonFinite, text: str, first: Born, here: str, ends: str, advice: str
    ) -> NoReturn:
        """Raises the error at the primitive that computed the number."""
        self.found = what
        labels = [Label(call, "called here") for call in reversed(first.slot.calls)]
        if what.span is not None and not probed_reruns.same_line(what.span, first.slot.span):
            labels.append(Label(what.span, ends))
        span = first.slot.span
        raise NonFiniteError(Diagnostic("not-finite", text, span, here, tuple(labels), advice))

    def _raise(
        self,
        what: FirstNonFinite,
        text: str,
        form: Form | None,
        found: Sequence[Statement],
        here: str,
        advice: str,
        lines: tuple[Label, ...],
    ) -> None:
        self.found = what
        if what.span is not None:
            labels = tuple(b for b in lines if b.span.line != what.span.line)
            raise NonFiniteError(Diagnostic("not-finite", text, what.span, here, labels, advice))
        start = None if form is None or form.from_python else form.kernel.origin.span
        spans = dict.fromkeys(s.origin.span for s in found if s.origin.span is not None)
        labels = (*(Label(span, here) for span in spans), *lines)
        where = start or caller()
        raise NonFiniteError(Diagnostic("not-finite", text, where, "one of its statements", labels, advice))


def _adjoint(entry: Entry, plan: SweepPlan) -> AdjointForm | None:
    """The adjoint that a sweep runs for `entry`."""
    adjoint = entry.adjoint if isinstance(entry, RecordedLaunch) else None
    if adjoint is None or plan.label == adjoint.label:
        return adjoint
    return adjoint.primal.adjoint(adjoint.active, plan.label, adjoint.entry)


def _written(entry: Entry, plan: SweepPlan) -> Iterator[tuple[Field, Field, Box]]:
    """The gradients that the backward pass of `entry` writes: of which field, and which region."""
    adjoint = _adjoint(entry, plan)
    if adjoint is not None:
        assert isinstance(entry, RecordedLaunch)
        sources = {bar: f for f, bar in plan.bars.items() if not _between(f, entry.form)}
        for bar, box in adjoint.form.writes.of(entry.args):
            if bar in sources:
                yield sources[bar], bar, box
    elif not isinstance(entry, RecordedLaunch):
        for f in dict.fromkeys(entry.fields()):
            if f in plan.bars:
                yield f, plan.bars[f], whole(f)


def _found(
    call: int | None, kernel: str, field: Field, at: tuple[int, ...], found: Iterable[Statement]
) -> FirstNonFinite:
    spans = {s.origin.span for s in found}
    value = float(field.require_memory()[at])
    span = spans.pop() if len(spans) == 1 else None
    return FirstNonFinite(call, kernel, field.name, _named(field, at), value, span)


def _call(what: FirstNonFinite) -> str:
    return f"`{what.kernel}`" if what.call is None else f"`{what.kernel}`, call {what.call:,} of the tape"


def _bad(field: Field, box: Box) -> tuple[int, ...] | None:
    """The index of the first non-finite number in `box` of a field."""
    values = field.require_memory()[tuple(slice(low, high) for low, high in box)]
    good = np.isfinite(values)
    if good.all():
        return None
    first = np.unravel_index(int(np.argmin(good)), good.shape)
    return tuple(int(i) + low for i, (low, _) in zip(first, box, strict=True))


def _box(at: tuple[int, ...]) -> Box:
    return tuple((i, i + 1) for i in at)


def _named(field: Field, at: tuple[int, ...]) -> str:
    return number(field.name, at, len(field.entry_shape))


def _between(field: Field, form: Form) -> bool:
    """Whether the field only passes numbers from one part of a kernel to the next."""
    return form.part is not None and field.root not in form.part[0].fields.values()
