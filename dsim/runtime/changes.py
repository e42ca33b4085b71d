"""When memory was last written: a clock that goes on with every tape, and which forms ran since.

A tape that runs backwards once more needs the values of its block's end. Launches only note the time of
that clock; who changed what is found out when it is asked.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsim.runtime.forms import Form


class _Clock:
    """Counts the ends of tapes."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0

    def tick(self) -> int:
        """Goes on; what is written from now on has this time, or a later one."""
        self.now += 1
        return self.now


CLOCK = _Clock()
FORMS: weakref.WeakSet[Form] = weakref.WeakSet()


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
