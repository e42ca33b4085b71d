"""The times of writes: a logical clock that advances with every tape.

A tape that runs backwards once more needs the values of its block's end. Launches only note the time on
that clock; which fields changed is computed on demand (write_history.py).
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from typing import Any

from dsim.backends.locks import short_lock
from dsim.diagnostics import Span
from dsim.ir.nodes import KernelIR


class _Clock:
    """Counts the ends of tapes."""

    __slots__ = ("_lock", "now")

    def __init__(self) -> None:
        self.now = 0
        self._lock = short_lock()

    def tick(self) -> int:
        """Advances; later writes have this time, or a later one."""
        with self._lock:  # otherwise it could go backwards
            self.now += 1
            return self.now


# One for the process: fields are shared by threads, and times in fields, forms and tapes are compared with
# each other. It is never set back.
CLOCK = _Clock()


# The trials under way, which are runs to be undone: a tape of any thread may end inside one, and must learn
# then which fields it lost. A trial enters itself, and leaves when it is closed or undone.
TRIALS: list[Any] = []
_numbers = itertools.count()
_FEW = 32  # forms that write a field, before those that are gone are looked for


class LastRun:
    """When a form ran last. The fields that it writes hold this, and the form may go.

    Attributes
    ----------
    form : callable
        Gives the form, or None when it is gone.
    kernel : str or None
        The name of its kernel; None for a write from Python.
    span : Span or None
        Where the kernel is defined.
    moment : int
        The time on the write clock; -1 before the first run.
    number : int
        That of the form.
    """

    __slots__ = ("form", "kernel", "moment", "number", "span")

    def __init__(self, form: Any) -> None:
        self.form = weakref.ref(form)  # with no callback, in which Ctrl-C would be lost
        self.kernel: str | None = None
        self.span: Span | None = None
        self.moment = -1
        self.number = next(_numbers)

    def tell(self, fields: Iterable[Any], kernel: KernelIR | None) -> None:
        """Lets the fields know that the form writes them."""
        if kernel is not None:
            self.kernel, self.span = kernel.name, kernel.origin.span
        for f in fields:
            f.writers.add(self)

    def at(self, moment: int) -> LastRun:
        """The same form's, at another time."""
        other = copy(self)
        other.moment = moment
        return other


class Writers:
    """The last runs of the forms that write a field; of those that are gone, of the latest one only."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[LastRun] = []

    def add(self, run: LastRun) -> None:
        """Adds the run of one more form."""
        self._runs.append(run)
        count = len(self._runs)
        if count >= _FEW and count & (count - 1) == 0 and not TRIALS:  # a trial may take back the latest one
            gone = [run for run in tuple(self._runs) if run.form() is None]
            latest = max(gone, key=lambda run: run.moment, default=None)
            self.remove(run for run in gone if run is not latest)

    def remove(self, runs: Iterable[LastRun]) -> None:
        """Forgets some; other threads may do so, too."""
        for run in runs:
            with suppress(ValueError):
                self._runs.remove(run)

    def since(self, moment: int) -> list[LastRun]:
        """Those that ran at that time or later."""
        return [run for run in tuple(self._runs) if run.moment >= moment]

    def gone(self) -> int:
        """When a form that is gone ran last; -1 if none did."""
        return max((run.moment for run in tuple(self._runs) if run.form() is None), default=-1)
