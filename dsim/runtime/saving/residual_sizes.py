"""How many bytes the adjoint of a step needs beside the state: an estimate from the launches of steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.interval_sets import Box, meet, outside
from dsim.runtime.saving.snapshots import size_of
from dsim.runtime.saving.step_log import Launched

Boxes = dict[Field, list[Box]]


def residual_bytes(steps: Iterable[Sequence[Launched]]) -> int:
    """About how many bytes one of these steps saves at most, when all are recorded in a row."""
    launches = list(steps)
    written: Boxes = {}
    for plan, args in dict.fromkeys(launch for step in launches for launch in step):
        for field, box in plan.form.writes.of(args):
            boxes = written.setdefault(field, [])
            boxes += outside([box], boxes)
    return max((_saved_by(step, written) for step in launches), default=0)


def _saved_by(step: Iterable[Launched], written: Boxes) -> int:
    """What launches of the step overwrite of the values that adjoints need, and what later steps do."""
    total = 0
    needed: Boxes = {}
    for plan, args in step:
        own: Mapping[Field, Sequence[Box]] = {} if plan.adjoint is None else plan.adjoint.own.replaced(args)
        for field, boxes in own.items():
            total += sum(size_of(field, box) for box in boxes)
            needed[field] = outside(needed.get(field, ()), boxes)
        for field, box in plan.form.writes.of(args):
            total += _taken(needed, field, box)
        if plan.adjoint is not None and plan.adjoint.needed:
            for field, box in plan.adjoint.reads.of(args):
                known = needed.setdefault(field, [])
                known += outside([box], [*own.get(field, ()), *known])
    return total + sum(_taken(needed, field, box) for field, boxes in written.items() for box in boxes)


def _taken(needed: Boxes, field: Field, box: Box) -> int:
    """The size of what is needed of a region, which is not needed any more."""
    known = needed.get(field)
    if not known:
        return 0
    size = sum(size_of(field, shared) for n in known if (shared := meet(n, box)) is not None)
    needed[field] = outside(known, [box])
    return size
