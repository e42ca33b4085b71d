"""Which fields were written since a given time, by which form; and how to undo what ran since.

Restoring values also restores the times at which they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dsim.runtime.launching.forms import FORMS, Form
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.state.registry import Registry
from dsim.runtime.state.write_clock import CLOCK, note_ran

# The trials under way, which are runs to be undone: a tape of any thread may end inside one, and must learn
# then which fields it lost. A trial enters itself, and leaves when it is closed or undone.
_OPEN: list[Trial] = []


def ended(tape: TapeRecord) -> int:
    """Notes that the block of `tape` has come to its end, and gives the time of that."""
    for trial in tuple(_OPEN):
        trial.tapes.add(tape)
    return CLOCK.tick()


def trying() -> bool:
    """Whether a trial runs, which will be undone."""
    return bool(_OPEN)


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
        # A form that nothing else holds is not to outlive the collections that come in between.
        self._added, self._forms = FORMS.added, FORMS.references()
        self._ran = [-1 if (form := ref()) is None else form.ran for ref in self._forms]
        self._begin = CLOCK.tick()
        _OPEN.append(self)

    def close(self) -> None:
        """Keeps everything that ran."""
        if self in _OPEN:
            _OPEN.remove(self)

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
        self.close()
        written = {f for f in changed if f.changed >= self._begin}
        for form, before in self._ran_since():
            for f in form.written:
                if f in changed:
                    written.add(f)
                else:
                    note_ran(form.ran, (f,))
            # The notes go first: what another thread writes from now on is noted anew.
            form.ran = before
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

    def _ran_since(self) -> list[tuple[Form, int]]:
        """The forms that ran since the beginning, each with the time at which it had run before."""
        begin = self._begin
        known = zip(self._forms, self._ran, strict=True)
        found = [(form, ran) for ref, ran in known if (form := ref()) is not None and form.ran >= begin]
        return found + [(form, -1) for form in FORMS.newer(self._added) if form.ran >= begin]


def since(moment: int, fields: Iterable[Any], own: frozenset[Form]) -> tuple[Any, Form | None] | None:
    """A field that was written since `moment`, and by which form; None for the form if by Python.

    Forms in `own` do not count.
    """
    asked = dict.fromkeys(fields)
    for f in asked:
        if f.changed >= moment:
            return f, None
    ran = [form for form in FORMS if form.ran >= moment and form not in own]
    for form in sorted(ran, key=lambda form: form.ran):
        found = next((f for f in form.written if f in asked), None)
        if found is not None:
            return found, form
    return None
