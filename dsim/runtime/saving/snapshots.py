"""Snapshots of regions that a tape takes before they are overwritten, and restores on the way back.

Without a context around the tape, a snapshot is a NumPy copy of just the region. Inside one, taking and
restoring it are launches like any other, so that an outer tape or forward mode goes through them.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np

from dsim.diagnostics import Span
from dsim.records import record
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.whole_memory import copied, put
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import Context
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.interval_sets import Box, hull
from dsim.runtime.saving.values_on_disk import ValuesOnDisk
from dsim.runtime.state import turns

# Slots of the first block of a field; each further one has twice as many. Large fields have fewer: transforms
# copy whole blocks, also the slots that were never used.
_SLOTS = 64
_FIRST = 1 << 22  # bytes that the first block takes at most, unless one slot takes more


@dataclass(eq=False, slots=True)
class Overwriter:
    """The writer: a launch, or a line of Python."""

    form: Form
    args: tuple[Any, ...]
    line: Span | None


@dataclass(eq=False, slots=True)
class SavedRegion:
    """A snapshot of a region, taken before it was overwritten.

    Attributes
    ----------
    box : Box
        The region of `field`.
    values : ndarray or (Field, int)
        The values, or the block of slots and the number of the slot that hold them.
    writer : Overwriter
        What overwrote them.
    readers : sequence of calls
        Recorded calls, the adjoint of one of which reads them.
    """

    field: Field
    box: Box
    values: Any
    writer: Overwriter
    readers: Sequence[Any]

    @property
    def bytes(self) -> int:
        """The size of the values."""
        return size_of(self.field, self.box)


def size_of(field: Field, box: Box) -> int:
    """The size of a region in bytes."""
    return math.prod([high - low for low, high in box], start=field.dtype.numpy.itemsize)


class SnapshotStore:
    """The saved values of one tape.

    Parameters
    ----------
    context : Context
        The tape. It owns the store, which refers to it weakly: without the tape all its snapshots
        are freed at once.
    """

    def __init__(self, context: Context) -> None:
        self._context: Context = weakref.proxy(context)
        self._blocks: dict[Field, list[_Block]] = {}
        self._spares: dict[Field, list[_Block]] = {}  # where they came from
        self._idle: dict[Field, list[tuple[Field, int]]] = {}
        self.all: list[SavedRegion] = []
        self.bytes = 0

    @property
    def inside(self) -> bool:
        """Whether another context is around the tape, which differentiates what is saved."""
        return self._context.outer is not None

    def save(self, field: Field, box: Box, writer: Overwriter, readers: Sequence[Any]) -> SavedRegion:
        """Takes a snapshot of a region that is about to be overwritten."""
        saved = SavedRegion(field, box, self.take(field, box), writer, readers)
        self.all.append(saved)
        self.bytes += saved.bytes
        return saved

    def restore(self, field: Field, box: Box, values: Any) -> None:
        """Restores the region. A gradient or tangent may have been cleared since: restoring is a write."""
        if isinstance(values, ValuesOnDisk):
            values = values.read()
        if isinstance(values, np.ndarray):
            put(field.require_memory(), _slices(box), values)
        else:
            block, slot = values
            self._context.pass_on(host_kernels.form(host_kernels.Unstow, field, block), _numbers(slot, box))
        if field.derivative:
            field.touched = turns.current()

    def final(self) -> list[tuple[Field, Box, Any]]:
        """The present values of all saved regions, to be restored at the end."""
        around: dict[Field, Box] = {}
        for s in self.all:
            known = around.get(s.field)
            around[s.field] = s.box if known is None else hull(known, s.box)
        return [(field, box, self.take(field, box)) for field, box in around.items()]

    def take(self, field: Field, box: Box) -> Any:
        """The present values of a region, which `restore` takes."""
        if not self.inside:
            return copied(field.require_memory()[_slices(box)])
        idle = self._idle.get(field)
        block, slot = idle.pop() if idle else self._block(field).take()
        self._context.snapshot(host_kernels.form(host_kernels.Stow, block, field), _numbers(slot, box))
        return block, slot

    def reuse(self, field: Field, slot: tuple[Field, int]) -> None:
        """Lets other values of `field` take a slot."""
        self._idle.setdefault(field, []).append(slot)

    def _block(self, field: Field) -> _Block:
        """A block with a free slot; those of earlier tapes come first, with what was compiled for them."""
        blocks = self._blocks.setdefault(field, [])
        if not blocks or blocks[-1].full:
            spare = self._spares[field] = self._spare(field)
            blocks.append(spare.pop() if spare else _Block(field, _first_slots(field) << len(blocks)))
        return blocks[-1]

    def _spare(self, field: Field) -> list[_Block]:
        """The free blocks: everyone's, or those of a loop whose steps run again and fill them again."""
        outer = self._context.outer
        of_loop = None if outer is None else outer.blocks_of_loop
        if of_loop is None:
            return field.operations.setdefault("spare blocks", [])
        return of_loop.setdefault(field, [])

    def release(self) -> None:
        """Releases the blocks: nothing will be restored any more."""
        if not self._blocks:
            return
        for field, blocks in self._blocks.items():
            for block in blocks:
                block.clear()
            self._spares[field] += reversed(blocks)
        self._blocks.clear()
        self._spares.clear()
        self._idle.clear()


class SavedValues(Field):
    """The field of a block of slots."""


class _Block:
    """Slots for regions of one field, as a field with one more axis: what is not used takes no memory."""

    def __init__(self, field: Field, slots: int) -> None:
        self.field = SavedValues(field.dtype, field.entry_shape, f"saved_{field.root.given_name or 'field'}")
        self.field.allocate((slots, *field.shape))
        self._slots = slots
        self._next = 0

    @property
    def full(self) -> bool:
        """Whether every slot is taken."""
        return self._next == self._slots

    def take(self) -> tuple[Field, int]:
        """The field, and the number of a free slot."""
        self._next += 1
        return self.field, self._next - 1

    def clear(self) -> None:
        """Makes every slot free."""
        self._next = 0


def _first_slots(field: Field) -> int:
    return max(1, min(_SLOTS, _FIRST // max(field.require_memory().nbytes, 1)))


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(starmap(slice, box))


def _numbers(slot: int, box: Box) -> tuple[int, ...]:
    return (slot, *(n for axis in box for n in axis))


@record
class Row:
    """Values saved of one field, by the same line for the same reader."""

    field: str
    bytes: int
    times: int
    writer: str
    reader: str


class Report(Sequence[Row]):
    """What a tape saved, by which line and for which reader; ``print`` shows it as a table."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    def __getitem__(self, at: Any) -> Any:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @property
    def bytes(self) -> int:
        """All of them together."""
        return sum(r.bytes for r in self._rows)

    def __repr__(self) -> str:
        if not self._rows:
            return "nothing was saved: no value that a gradient needs is overwritten"
        lines = [("bytes", "times", "field", "overwritten by", "read by")]
        lines += [(f"{r.bytes:,}", str(r.times), r.field, r.writer, r.reader) for r in self._rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        right = (True, True, False, False, False)
        return "\n".join(
            "  ".join(
                t.rjust(w) if r else t.ljust(w) for t, w, r in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        )
