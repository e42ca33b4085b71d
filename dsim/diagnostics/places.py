"""Where in the user's Python something was called: for what is said about calls."""

from __future__ import annotations

import linecache
import sys
import sysconfig
import types
from collections.abc import Sequence
from pathlib import Path

from dsim.diagnostics.spans import Source, Span

_OWN = __name__.split(".", 1)[0]
_FOLDER = str(Path(__file__).parents[1])
_CALLING = ("asyncio.", "concurrent.futures.", "contextlib.", "threading.")
LIBRARIES = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})


def caller() -> Span | None:
    """The user's line of Python that is running, or None when there is no text of it."""
    frame = sys._getframe(1)
    while frame is not None and (own_frame(frame) or _only_calls(frame)):
        frame = frame.f_back
    if frame is None:
        return None
    return _line(frame, frame.f_lineno)


def calls(trace: types.TracebackType | None) -> list[Span]:
    """The lines of a user's Python that `trace` came through, outermost first.

    Not those of libraries, and none outside the last magic of a notebook: that is what called it.
    """
    found: list[Span] = []
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == "IPython":
            found.clear()
        elif not own_frame(trace.tb_frame) and not trace.tb_frame.f_code.co_filename.startswith(LIBRARIES):
            line = _line(trace.tb_frame, trace.tb_lineno)
            if line is not None and not line.text.startswith("%%"):  # a magic is no call
                found.append(line)
        trace = trace.tb_next
    return found


def _only_calls(frame: types.FrameType) -> bool:
    """Whether it is of a module of Python's that calls what it is given, and tells a user nothing."""
    return f"{frame.f_globals.get('__name__', '')}.".startswith(_CALLING)


def _line(frame: types.FrameType, line: int) -> Span | None:
    """A line of `frame`, or None when there is no text of it."""
    name = frame.f_code.co_filename
    text = linecache.getline(name, line, frame.f_globals).rstrip("\n")
    if not text.strip():
        return None
    source = Source(display_name(name), "".join(linecache.getlines(name, frame.f_globals)), file=name)
    start = len(text) - len(text.lstrip())
    return Span(source, line, start, line, len(text.rstrip()))


def own_frame(frame: types.FrameType) -> bool:
    """Whether it runs dsim's code, or code that dsim writes to launch a kernel."""
    module = frame.f_globals.get("__name__", "")
    return (
        module == _OWN or module.startswith(_OWN + ".") or frame.f_code.co_filename.startswith("<launch of ")
    )


def display_name(filename: str) -> str:
    """`filename` as the user knows it: a notebook cell by its number."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return filename
    kind, label = shell.compile.format_code_name(filename) or ("", "")
    return f"cell {label}" if kind == "Cell" else filename


def ours(name: str) -> bool:
    """Whether a source of this name is one of dsim's own files."""
    return name.startswith(_FOLDER)


def outside(span: Span | None, calls: Sequence[Span]) -> tuple[Span | None, tuple[Span, ...]]:
    """`span`, and the calls that led to it, outermost first, without what stands in dsim's own funcs.

    What is wrong in one of those is the call, as a user sees it.
    """
    places = [s for s in (*calls, span) if s is not None and not ours(s.source.name)]
    return (places[-1], tuple(places[:-1])) if places else (span, tuple(calls))
