"""What is said of a gradient or tangent that is not what was left in this thread: another one wrote to it."""

from __future__ import annotations

from typing import Protocol

from dsim.diagnostics import Diagnostic
from dsim.diagnostics.places import caller
from dsim.runtime.state import turns
from dsim.runtime.state.notices import warn


class Companion(Protocol):
    """What is asked of a field that is a gradient or tangent."""

    cleared: int

    @property
    def quoted(self) -> str:
        """Its name for the middle of a sentence."""
        ...


def say_cleared(field: Companion) -> None:
    """Warns, once, that another thread or task has set `field` to 0, if that is so."""
    if not turns.own(field.cleared):
        field.cleared = turns.current()
        message = f"{field.quoted} is 0: a tape or forward mode in another thread or task has set it to 0"
        advice = (
            "read it before the next such block of that thread is entered, or `clear_gradients=False` there"
        )
        warn([Diagnostic("overtaken", message, caller(), help=advice)])


def say_written(field: Companion) -> None:
    """Warns that another thread or task has written to `field` since it was computed here."""
    message = f"{field.quoted} is what another thread or task has written since the block here ended"
    advice = "give each thread its own fields, or read it before another one may use them"
    warn([Diagnostic("overtaken", message, caller(), help=advice)])
