"""The record of a tape: its calls, its saved values, and its state after the block.

The backward pass and all inspection work with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Context
from dsim.runtime.recording.entries import Entry
from dsim.runtime.recording.profile import Profile
from dsim.runtime.recording.snapshots import SnapshotStore


class TapeRecord(Context):
    """A context that has recorded calls.

    Attributes
    ----------
    loss : Field
        The field that they compute.
    clears : bool
        Whether all gradients are set to 0 on entry.
    entries : list of Entry
        The calls, in order.
    snapshots : SnapshotStore
        The saved values.
    read : set of Field
        Those that were read into Python, with a warning.
    inner_results : set of Field
        Gradients that a tape inside this one left.
    left : sequence of (Field, Field)
        Gradients that the block itself wrote, and copies of them.
    ended : int or None
        The end of the block, on the write clock.
    lost : set of Field
        Fields restored since to values from before calls of the block.
    profiled : Profile or None
        The measurements of the calls.
    """

    def __init__(self, loss: Field, clears: bool) -> None:
        super().__init__()
        self.loss = loss
        self.clears = clears
        self.entries: list[Entry] = []
        self.snapshots = SnapshotStore(self)
        self.read: set[Field] = set()
        self.inner_results: set[Field] = set()
        self.left: Sequence[tuple[Field, Field]] = ()
        self.ended: int | None = None
        self.lost: set[Field] = set()
        self.profiled: Profile | None = None

    @property
    def saved_bytes(self) -> int:
        """How many bytes of overwritten values were saved."""
        return self.snapshots.bytes

    def tell_outer(self, fields: Iterable[Field]) -> None:
        """Lets the tapes around know that the gradients of `fields` are this one's result."""
        context = self.outer
        while context is not None:
            if isinstance(context, TapeRecord):
                context.inner_results.update(f.companion((*f.derivative, "bar")) for f in fields)
            context = context.outer
