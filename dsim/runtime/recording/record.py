"""The record of a tape: its calls, its saved values, and its state after the block.

The backward pass and all inspection work with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

import numpy as np

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Context
from dsim.runtime.launching.forms import AdjointForm
from dsim.runtime.recording.declared_reads import WriteLog
from dsim.runtime.recording.profile import Profile
from dsim.runtime.saving.checkpoint_store import CheckpointStore
from dsim.runtime.saving.entries import Custom, RecordedLaunch
from dsim.runtime.saving.snapshots import SnapshotStore
from dsim.runtime.saving.steps import Steps

Entry = RecordedLaunch | Custom | Steps
_ADJOINT = attrgetter("adjoint")


class TapeRecord(Context):
    """A context that has recorded calls.

    Attributes
    ----------
    outputs : tuple of Field
        The fields that they compute.
    clears : bool
        Whether all gradients are set to 0 on entry.
    entries : list of Entry
        The calls, in order.
    functions : list of Custom
        Those of functions with gradients that a user gives, and of solutions, also in loops with checkpoints.
    snapshots : SnapshotStore
        The saved values.
    read : frozenset of Field
        Those that were read into Python, with a warning.
    inner_results : frozenset of Field
        Gradients that a tape inside this one left.
    left : sequence of (Field, Field)
        Gradients that the block itself wrote, and copies of them.
    ended : int or None
        The end of the block, on the write clock.
    swept : int
        The end of the backward pass with which the block ended, on the same clock, if tapes were inside it.
    goes_back : object or None
        Who makes it go backwards, at present.
    lost : frozenset of Field
        Fields restored since to values from before calls of the block.
    profiled : Profile or None
        The measurements of the calls.
    log : WriteLog or None
        The launches since the first call whose backward pass names what it reads.
    step_logs : tuple of WriteLog
        Of each loop with checkpoints, those of the steps that are recorded.
    loops : tuple of Steps
        The entries that are loops with checkpoints.
    gathers : bool
        Whether one of them is made of calls, because the budget of the tape was nearly spent.
    spare : dict of Field to ndarray
        Memory of gradients in which sweeps with a large result work, or put others aside.
    starts : sequence of int
        Where calls begin among the entries, once somebody asked when the block had ended.
    result : ndarray or None
        The bytes of the last large result, which serve again when the user has let it go.
    """

    # Defaults stand in the class: Python makes an object with more than 30 attributes of its own slowly.
    read: frozenset[Field] = frozenset()
    inner_results: frozenset[Field] = frozenset()
    left: Sequence[tuple[Field, Field]] = ()
    ended: int | None = None
    swept: int = 0
    goes_back: object | None = None
    result: np.ndarray | None = None
    lost: frozenset[Field] = frozenset()
    profiled: Profile | None = None
    log: WriteLog | None = None
    step_logs: tuple[WriteLog, ...] = ()
    starts: Sequence[int] = ()
    loops: tuple[Steps, ...] = ()
    gathers: bool = False
    _distinct: tuple[AdjointForm, ...] | None = None  # adjoints, when the block has ended

    def __init__(self, outputs: tuple[Field, ...], clears: bool) -> None:
        super().__init__()
        self.outputs = outputs
        self.clears = clears
        self.entries: list[Entry] = []
        self.functions: list[Custom] = []
        self.snapshots = SnapshotStore(self)
        self.spare: dict[Field, np.ndarray] = {}

    @property
    def loss(self) -> Field:
        """The output of a tape, which has one."""
        return self.outputs[0]

    @property
    def saved_bytes(self) -> int:
        """How many bytes of overwritten values were saved, at most at one time."""
        return self.snapshots.bytes + sum(loop.store.most for loop in self.loops)

    def held_beside(self, store: CheckpointStore) -> Callable[[], int]:
        """How many bytes of saved values others than `store` hold."""
        tape = weakref.proxy(self)
        return lambda: tape.snapshots.bytes + sum(s.store.bytes for s in tape.loops if s.store is not store)

    def adjoints(self, first: int = 0, end: int | None = None) -> Iterator[AdjointForm]:
        """The adjoints of all calls, or of those from one entry to before another."""
        for entry in self.entries[first:end]:
            if isinstance(entry, RecordedLaunch):
                if entry.adjoint is not None:
                    yield entry.adjoint
            elif isinstance(entry, Steps):
                yield from entry.log.adjoints
            else:
                yield from (c.adjoint for c in entry.inner if c.adjoint is not None)

    def rerun_gradients(self) -> frozenset[Field]:
        """The gradients that calls touch which run again in the backward pass: no place for its adjoints."""
        return frozenset([f for loop in self.loops for f in loop.fields() if f.derivative])

    def distinct_adjoints(self) -> tuple[AdjointForm, ...]:
        """The adjoints of all calls, each once, in the order of their first calls."""
        if self.functions or self.loops:
            return tuple(dict.fromkeys(self.adjoints()))
        if self._distinct is None or self.ended is None:
            found = dict.fromkeys(map(_ADJOINT, self.entries))  # of launches alone, of which there are many
            found.pop(None, None)
            self._distinct = tuple(found)
        return self._distinct

    def tell_outer(self, fields: Iterable[Field]) -> None:
        """Lets the tapes around know that the gradients of `fields` are this one's result."""
        context = self.outer
        while context is not None:
            if isinstance(context, TapeRecord):
                context.inner_results |= {f.companion((*f.derivative, "bar")) for f in fields}
            context = context.outer
