"""A tape in its three forms, data, text and HTML, with its drawings and the widget that steps through it.

It does not import reports. Begin with `data.py`, then `html.py`.
"""

from __future__ import annotations

from dsim.notebook.tape.data import tape_json, tape_timings
from dsim.notebook.tape.html import measured, tape_html
from dsim.runtime.tapes.tape import Tape

__all__ = ["measured", "tape_html", "tape_json", "tape_text", "tape_timings"]


def tape_text(tape: Tape) -> str:
    """`tape` as a table of plain text, with repeats folded."""
    return repr(tape)
