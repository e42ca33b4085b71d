"""Which fields were written since a given time, by which form; and how to undo what ran since.

Restoring values also restores the times at which they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from dsim.runtime.launching.forms import FORMS, Form
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.state.registry import Registry
from dsim.runtime.state.write_clock import CLOCK, TRIALS, LastRun


def ended(tape: TapeRecord) -> int:
    """Notes that the block of `tape` has come to its end, and gives the time of that."""
    for trial in tuple(TRIALS):
        trial.tapes.add(tape)
    return CLOCK.tick()


def trying() -> bool:
    """Whether a trial runs, which will be undone."""
    return bool(TRIALS)


class Trial:
    """The launches from here on until `undo`, which restores some fields completely.

    For tapes that ended before it, these fields have not changed. To those that ended in between, a field
    that was written and then put back is lost. What was written beside counts as changed from Python.

    Attributes
    ----------
    tapes : Registry of TapeRecord
        Those that ended since.
    """

    def __init__(self) -> None:
        self.tapes: Registry[TapeRecord] = Registry()
        TRIALS.append(self)
        # A form that nothing else holds is not to outlive the collections that come in between.
        self._before = {form.last.number: form.last.moment for form in FORMS}
        self._begin = CLOCK.tick()

    def close(self) -> None:
        """Keeps everything that ran."""
        if self in TRIALS:
            TRIALS.remove(self)

    def undo(self, changed: Mapping[Any, int], restore: Callable[[], None]) -> None:
        """Puts values back, and the notes about them.

        Parameters
        ----------
        changed : mapping of Field to int
            The fields that `put_back` gives the values of before, bit for bit, each with when Python had
            written to it then.
        put_back : callable
            Does so; it notes nothing itself.
        """
        try:
            # The notes go first: what another thread writes from now on is noted anew.
            written = self._forget_runs(changed)
        finally:
            self.close()
        for tape in self.tapes:
            tape.lost |= written
        for f, when in changed.items():
            f.changed = when
        try:
            restore()
        except BaseException:
            for f in changed:
                f.changed = CLOCK.now
            raise

    def _forget_runs(self, restored: Collection[Any]) -> set[Any]:
        """Sets forms back to when they had run before; gives the restored fields that were written since."""
        begin = self._begin
        ran = [form for form in FORMS if form.last.moment >= begin]  # none of them goes from here on
        written = {f for f in restored if f.changed >= begin or f.writers.since(begin)}
        for form in ran:
            for f in form.written:
                if f not in restored:
                    f.changed = max(f.changed, form.last.moment)
            form.last.moment = self._before.get(form.last.number, -1)
        for f in restored:
            self._forget_gone(f)
        return written

    def _forget_gone(self, field: Any) -> None:
        """Forgets that forms which are gone by now wrote to `field` since the beginning.

        They may have written to fields that are not restored, too, which go on to know of it.
        """
        gone = [run for run in field.writers.since(self._begin) if run.form() is None]
        for run in gone:
            if (moment := self._before.get(run.number, -1)) >= 0:
                field.writers.add(run.at(moment))
        field.writers.remove(gone)


def since(moment: int, fields: Iterable[Any], own: frozenset[Form]) -> tuple[Any, LastRun | None] | None:
    """A field that was written since `moment`, and by the run of which form; None for the run if by Python.

    Forms in `own` do not count.
    """
    asked = dict.fromkeys(fields)
    for f in asked:
        if f.changed >= moment:
            return f, None
    ran = [(f, run) for f in asked for run in f.writers.since(moment) if run.form() not in own]
    return min(ran, key=lambda found: found[1].moment, default=None)
