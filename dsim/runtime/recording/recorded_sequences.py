"""How a tape records a sequence of launches that it, or an earlier tape, has recorded before.

What a tape records of launches follows from the launches themselves, from which fields vary, and from what
adjoints of earlier calls read. The first time each launch is recorded as any other. If nothing was saved and
nobody was warned, the record is remembered: the next tape in which the same fields vary, and whose earlier
calls read nothing that the launches write, adds it as a whole, and machine code runs the launches.
"""

from __future__ import annotations

from threading import get_ident

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.launch_sequence import LaunchSequence
from dsim.runtime.launching.native_replay import NativeReplay
from dsim.runtime.launching.needs import Needs
from dsim.runtime.recording.claims import claim, clear_foreign
from dsim.runtime.recording.launch_recorder import LaunchRecorder
from dsim.runtime.saving import overwrite_messages
from dsim.runtime.saving.entries import RecordedLaunch
from dsim.runtime.state import interruption
from dsim.runtime.state.once import make_room, once

_REMEMBERED = 4  # choices of fields that vary


class SequenceRecorder(LaunchRecorder):
    """A record to which sequences of launches are added as a whole, when what to record is known."""

    def launch_all(self, sequence: LaunchSequence) -> None:
        """Records the launches of `sequence` and runs them."""
        if not self._alone or self._policy.needs(sequence.written):
            super().launch_all(sequence)
            return
        key = self._policy.saves, *map(self.varies, sequence.floats)
        known: _Remembered | None = sequence.remembered.get(key)
        if known is not None:
            self._add_known(known)
            return
        found = self._record_each(sequence)
        if found is not None:
            make_room(sequence.remembered, _REMEMBERED)
            sequence.remembered[key] = found

    @property
    def _alone(self) -> bool:
        """Whether launches are recorded one like the other, and nobody else hears of them."""
        return not (
            self.outer is not None
            or self._thread != get_ident()
            or self._custom is not None
            or self.open_loop is not None
            or self._observers
            or self._spared
            or self._hidden
            or self._output_reads
            or self._policy.budget is not None
            or interruption.is_polled()
        )

    def _record_each(self, sequence: LaunchSequence) -> _Remembered | None:
        """Records the launches one by one; gives what is to be remembered of that, if anything."""
        saved = len(self.snapshots.all)
        self._warned = False
        seen = _Calls()
        self.observe((seen,))
        try:
            super().launch_all(sequence)
        finally:
            self.observe(())
        return None if self._warned or len(self.snapshots.all) > saved else _Remembered(seen.all)

    def _add_known(self, known: _Remembered) -> None:
        for form in known.forms:
            if self.clears:
                clear_foreign(self, form.roots, "bar")
            for field, by in form.sums:
                if field not in self.outputs:
                    self._sums.setdefault(field, by)
        claim(self, known.roots, "bar")
        self._written |= known.written
        reached = [f for f in known.active if not self.varies(f)]
        if reached:
            self._active.update(reached)
            self._watched.clear()
        self._launches += known.count
        number = self._launches
        try:
            known.native.run()
        except BaseException:
            self._failed = True
            raise
        self.entries += known.entries
        self._policy.note_all(known.noted, known.hulls)
        if self._launches != number:
            self._failed = True
            raise overwrite_messages.interleaved(known.forms[-1])


class _Calls:
    """Collects the calls of a recorder, as its observer."""

    def __init__(self) -> None:
        self.all: list[RecordedLaunch] = []

    def before(self, call: RecordedLaunch) -> None:
        """Nothing: it may fail."""

    def after(self, call: RecordedLaunch) -> None:
        """It ran."""
        self.all.append(call)


class _Remembered:
    """What a tape records of a sequence, none of whose launches overwrites what adjoints read.

    Attributes
    ----------
    count : int
        How many launches there are.
    forms : tuple of Form
        What is launched, each once.
    entries : list of RecordedLaunch
        The calls of which there is an adjoint. Tapes share them.
    noted : list of RecordedLaunch
        Those of them whose adjoints read values.
    hulls : Needs
        The hulls of what these read.
    active : tuple of Field
        The fields that carry adjoints.
    roots : tuple of Field
        Their roots.
    written : frozenset of Field
        Those that are written.
    """

    def __init__(self, calls: list[RecordedLaunch]) -> None:
        self._calls = calls
        self.count = len(calls)
        self.forms = tuple(dict.fromkeys(c.form for c in calls))
        self.entries = [c for c in calls if c.adjoint is not None]
        adjoints = {c.adjoint: None for c in self.entries if c.adjoint is not None}
        self.active = tuple(dict.fromkeys(f for a in adjoints for f in a.fields))
        self.roots: tuple[Field, ...] = tuple({f.root for f in self.active})
        self.written = frozenset(f for a in adjoints for f in a.outputs)
        self.hulls = Needs()
        widen = {a: a.reads.widen(self.hulls) for a in adjoints if a.needed}
        self.noted = [c for c in self.entries if c.adjoint in widen]
        for c in self.noted:
            widen[c.adjoint](c.args)  # type: ignore[index]

    @once
    def native(self) -> NativeReplay:
        """Runs the launches as the tape does: adjoints may need more than their primals compute."""
        return NativeReplay([(_launched(c), c.args) for c in self._calls])


def _launched(call: RecordedLaunch) -> Form:
    return call.form if call.adjoint is None else call.adjoint.launched
