"""Warnings about gradients and tangents that another thread or task has overwritten."""

from __future__ import annotations

from typing import Protocol

from dsim.diagnostics import Diagnostic
from dsim.diagnostics.places import caller
from dsim.runtime.state import turns
from dsim.runtime.state.notices import warn


class Companion(Protocol):
    """The protocol of a field that is a gradient or tangent."""

    cleared: int

    @property
    def quoted(self) -> str:
        """Its name for the middle of a sentence."""
        ...


def say_cleared(field: Companion) -> bool:
    """Warns, once, that another thread or task has set `field` to 0; gives whether that is so."""
    if turns.own(field.cleared):
        return False
    field.cleared = turns.current()
    message = f"{field.quoted} is 0: a tape or forward mode in another thread or task has cleared it"
    advice = "read it before that thread enters its next block, or pass `clear_gradients=False` there"
    warn([Diagnostic("overtaken", message, caller(), help=advice)])
    return True


def say_written(field: Companion) -> None:
    """Warns that another thread or task has written to `field` since it was computed here."""
    message = f"{field.quoted} was overwritten by another thread or task after this block ended"
    advice = "use separate fields in each thread, or read it before another thread uses them"
    warn([Diagnostic("overtaken", message, caller(), help=advice)])
