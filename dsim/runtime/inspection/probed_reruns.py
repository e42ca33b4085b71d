"""What in a kernel makes numbers that are not finite: a launch, or its adjoint, again with watches.

It runs on the values from before the launch, and restores everything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dsim.diagnostics import Label, Span
from dsim.runtime.fields.fields import Field
from dsim.runtime.inspection.calls import whole
from dsim.runtime.launching.forms import AdjointForm
from dsim.runtime.launching.interval_sets import Box
from dsim.runtime.launching.probe_buffers import Born, Looking, WatchedLine
from dsim.runtime.saving.entries import RecordedLaunch


class Before:
    """Regions of fields with their present values."""

    def __init__(self, regions: Iterable[tuple[Field, Box]]) -> None:
        self._kept: list[tuple[Field, tuple[slice, ...], np.ndarray]] = []
        for field, box in regions:
            at = tuple(slice(low, high) for low, high in box)
            memory = field.scratch(field.derivative).require_memory()
            self._kept.append((field, at, memory[at].copy()))

    def put_back(self) -> Before:
        """Restores the regions; returns the values that they had until now."""
        now = Before(())
        now._kept = [(f, at, f.require_memory()[at].copy()) for f, at, _ in self._kept]
        for field, at, values in self._kept:
            field.require_memory()[at] = values
        return now


def of_launch(call: RecordedLaunch) -> Before:
    """The values that the launch of `call`, which may be its first part, is about to change."""
    return Before(whole(call.form).writes.of(call.args))


def of_adjoint(call: RecordedLaunch, adjoint: AdjointForm) -> Before:
    """The values that the backward pass of `call` is about to change: gradients, and restored values."""
    saved = ((s.field, s.box) for s in (*call.own, *call.before))
    return Before((*adjoint.form.writes.of(call.args), *saved))


@dataclass(frozen=True, slots=True)
class Found:
    """The origins of non-finite numbers, in order.

    Attributes
    ----------
    lines : list of WatchedLine
        Lines that assigned such numbers, or whose results have such gradients.
    born : list of Born
        Primitives that made them of finite ones.
    """

    lines: list[WatchedLine] = dataclasses.field(default_factory=list)
    born: list[Born] = dataclasses.field(default_factory=list)

    def first(self, near: Span | None) -> Born | None:
        """The first of these primitives, preferably in the line of `near`."""
        there = [b for b in self.born if near is not None and same_line(b.slot.span, near)]
        return next(iter([*there, *self.born]), None)


def same_line(a: Span, b: Span) -> bool:
    """Whether both places begin in one line."""
    return (a.source.file, a.line) == (b.source.file, b.line)


def forward(call: RecordedLaunch, before: Before) -> Found:
    """The origins of non-finite numbers in a launch."""
    looking = Looking(births=True)
    form = whole(call.form).watched(looking)
    if form is None:
        return Found()
    now = before.put_back()
    try:
        form.run(call.args)
    finally:
        now.put_back()
    lines = [w for w in looking.results() if w.nonfinite[0]]
    return Found(lines, [b for b in looking.born() if b.values])


def backward(call: RecordedLaunch, adjoint: AdjointForm, before: Before) -> Found:
    """The origins of non-finite numbers in the adjoint of a launch, last line first."""
    looking = Looking(births=True)
    form = None if call.form.part else call.form.watched(looking)
    if form is None:
        return Found()
    now = before.put_back()
    try:
        for s in call.own:
            s.field.require_memory()[tuple(slice(*axis) for axis in s.box)] = s.values
        form.adjoint(adjoint.active, adjoint.label, adjoint.entry).form.run(call.args)
    finally:
        now.put_back()
    lines = [w for w in reversed(looking.results()) if w.nonfinite[1]]
    return Found(lines, [b for b in reversed(looking.born()) if b.derivatives])


def told(found: Found, which: int, text: str) -> tuple[Label, ...]:
    """A label at the first line that says how many of its numbers are not finite."""
    if not found.lines:
        return ()
    first = found.lines[0]
    every = first.times * max(1, first.slot.size)
    return (Label(first.slot.span, f"{text}, {often(first.nonfinite[which], every)}"),)


def often(bad: int, every: int) -> str:
    """How often something was not finite, of how many times, which an adjoint does not count."""
    return f"{bad:,} of {every:,}" if every else "once" if bad == 1 else f"{bad:,} times"
