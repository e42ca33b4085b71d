"""Backward passes that repeat an earlier one, and then run as one call of machine code.

An optimisation differentiates the same program again and again: its tapes record the same launches. The
adjoints of these, and their order, follow from the launches alone as long as nothing was saved and no Python
runs in between. The second tape with the launches of an earlier one builds a table of the adjoints; it and
those after it run the table, where each adjoint costs some 20 ns beyond its work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from operator import is_not
from typing import Any, Protocol, cast

from dsim.backends.cpu.row_copies import RowCopies
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.launching.native_replay import NativeReplay
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.state import interruption
from dsim.runtime.state.once import make_room
from dsim.runtime.sweeping.adjoint_rows import Copies, RowLaunch
from dsim.runtime.sweeping.fused_rows import fused

Args = tuple[Any, ...]
SHORTEST = 8  # launches; below, a table costs more than it saves
_LENGTHS = range(SHORTEST, 50_001)  # above, the launches take megabytes
_REMEMBERED = 4  # tapes that end with the same kernel
_REPLAYS = 3  # of each: its backward pass, alone and with rows
_ASKED = 64  # choices of rows, whose requests are counted


class _Call(Protocol):
    """A recorded launch that has an adjoint."""

    adjoint: AdjointForm
    args: Args


Calls = Sequence[_Call]


def reacts(adjoint: AdjointForm, nonzero: set[Field]) -> bool:
    """Whether `adjoint` computes anything, given the fields whose adjoints may not be 0."""
    return bool(adjoint.watched) or not nonzero.isdisjoint(adjoint.outputs)


def labelled(adjoint: AdjointForm, label: str) -> AdjointForm:
    """`adjoint`, with the adjoints in companions of that label."""
    if label == adjoint.label:
        return adjoint
    return adjoint.primal.adjoint(adjoint.active, label, adjoint.entry)


def repeated(record: TapeRecord, label: str, copies: Copies | None = None) -> NativeReplay | None:
    """The whole backward pass of `record`, if a tape before it recorded the same; None the first time.

    The form of the last call remembers the launches, and goes with its kernel.

    Parameters
    ----------
    record : TapeRecord
        The tape.
    label : str
        What companions hold adjoints.
    copies : Copies, optional
        The rows that it fills on its way, and where it ends.
    """
    entries = record.entries
    plain = record.outer is None and not (record.functions or record.loops or record.snapshots.all)
    length = len(entries) - (0 if copies is None else copies.to)
    if not plain or length not in _LENGTHS or interruption.is_polled():
        return None
    calls = cast("Calls", entries)  # nothing was saved: each entry is a launch with an adjoint
    remembered = calls[-1].adjoint.remembered
    key = record.outputs, label, calls[0].adjoint, len(calls)
    known: _Sweep | None = remembered.get(key)
    if known is not None and known.repeats(calls):
        return known.replay(record.outputs, label, copies)
    remembered.pop(key, None)
    adjoints = {call.adjoint for call in calls}
    if any(isinstance(f, Mirror) for adjoint in adjoints for f in adjoint.primal.fields.values()):
        return None  # NumPy's arrays are others each time, and nothing may hold them
    make_room(remembered, _REMEMBERED)
    remembered[key] = _Sweep(calls)
    return None


class _Sweep:
    """The launches of a tape, and once a second tape has them the table of their adjoints."""

    def __init__(self, calls: Calls) -> None:
        self._calls = tuple(calls)
        self._zeros = list(_zeros(calls))
        self._replays: dict[Copies | None, NativeReplay] = {}
        self._asked: dict[int, int] = {}  # how often, by the hash of a choice of rows

    def repeats(self, calls: Calls) -> bool:
        """Whether these are the same launches, down to the signs of zeros, which compare as equal.

        Tapes share the calls of a known sequence of launches: only the others are compared.
        """
        others = compress(zip(self._calls, calls, strict=True), map(is_not, self._calls, calls))
        return all(a.adjoint is b.adjoint and a.args == b.args for a, b in others) and all(
            math.copysign(1.0, calls[n].args[k]) == sign for n, k, sign in self._zeros
        )

    def replay(self, outputs: Sequence[Field], label: str, copies: Copies | None) -> NativeReplay | None:
        """The adjoints of the launches, from the last one to the first, and copies in between.

        None where to build a table for these copies takes longer than to run without it.
        """
        found = self._replays.get(copies)
        if found is None and (copies is None or self._is_asked_again(copies)):
            make_room(self._replays, _REPLAYS)
            found = self._replays[copies] = self._replay(outputs, label, copies)
        return found

    def _replay(self, outputs: Sequence[Field], label: str, copies: Copies | None) -> NativeReplay:
        rows = {} if copies is None else copies.by_entry()
        launches = list(_adjoints(self._calls, outputs, label, rows, 0 if copies is None else copies.to))
        if copies is None:
            return NativeReplay(launches)
        if copies.past_caches:
            launches = fused(launches, copies.bar.require_memory())
        return NativeReplay([*launches, *rows[copies.to - 1]], copies.bars)

    def _is_asked_again(self, copies: Copies) -> bool:
        """Whether the second, fourth, eighth … time: many choices in turn take each other's place."""
        make_room(self._asked, _ASKED)
        key = hash(copies)
        count = self._asked[key] = self._asked.pop(key, 0) + 1
        return count > 1 and count.bit_count() == 1


def _zeros(calls: Calls) -> Iterator[tuple[int, int, float]]:
    """The numbers of the calls and arguments that are 0, with the signs."""
    for n, call in enumerate(calls):
        for k, value in enumerate(call.args):
            if value == 0:
                yield n, k, math.copysign(1.0, value)


def _adjoints(
    calls: Calls, outputs: Sequence[Field], label: str, rows: Mapping[int, Sequence[RowLaunch]], to: int
) -> Iterator[tuple[Form | RowCopies, Args]]:
    nonzero = set(outputs)
    forms: dict[
        AdjointForm, Form
    ] = {}  # what runs of those that compute anything: what is nonzero only grows
    for number in range(len(calls) - 1, to - 1, -1):
        yield from rows.get(number, ())
        adjoint, args = calls[number].adjoint, calls[number].args
        form = forms.get(adjoint)
        if form is None and reacts(adjoint, nonzero):
            made = labelled(adjoint, label)
            form = forms[adjoint] = made.form
            nonzero.update(made.targets)
        if form is not None:
            yield form, args
