"""A tape in its three forms: as data, as text, and as HTML."""

from __future__ import annotations

from dsim.notebook.tape_data import tape_json, tape_timings
from dsim.notebook.tape_html import measured, tape_html
from dsim.runtime.tapes.tape import Tape

__all__ = ["measured", "tape_html", "tape_json", "tape_text", "tape_timings"]


def tape_text(tape: Tape) -> str:
    """`tape` as a table of plain text, with repeats folded."""
    return repr(tape)
