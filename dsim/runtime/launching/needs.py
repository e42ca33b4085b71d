"""The boxes that a tape's adjoints will still read.

A tape tests each launch: does it write where an earlier call's adjoint reads? The test takes constant time
however long the tape is: one hull per field, and behind it a few boxes, because boxes that join exactly are
joined. What becomes of a field's boxes when one more is read or overwritten depends on these boxes alone, and
is remembered: equal launches, and equal tapes, find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dsim.analysis.regions import Watch
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.interval_sets import Box, joined, meet, minus, outside

_REMEMBERED = 4096  # steps, of all tapes
_SHORT = 32  # the most boxes of a state with remembered steps: there are few of these


class NeededRegion(NamedTuple):
    """A region that some adjoint reads, and the recorded calls whose adjoints read it, the first ones."""

    box: Box
    calls: list[Any]


class Needs:
    """All regions that the adjoints of the calls recorded so far read.

    For each field the hull of its regions is there at once: a list that others may watch, and widen. The
    regions themselves are asked for only when something meets the hull.
    """

    def __init__(self) -> None:
        self._held: dict[Field, _Held] = {}

    def _of(self, field: Field) -> _Held:
        found = self._held.get(field)
        if found is None:
            found = self._held[field] = _Held(len(field.full_shape))
        return found

    def hull(self, field: Field) -> Watch:
        """The hull of what is read of `field`: always the same list."""
        return self._of(field).hull

    def add(self, field: Field, box: Box, call: Any) -> None:
        """Notes that the adjoint of `call` reads `box`, which is not empty, of `field`."""
        held = self._of(field)
        _widen(held.hull, box)
        grown, held.boxes = _STEPS.added(held.boxes, box)
        for at in grown:
            if at == len(held.calls):
                held.calls.append([call])
            elif held.calls[at][-1] is not call:
                held.calls[at].append(call)

    def hit(self, field: Field, box: Box) -> tuple[NeededRegion, Box] | None:
        """A region that is read and meets `box`, with what both share."""
        held = self._of(field)
        for known, calls in zip(held.boxes.all, held.calls, strict=True):
            shared = meet(known, box)
            if shared is not None:
                return NeededRegion(known, calls), shared
        return None

    def take(self, field: Field, box: Box) -> list[tuple[NeededRegion, Box]]:
        """The regions that are read and meet `box`, with what they share; these parts are read no longer."""
        held = self._of(field)
        taken = _STEPS.taken(held.boxes, box)
        if not taken.found:
            return []
        known, calls = held.boxes.all, held.calls
        found = [(NeededRegion(known[at], calls[at]), shared) for at, shared in taken.found]
        held.boxes = taken.after
        held.calls = [calls[at] for at in taken.origins]  # parts of one region share its list
        held.hull[:] = taken.hull
        return found

    def widen(self, others: Needs) -> None:
        """Makes the hulls hold those of `others`."""
        for field, held in others._held.items():
            around = self.hull(field)
            around[0] |= held.hull[0]
            for n in range(1, len(around), 2):
                around[n] = min(around[n], held.hull[n])
                around[n + 1] = max(around[n + 1], held.hull[n + 1])

    def clear(self) -> None:
        """Nothing is read any longer."""
        for held in self._held.values():
            held.boxes, held.calls = _EMPTY, []
            held.hull[:] = _nothing(len(held.hull) // 2)


class _Boxes:
    """Disjoint boxes of one field, in order. What steps are remembered for is this object."""

    __slots__ = ("all",)

    def __init__(self, boxes: tuple[Box, ...]) -> None:
        self.all = boxes


_EMPTY = _Boxes(())


class _Held:
    """What is read of one field: the boxes, for each of them calls, and a hull."""

    __slots__ = ("boxes", "calls", "hull")

    def __init__(self, axes: int) -> None:
        self.boxes = _EMPTY
        self.calls: list[list[Any]] = []
        self.hull = _nothing(axes)


class _Taken(NamedTuple):
    """What overwriting a box does to boxes.

    `found` has those that it meets, each as its place and what both share. Then there are the boxes `after`,
    each a part of that at its place in `origins`.
    """

    found: tuple[tuple[int, Box], ...]
    origins: tuple[int, ...]
    after: _Boxes
    hull: Watch


class _Steps:
    """What reading or overwriting one more box does to boxes, remembered."""

    def __init__(self) -> None:
        self._known: dict[tuple[Box, ...], _Boxes] = {}
        self._added: dict[tuple[_Boxes, Box], tuple[Sequence[int], _Boxes]] = {}
        self._taken: dict[tuple[_Boxes, Box], _Taken] = {}

    def added(self, boxes: _Boxes, box: Box) -> tuple[Sequence[int], _Boxes]:
        """The boxes that hold `box`, too, and the places of those that grow for it or are new."""
        key = boxes, box
        found = self._added.get(key)
        if found is None:
            grown, after = _with(boxes.all, box)
            found = grown, self._boxes(after) if grown else boxes
            if len(boxes.all) < _SHORT:
                self._make_room()
                self._added[key] = found
        return found

    def taken(self, boxes: _Boxes, box: Box) -> _Taken:
        """What overwriting `box` does."""
        key = boxes, box
        found = self._taken.get(key)
        if found is None:
            found = self._take(boxes, box)
            if len(boxes.all) < _SHORT:
                self._make_room()
                self._taken[key] = found
        return found

    def _take(self, boxes: _Boxes, box: Box) -> _Taken:
        found: list[tuple[int, Box]] = []
        left: list[tuple[int, Box]] = []
        for at, known in enumerate(boxes.all):
            shared = meet(known, box)
            if shared is None:
                left.append((at, known))
            else:
                found.append((at, shared))
                left += [(at, part) for part in minus(known, shared)]
        around = _nothing(len(box))
        for _, part in left:
            _widen(around, part)
        after = self._boxes(tuple([part for _, part in left])) if found else boxes
        return _Taken(tuple(found), tuple([at for at, _ in left]), after, around)

    def _boxes(self, boxes: tuple[Box, ...]) -> _Boxes:
        """The object for these boxes: the same again, if steps from it are remembered."""
        if not boxes:
            return _EMPTY
        return self._known.setdefault(boxes, _Boxes(boxes)) if len(boxes) < _SHORT else _Boxes(boxes)

    def _make_room(self) -> None:
        """Forgets all when there is too much; tapes that are open have their boxes and continue."""
        if len(self._added) + len(self._taken) >= _REMEMBERED:
            for table in (self._added, self._taken, self._known):
                table.clear()


_STEPS = _Steps()


def _with(boxes: Sequence[Box], box: Box) -> tuple[Sequence[int], tuple[Box, ...]]:
    """Which boxes grow, or are new, and all boxes then: what they hold already is not added once more."""
    grown: list[int] = []
    held = list(boxes)
    for part in outside([box], boxes):
        at, whole = _place(held, part)
        held[at : at + 1] = [whole]
        grown.append(at)
    return grown, tuple(held)


def _place(boxes: Sequence[Box], part: Box) -> tuple[int, Box]:
    """Which box grows to hold `part` exactly, and to what; with none, the next place."""
    for at in range(len(boxes) - 1, -1, -1):
        whole = joined(boxes[at], part)
        if whole is not None:
            return at, whole
    return len(boxes), part


def _nothing(axes: int) -> Watch:
    return [0, *(1 << 62, -1) * axes]


def _widen(around: Watch, box: Box) -> None:
    around[0] = 1
    n = 1
    for low, high in box:
        around[n] = min(around[n], low)
        around[n + 1] = max(around[n + 1], high)
        n += 2
