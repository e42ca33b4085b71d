"""Where a report says that something stands: in its cell, or elsewhere with the line's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dsim.diagnostics import Diagnostic, Label, Level, Span
from dsim.ir.nodes import Origin
from dsim.notebook.cells import Cell

Json = dict[str, Any]

# A tape that saves what is overwritten and one that refuses it say the same, at different levels.
_CODES = {"overwrites": "overwritten"}


def harmless(text: str) -> str:
    """`text` with what a terminal or a browser would obey instead of showing it made visible.

    That is every character that is not printable (escape, a change of the direction of writing) but newlines
    and tabs.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


class Places:
    """The places of one cell, or of none: then every line is elsewhere."""

    def __init__(self, cell: Cell | None) -> None:
        self._cell = cell

    def inside(self, span: Span | None) -> bool:
        """Whether `span` is in the cell."""
        return self._cell is not None and span is not None and span.source.name == self._cell.source.name

    def of(self, origin: Origin | None) -> Span | None:
        """The line of the cell that something comes from, perhaps through a call."""
        if origin is None:
            return None
        return next((s for s in (origin.span, *reversed(origin.inlined)) if self.inside(s)), None)

    def line(self, origin: Origin | None) -> int | None:
        """The number of that line."""
        found = self.of(origin)
        return None if found is None else found.line

    def diagnostic(self, d: Diagnostic, level: Level | None = None) -> Json:
        """`d` as JSON: what it is mainly about stands in the cell, and the rest is related to it."""
        main = next((s for s in (d.span, *(label.span for label in d.labels)) if self.inside(s)), None)
        labels = list(d.labels)
        if d.span is not None and d.span is not main:
            labels.insert(0, Label(d.span, d.here or "here"))
        labels = [label for label in labels if label.span is not main]
        if main is None and self._cell is not None:
            main = self._cell.whole_line(self._cell.first)
        elif main is None and labels:
            main = labels.pop(0).span
        here = d.here if main is d.span and d.here != "here" else ""
        return {
            "level": (level or d.level).value,
            "code": _CODES.get(d.code, d.code),
            "message": harmless(f"{d.message}: {here}" if here else d.message),
            "help": harmless(d.remedy) or None,
            **position(main),
            "related": [self.related(label) for label in labels],
        }

    def related(self, label: Label) -> Json:
        """A second place as JSON."""
        span = label.span
        return {
            **position(span),
            "message": harmless(label.text),
            "source": harmless(span.source.line(span.line)),
            "cell": self.inside(span),
        }


def position(span: Span | None) -> Json:
    """Lines from 1 and columns from 0, the end exclusive."""
    if span is None:
        return {"line": 1, "column": 0, "end_line": 1, "end_column": 0}
    return {
        "line": max(span.line, 1),
        "column": span.column,
        "end_line": max(span.end_line, 1),
        "end_column": span.end_column,
    }


def in_order(found: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Diagnostics in the order of the text, each once."""
    unique: dict[tuple[Any, ...], Any] = {}
    for d in found:
        unique.setdefault((d["line"], d["column"], d["code"], d["message"]), d)
    return [unique[key] for key in sorted(unique)]
