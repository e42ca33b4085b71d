"""The times of writes: a logical clock that advances with every tape.

A tape that runs backwards once more needs the values of its block's end. Launches only note the time on
that clock; which fields changed is computed on demand (write_history.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dsim.backends.locks import short_lock


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


def note_ran(moment: int, written: Iterable[Any]) -> None:
    """Notes on the fields themselves when a form wrote to them, before the form is freed."""
    for f in written:
        f.changed = max(f.changed, moment)
