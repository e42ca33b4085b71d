"""What a residual reads before it writes to it: on that a solution depends, whatever its function computed.

The text of kernels says it where they write to whole fields, outside of branches. Elsewhere the residual is
computed again with other numbers in a field: NaN, which arithmetic hands on, and noise, which selections do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dsim.analysis.must_writes import Box, stored_boxes
from dsim.runtime.checking.replays import Recorder, undone
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import whole
from dsim.runtime.launching.contexts import Args, System
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.interval_sets import outside
from dsim.runtime.operations.array_forms import FormSequence

Event = tuple[Form, Args | None] | System  # without arguments, where a part of a sequence makes its own
_SAME = 1e-6  # of the largest number: sums of several threads come in any order


def relevant(events: Iterable[Event], result: Iterable[Field]) -> list[Event]:
    """The events on which the fields of the result depend.

    Launches that only put back what was in fields do not belong to them.
    """
    needed, found = set(result), list[Event]()
    for event in reversed(list(itertools.chain.from_iterable(map(_parts, events)))):
        if isinstance(event, tuple):
            read, written = event[0].loads.fields, event[0].written
        else:
            read, written = event.wrt, event.unknown
        if not needed.isdisjoint(written):
            needed.update(read)
            found.append(event)
    return found[::-1]


def _parts(event: Event) -> list[Event]:
    """A launch as those that run one after the other: what one of them computes, later ones may read."""
    if isinstance(event, tuple) and isinstance(event[0], FormSequence):
        return [inner for part in event[0].instead(frozenset()) for inner in _parts((part, None))]
    return [event]


def read_first(events: Iterable[Event], unknown: Iterable[Field]) -> dict[Field, bool]:
    """The fields of floats of which elements are read that no event before surely stores to.

    Each with whether one writes to it at all.
    """
    found: dict[Field, bool] = {}
    stored: dict[Field, list[Box]] = {f: [whole(f)] for f in unknown}
    for event in events:
        for f, box in _loads(event):
            if f.dtype.is_float and outside([box], stored.get(f, ())):
                found.setdefault(f, f in stored)
        if isinstance(event, tuple):
            form = event[0]
            written = set(form.written)
            for key, f in form.floats:
                if f in written:
                    # of a gradient, which dsim sets to 0 where it is not, all counts as stored to
                    boxes = [whole(f)] if f.derivative else stored_boxes(form.kernel, key)
                    stored.setdefault(f, []).extend(boxes)
                    found.update({f: True} if f in found else {})
        else:
            stored.update({f: [whole(f)] for f in event.unknown})
    return found


def _loads(event: Event) -> Sequence[tuple[Field, Any]]:
    if not isinstance(event, tuple):
        return [(f, whole(f)) for f in event.wrt]
    form, args = event
    if type(form) is Form and args is not None:
        return form.loads.of(args)
    return [(f, whole(f)) for f in form.loads.fields]


def depended_on(system: Any, fields: Sequence[Field]) -> list[Field]:
    """Those of `fields` on whose numbers before it the residual depends, as it is at the solution."""
    probe = Recorder()
    with undone(probe, all_derivatives=True), probe:
        expected = _computed(system, probe)
        return [
            f for f in fields if any(_differs(expected, _computed(system, probe, f, n)) for n in _numbers(f))
        ]


def _numbers(field: Field) -> list[Any]:
    shape = field.full_shape
    return [np.nan, np.random.default_rng(len(shape)).normal(scale=1e3, size=shape)]


def _computed(
    system: Any, probe: Recorder, field: Field | None = None, numbers: Any = None
) -> list[np.ndarray]:
    """The residual from all fields as they were, but for one that has other numbers."""
    for f, before in probe.entry.items():
        f.require_memory()[...] = before
    if field is not None:
        field.require_memory()[...] = numbers
    system.compute()
    return [f.require_memory().copy() for f in system.result]


def _differs(expected: list[np.ndarray], found: list[np.ndarray]) -> bool:
    return not all(
        np.allclose(b, a, rtol=0, atol=_SAME * np.abs(np.nan_to_num(a)).max(initial=0), equal_nan=True)
        for a, b in zip(expected, found, strict=True)
    )
