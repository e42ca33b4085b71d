"""Regions of fields as boxes, and the boxes that a tape's adjoints will still read.

A box has, for each axis, a first index and an exclusive end. A tape tests each
launch: does it write where an earlier call's adjoint reads? The test takes constant time however long the
tape is: one hull per field, and behind it a few boxes, because boxes that join exactly are joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dsim.analysis.regions import Watch
from dsim.runtime.fields.fields import Field

Box = tuple[tuple[int, int], ...]


def meet(a: Box, b: Box) -> Box | None:
    """The box of what two boxes share, or None."""
    shared = tuple((max(p, r), min(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))
    return shared if all(low < high for low, high in shared) else None


def hull(a: Box, b: Box) -> Box:
    """The smallest box around two boxes."""
    return tuple((min(p, r), max(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))


def joined(a: Box, b: Box) -> Box | None:
    """One box that is exactly the two together, or None."""
    different = [axis for axis, (p, r) in enumerate(zip(a, b, strict=True)) if p != r]
    if not different:
        return a
    around = hull(a, b)
    if around in (a, b):
        return around
    if len(different) > 1:
        return None
    (low, high), (first, last) = a[different[0]], b[different[0]]
    return around if first <= high and low <= last else None


def minus(a: Box, b: Box) -> list[Box]:
    """The difference of `a` and `b`, as disjoint boxes."""
    shared = meet(a, b)
    if shared is None:
        return [a]
    left: list[Box] = []
    for axis, ((low, high), (first, last)) in enumerate(zip(a, shared, strict=True)):
        before, after = shared[:axis], a[axis + 1 :]
        left += [(*before, part, *after) for part in ((low, first), (last, high)) if part[0] < part[1]]
    return left


def outside(boxes: Iterable[Box], taken: Iterable[Box]) -> list[Box]:
    """The part of `boxes` outside all of `taken`, as boxes that are disjoint if `boxes` are."""
    left = list(boxes)
    for t in taken:
        left = [part for box in left for part in minus(box, t)]
    return left


def distinct(boxes: Iterable[Box]) -> list[Box]:
    """Disjoint boxes with the same union as `boxes`."""
    found: list[Box] = []
    for box in boxes:
        found += outside([box], found)
    return found


@dataclass(slots=True)
class NeededRegion:
    """A region that some adjoint reads, and the recorded calls whose adjoints read it, the first ones."""

    box: Box
    calls: list[Any]


class Needs:
    """All regions that the adjoints of the calls recorded so far read.

    For each field the hull of its regions is there at once: a list that others may watch, and widen. The
    regions themselves are asked for only when something meets the hull.
    """

    def __init__(self) -> None:
        self._held: dict[Field, list[NeededRegion]] = {}
        self._hulls: dict[Field, Watch] = {}

    def hull(self, field: Field) -> Watch:
        """The hull of what is read of `field`: always the same list."""
        found = self._hulls.get(field)
        if found is None:
            found = self._hulls[field] = _nothing(len(field.full_shape))
        return found

    def add(self, field: Field, box: Box, call: Any) -> None:
        """Notes that the adjoint of `call` reads `box`, which is not empty, of `field`."""
        _widen(self.hull(field), box)
        known = self._held.setdefault(field, [])
        for i in range(len(known) - 1, -1, -1):
            whole = joined(known[i].box, box)
            if whole is not None:
                if whole != known[i].box:
                    known[i].box = whole
                    known[i].calls.append(call)
                return
        known.append(NeededRegion(box, [call]))

    def hit(self, field: Field, box: Box) -> tuple[NeededRegion, Box] | None:
        """A region that is read and meets `box`, with what both share."""
        for held in self._held.get(field, ()):
            shared = meet(held.box, box)
            if shared is not None:
                return held, shared
        return None

    def take(self, field: Field, box: Box) -> list[tuple[NeededRegion, Box]]:
        """The regions that are read and meet `box`, with what they share; these parts are read no longer."""
        found: list[tuple[NeededRegion, Box]] = []
        kept: list[NeededRegion] = []
        for held in self._held.get(field, ()):
            shared = meet(held.box, box)
            if shared is None:
                kept.append(held)
            else:
                found.append((held, shared))
                kept += [NeededRegion(part, list(held.calls)) for part in minus(held.box, shared)]
        if found:
            self._held[field] = kept
            around = self.hull(field)
            around[:] = _nothing(len(field.full_shape))
            for held in kept:
                _widen(around, held.box)
        return found

    def clear(self) -> None:
        """Nothing is read any longer."""
        self._held.clear()
        for around in self._hulls.values():
            around[:] = _nothing(len(around) // 2)


def _nothing(axes: int) -> Watch:
    return [0, *(1 << 62, -1) * axes]


def _widen(around: Watch, box: Box) -> None:
    around[0] = 1
    for n, (low, high) in enumerate(box):
        around[2 * n + 1] = min(around[2 * n + 1], low)
        around[2 * n + 2] = max(around[2 * n + 2], high)


def element(name: str, box: Box, entry_axes: int) -> str:
    """The elements of `box` as a user writes them: ``x[3]``, ``x[0:4, 2]``, ``b[None]``."""
    axes = box[: len(box) - entry_axes] if entry_axes else box
    if not axes:
        return f"{name}[None]"
    return f"{name}[{', '.join(_range(a) for a in axes)}]"


def number(name: str, at: tuple[int, ...], entry_axes: int) -> str:
    """One number of a field's memory as a user writes it: ``x[3]``, of vectors ``v[3][0]``."""
    inner = at[len(at) - entry_axes :]
    part = f"[{', '.join(map(str, inner))}]" if inner else ""
    return element(name, tuple((i, i + 1) for i in at), entry_axes) + part


def _range(axis: tuple[int, int]) -> str:
    low, high = axis
    return str(low) if high == low + 1 else f"{low}:{high}"
