"""Recorded launches as machine code runs them: tables of those that need no Python, and the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from dsim.backends.cpu.launch import Launcher
from dsim.backends.cpu.replay import LaunchesFailed, LaunchTable
from dsim.backends.cpu.row_copies import RowCopies
from dsim.runtime.driver import pipeline
from dsim.runtime.launching.faults import raised
from dsim.runtime.launching.forms import Form
from dsim.runtime.state import interruption, turns
from dsim.runtime.state.write_clock import CLOCK

Args = tuple[Any, ...]
Launchers = dict[Form | RowCopies, Launcher | RowCopies]
Launches = Sequence[tuple[Form | RowCopies, Args]]


class NativeReplay:
    """Runs launches outside of all contexts, in their order.

    Several threads may do so at once: each takes tables of its own.

    Parameters
    ----------
    launches : sequence of (Form or RowCopies, tuple)
        What is launched, and in between copies into the rows of an array.

    Attributes
    ----------
    launches : sequence of (Form or RowCopies, tuple)
        The same.
    """

    def __init__(self, launches: Launches) -> None:
        self.launches = launches
        self._parts = [_Part(native, list(part)) for native, part in _parts(launches)]
        self._forms = tuple(dict.fromkeys(form for form, _ in launches if isinstance(form, Form)))
        self._marks = tuple({f for form in self._forms for f in form.marks})

    def run(self, rows: int = 0) -> None:
        """Runs them; a launch that fails raises what it would raise on its own, and ends it.

        The first of the rows is at the address `rows`.
        """
        for f in self._marks:
            f.touched = turns.current()
        for form in self._forms:
            form.ran = CLOCK.now
        for part in self._parts:
            interruption.poll()
            part.run(rows)


class _Part:
    """Successive launches, all of which machine code runs alone, or none."""

    def __init__(self, launchers: Launchers | None, launches: list[tuple[Form | RowCopies, Args]]) -> None:
        self._launchers = launchers
        self._launches = launches
        self._idle: list[LaunchTable] = []

    def run(self, rows: int) -> None:
        if self._launchers is None:
            for form, args in self._launches:
                assert isinstance(form, Form)
                form.run(args)
            return
        try:
            table = self._idle.pop()
        except IndexError:
            table = LaunchTable([(self._launchers[form], args) for form, args in self._launches])
        try:
            table.run(rows)
        except LaunchesFailed as failed:
            error = failed.error
            if isinstance(error, pipeline.FAULTS):
                form = self._launches[failed.number][0]
                assert isinstance(form, Form)
                error = raised(error, form.named)
            raise error from None
        self._idle.append(table)


def _parts(launches: Launches) -> Iterable[tuple[Launchers | None, list[tuple[Form | RowCopies, Args]]]]:
    launchers = {form: _launcher(form) for form in dict.fromkeys(form for form, _ in launches)}
    known = {form: found for form, found in launchers.items() if found is not None}
    for native, part in groupby(launches, lambda launch: launch[0] in known):
        yield (known if native else None), list(part)


def _launcher(form: Form | RowCopies) -> Launcher | RowCopies | None:
    if isinstance(form, RowCopies):
        return form
    plain = type(form) is Form  # the others run in Python, whatever their program says
    return pipeline.replayed(form.program.machine, form.buffers()) if plain else None
