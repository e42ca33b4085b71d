"""When memory was last written: a clock that goes on with every tape.

A tape that runs backwards once more needs the values of its block's end. Launches only note the time of
that clock; who changed what is found out when it is asked (write_history.py).
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
        """Goes on; what is written from now on has this time, or a later one."""
        with self._lock:  # or it could go back
            self.now += 1
            return self.now


# One for the process: fields are shared by threads, and times in fields, forms and tapes are compared with
# each other. It is never set back.
CLOCK = _Clock()


def note_ran(moment: int, written: Iterable[Any]) -> None:
    """Notes on the fields themselves when a form wrote to them: nobody will ask the form any more."""
    for f in written:
        f.changed = max(f.changed, moment)
