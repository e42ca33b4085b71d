"""Diagnostics as plain text with carets. Only text: the caller adds colours or HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dsim.diagnostics.messages import Diagnostic
from dsim.diagnostics.spans import Span


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """All of `diagnostics` as one text, separated by blank lines.

    Examples
    --------
    >>> from dsim.diagnostics.messages import Diagnostic
    >>> print(render([Diagnostic("type", "a float cannot be an index", help="cast it")]))
    error[type]: a float cannot be an index
    help: cast it
    """
    texts = ((part for line in _lines(d) for part in line.split("\n")) for d in diagnostics)
    return "\n\n".join("\n".join(map(printable, lines)) for lines in texts)


def _lines(d: Diagnostic) -> Iterator[str]:
    yield f"{d.level.value}[{d.code}]: {d.message}"
    marks = [(label.span, "-", label.text) for label in d.labels]
    if d.span is not None:
        yield f"  --> {d.span.source.name}:{d.span.line}:{d.span.column + 1}"
        marks.append((d.span, "^", d.here))
    marks.sort(key=lambda mark: (mark[0].source.name, mark[0].source.file, mark[0].line, mark[0].column))
    width = max((len(str(span.line)) for span, _, _ in marks), default=0)
    shown: tuple[str, int] | None = None
    for span, sign, text in marks:
        at = (span.source.file, span.line)
        if at != shown:
            yield f"{span.line:>{width}} │ {span.source.line(span.line)}"
        shown = at
        yield f"{'':>{width}} │ {_underline(span, sign)} {text}".rstrip()
    if d.remedy:
        yield f"help: {d.remedy}"


def _underline(span: Span, sign: str) -> str:
    line = span.source.line(span.line)
    end = span.end_column if span.end_line == span.line else len(line)
    return " " * span.column + sign * max(1, end - span.column)


def printable(line: str) -> str:
    """`line` with control characters (an escape sequence, a tab) replaced, one column each."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in line)
