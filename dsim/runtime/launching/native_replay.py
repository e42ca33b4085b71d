"""Recorded launches as machine code runs them: tables of those that need no Python, and the others."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dsim.backends.cpu.launch import Launcher
from dsim.backends.cpu.replay import LaunchesFailed, LaunchTable
from dsim.backends.cpu.row_copies import RowCopies
from dsim.runtime.driver import pipeline
from dsim.runtime.fields.aliases import address
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.faults import raised
from dsim.runtime.launching.forms import Form
from dsim.runtime.state import interruption, turns
from dsim.runtime.state.write_clock import CLOCK

Args = tuple[Any, ...]


class CopyingForm(NamedTuple):
    """A form with copies into rows fused in: the places of the rows follow its arguments."""

    form: Form
    launcher: Launcher


Launched = Form | CopyingForm | RowCopies
Launchers = dict[Launched, Launcher | RowCopies]
Launches = Sequence[tuple[Launched, Args]]


class NativeReplay:
    """Runs launches outside of all contexts, in their order.

    Several threads may do so at once: each takes tables of its own.

    Parameters
    ----------
    launches : sequence of (Form, CopyingForm or RowCopies, tuple)
        What is launched, and copies into the rows of an array, fused in or in between.
    derivatives : iterable of Field
        All gradients with which the launches work.

    Attributes
    ----------
    launches : sequence of (Form, CopyingForm or RowCopies, tuple)
        The same.
    moving : tuple of Field
        The same gradients, if the launches can work on other memory in their place; else none.
    """

    def __init__(self, launches: Launches, derivatives: Iterable[Field] = ()) -> None:
        self.launches = launches
        parts = list(_parts(launches))
        self._forms = tuple({f: None for one, _ in launches if (f := _form(one)) is not None})
        self._marks = tuple({f for form in self._forms for f in form.marks})
        moving = tuple(derivatives)
        native = all(launchers is not None for launchers, _ in parts)
        self.moving = moving if native and _can_move(moving, self._forms, self._marks) else ()
        self._changing = tuple(f for f in self._forms if not set(f.written).issubset(self.moving))
        starts = [address(f.require_memory()) for f in self.moving]
        self._parts = [_Part(launchers, part, starts) for launchers, part in parts]

    def run(self, rows: int = 0) -> None:
        """Runs them; a launch that fails raises what it would raise on its own, and ends it.

        The first of the rows is at the address `rows`.
        """
        for f in self._marks:
            f.touched = turns.current()
        self._run(self._forms, rows, [address(f.require_memory()) for f in self.moving])

    def run_on(self, memory: Sequence[np.ndarray], rows: int) -> None:
        """The same on these arrays in place of those of the `moving` fields, which keep their numbers."""
        self._run(self._changing, rows, list(map(address, memory)))

    def _run(self, changing: Iterable[Form], rows: int, places: Sequence[int]) -> None:
        for form in changing:
            form.last.moment = CLOCK.now
        for part in self._parts:
            interruption.poll()
            part.run(rows, places)


class _Part:
    """Successive launches, all of which machine code runs alone, or none."""

    def __init__(
        self, launchers: Launchers | None, launches: list[tuple[Launched, Args]], moving: Sequence[int]
    ) -> None:
        self._launchers = launchers
        self._launches = launches
        self._moving = moving
        self._idle: list[LaunchTable] = []

    def run(self, rows: int, places: Sequence[int]) -> None:
        if self._launchers is None:
            for form, args in self._launches:
                assert isinstance(form, Form)
                form.run(args)
            return
        try:
            table = self._idle.pop()
        except IndexError:
            launches = [(self._launchers[one], args) for one, args in self._launches]
            table = LaunchTable(launches, self._moving)
        try:
            table.run(rows, places)
        except LaunchesFailed as failed:
            error = failed.error
            if isinstance(error, pipeline.FAULTS):
                form = _form(self._launches[failed.number][0])
                assert form is not None
                error = raised(error, form.named)
            raise error from None
        self._idle.append(table)


def _parts(launches: Launches) -> Iterable[tuple[Launchers | None, list[tuple[Launched, Args]]]]:
    launchers = {one: _launcher(one) for one in dict.fromkeys(one for one, _ in launches)}
    known = {one: found for one, found in launchers.items() if found is not None}
    for native, part in itertools.groupby(launches, lambda launch: launch[0] in known):
        yield (known if native else None), list(part)


def _can_move(moving: Sequence[Field], forms: Iterable[Form], marks: Iterable[Field]) -> bool:
    """Whether these are all derivatives that `forms` write, each in memory that is nothing else's."""
    arrays = [f.require_memory() for f in moving]
    if not set(marks).issubset(moving) or not all(a.size and a.flags.c_contiguous for a in arrays):
        return False
    touched = {form.field(m.key) for form in forms for m in form.kernel.memories}
    others = [f.buffer for f in touched.difference(moving) if f.buffer is not None]
    pairs = itertools.chain(itertools.combinations(arrays, 2), itertools.product(arrays, others))
    return not any(itertools.starmap(np.may_share_memory, pairs))


def _form(one: Launched) -> Form | None:
    return one.form if isinstance(one, CopyingForm) else one if isinstance(one, Form) else None


def _launcher(one: Launched) -> Launcher | RowCopies | None:
    if isinstance(one, RowCopies):
        return one
    if isinstance(one, CopyingForm):
        return one.launcher
    return pipeline.replayed(one.program.machine, one.buffers()) if is_native(one) else None


def is_native(form: Form) -> bool:
    """Whether launches of `form` are those of its program: other kinds of forms run in Python."""
    return type(form) is Form
