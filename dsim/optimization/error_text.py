"""Errors of runs as text, where no cell shows them."""

from __future__ import annotations

import traceback

from dsim.diagnostics.places import calls
from dsim.diagnostics.render import printable


def error_lines(error: BaseException) -> list[str]:
    """The text of an error with the person's lines, as a cell shows it."""
    render = getattr(error, "_render_traceback_", None)
    if render is not None:
        return [f"{line}\n" for line in render()]
    lines = [f"{printable(line)}\n" for line in "".join(traceback.format_exception_only(error)).splitlines()]
    places = calls(error.__traceback__)
    for number, span in enumerate(reversed(places)):
        text = printable(span.source.line(span.line).strip())
        lines.append(f"{'raised in' if number == 0 else 'called from':<11} ")
        lines[-1] += f"{printable(span.source.name)}:{span.line}: {text}\n"
    return lines
