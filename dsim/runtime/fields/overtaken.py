"""Warnings about gradients and tangents that another thread, a task or a callback has overwritten."""

from __future__ import annotations

from typing import Protocol

from dsim.diagnostics import Diagnostic
from dsim.diagnostics.places import caller
from dsim.runtime.state import turns
from dsim.runtime.state.notices import warn


class Companion(Protocol):
    """The protocol of a field that is a gradient or tangent."""

    cleared: int
    touched: int

    @property
    def quoted(self) -> str:
        """Its name for the middle of a sentence."""
        ...


def say_cleared(field: Companion) -> bool:
    """Warns, once, that another thread or task has set `field` to 0; gives whether that is so."""
    if turns.own(field.cleared):
        return False
    if turns.of_this_thread(field.cleared):
        who = "that ran since, in another task or a callback,"
        advice = "read it before that runs, or pass `clear_gradients=False` there"
    else:
        who = "in another thread or task"
        advice = "read it before that thread enters its next block, or pass `clear_gradients=False` there"
    field.cleared = turns.current()
    message = f"{field.quoted} is 0: a tape or forward mode {who} has cleared it"
    warn([Diagnostic("overtaken", message, caller(), help=advice)])
    return True


def say_written(field: Companion) -> None:
    """Warns that another thread or task has written to `field` since it was computed here."""
    if turns.of_this_thread(field.touched):
        who, advice = "another task or a callback", "use separate fields there, or read it before that runs"
    else:
        who = "another thread or task"
        advice = "use separate fields in each thread, or read it before another thread uses them"
    message = f"{field.quoted} was overwritten by {who} after this block ended"
    warn([Diagnostic("overtaken", message, caller(), help=advice)])
