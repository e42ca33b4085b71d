"""Which lines of a kernel make numbers that are not finite: a launch, or its adjoint, again with watches.

It starts from what the launch started from, and leaves everything as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dsim.diagnostics import Label
from dsim.runtime.adjoints import AdjointForm
from dsim.runtime.calls import whole
from dsim.runtime.fields import Field
from dsim.runtime.keeper import Call
from dsim.runtime.overlaps import Box
from dsim.runtime.shown import Looking, Watched


class Before:
    """Regions of fields with the values that they have now."""

    def __init__(self, regions: Iterable[tuple[Field, Box]]) -> None:
        self._kept: list[tuple[Field, tuple[slice, ...], np.ndarray]] = []
        for field, box in regions:
            at = tuple(slice(low, high) for low, high in box)
            memory = field.scratch(field.derivative).require_memory()
            self._kept.append((field, at, memory[at].copy()))

    def put_back(self) -> Before:
        """Makes the regions what they were; gives what they have been until now."""
        now = Before(())
        now._kept = [(f, at, f.require_memory()[at].copy()) for f, at, _ in self._kept]
        for field, at, values in self._kept:
            field.require_memory()[at] = values
        return now


def of_launch(call: Call) -> Before:
    """What the launch of which `call` is the whole, or the first part, is about to change."""
    return Before(whole(call.form).writes.of(call.args))


def of_adjoint(call: Call, adjoint: AdjointForm) -> Before:
    """What is about to change when `call` goes backwards: gradients, and values that are put back."""
    saved = ((s.field, s.box) for s in (*call.own, *call.before))
    return Before((*adjoint.form.writes.of(call.args), *saved))


def forward(call: Call, before: Before) -> list[Watched]:
    """The lines of a launch that assigned numbers which are not finite, in the order of the text."""
    looking = Looking()
    form = whole(call.form).watched(looking)
    if form is None:
        return []
    now = before.put_back()
    try:
        form.run(call.args)
    finally:
        now.put_back()
    return [w for w in looking.results() if w.nonfinite[0]]


def backward(call: Call, adjoint: AdjointForm, before: Before) -> list[Watched]:
    """The lines of a launch whose results have gradients that are not finite, the last one first."""
    looking = Looking()
    form = None if call.form.part else call.form.watched(looking)
    if form is None:
        return []
    now = before.put_back()
    try:
        for s in call.own:
            s.field.require_memory()[tuple(slice(*axis) for axis in s.box)] = s.values
        form.adjoint(adjoint.active, adjoint.label, adjoint.entry).form.run(call.args)
    finally:
        now.put_back()
    return [w for w in reversed(looking.results()) if w.nonfinite[1]]


def told(lines: Sequence[Watched], which: int, text: str) -> tuple[Label, ...]:
    """A label at the first of these lines that says how many of its numbers are not finite."""
    if not lines:
        return ()
    first = lines[0]
    bad, every = first.nonfinite[which], first.times * max(1, first.slot.size)  # which an adjoint counts not
    often = f"{bad:,} of {every:,}" if every else "once" if bad == 1 else f"{bad:,} times"
    return (Label(first.slot.span, f"{text}, {often}"),)
