"""Call sites in the user's Python, for diagnostics about calls."""

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
LIBRARIES = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})


def caller() -> Span | None:
    """The running line of the user's Python, or None: libraries alone run, or its source is not available."""
    frame = sys._getframe(1)
    while frame is not None and (own_frame(frame) or frame.f_code.co_filename.startswith(LIBRARIES)):
        frame = frame.f_back
    if frame is None:
        return None
    return _line(frame, frame.f_lineno)


def calls(trace: types.TracebackType | None) -> list[Span]:
    """The user's call sites in `trace`, outermost first.

    Without those of libraries, and without frames outside the last magic of a notebook.
    """
    found: list[Span] = []
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == "IPython":
            found.clear()
        elif not own_frame(trace.tb_frame) and not trace.tb_frame.f_code.co_filename.startswith(LIBRARIES):
            line = _line(trace.tb_frame, trace.tb_lineno)
            if line is not None and not line.text.startswith("%%"):  # a magic is not a call
                found.append(line)
        trace = trace.tb_next
    return found


def _line(frame: types.FrameType, line: int) -> Span | None:
    """A line of `frame`, or None when its source is not available."""
    name = frame.f_code.co_filename
    text = linecache.getline(name, line, frame.f_globals).rstrip("\n")
    if not text.strip():
        return None
    source = Source(display_name(name), "".join(linecache.getlines(name, frame.f_globals)), file=name)
    start = len(text) - len(text.lstrip())
    return Span(source, line, start, line, len(text.rstrip()))


def own_frame(frame: types.FrameType) -> bool:
    """Whether the frame runs dsim's code, or code that dsim generates to launch a kernel."""
    module = frame.f_globals.get("__name__", "")
    return (
        module == _OWN or module.startswith(_OWN + ".") or frame.f_code.co_filename.startswith("<launch of ")
    )


def display_name(filename: str) -> str:
    """`filename` as shown to the user: a notebook cell by its number."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return filename
    kind, label = shell.compile.format_code_name(filename) or ("", "")
    return f"cell {label}" if kind == "Cell" else filename


def ours(name: str) -> bool:
    """Whether `name` is one of dsim's own source files."""
    return name.startswith(_FOLDER)


def outside(span: Span | None, calls: Sequence[Span]) -> tuple[Span | None, tuple[Span, ...]]:
    """`span` and its calls, outermost first, without those inside dsim's own funcs.

    An error inside such a func is reported at the user's call of it.
    """
    places = [s for s in (*calls, span) if s is not None and not ours(s.source.name)]
    return (places[-1], tuple(places[:-1])) if places else (span, tuple(calls))
