"""Where in the person's Python something was called: for diagnostics about what Python itself does."""

from __future__ import annotations

import linecache
import sys

from dsim.diagnostics import Source, Span

_OWN = __name__.split(".", 1)[0]


def caller() -> Span | None:
    """The line of Python outside dsim that is running, or None when there is no text of it."""
    frame = sys._getframe(1)
    while frame is not None and _own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    if frame is None:
        return None
    name, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(name, line, frame.f_globals).rstrip("\n")
    if not text.strip():
        return None
    source = Source(name, "".join(linecache.getlines(name, frame.f_globals)))
    start = len(text) - len(text.lstrip())
    return Span(source, line, start, line, len(text.rstrip()))


def _own(module: str) -> bool:
    return module == _OWN or module.startswith(_OWN + ".")
