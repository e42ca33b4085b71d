"""Where a report says that something stands: in its cell, or elsewhere, with the line's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from dsim.diagnostics import Diagnostic, Label, Level, Source, Span
from dsim.diagnostics.places import ours
from dsim.ir.nodes import Origin
from dsim.notebook.report.subject import Subject

Json = dict[str, Any]

# A tape that saves what is overwritten and one that refuses it say the same, at different levels.
_CODES = {"overwrites": "overwritten"}
_HERE = "this cell"


def harmless(text: str) -> str:
    """`text` with what a terminal or a browser would obey instead of showing it made visible.

    That is every character that is not printable (escape, a change of the direction of writing) but newlines
    and tabs.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


@dataclass(frozen=True)
class _Origin:
    """A cell or file, with those of its lines that were named."""

    source: Source
    lines: dict[int, str] = field(default_factory=dict)


class Places:
    """The places that a report names.

    Parameters
    ----------
    subject : Subject or None
        What the report is about.
    source : Source, optional
        Of a report about no text: that which the kernel stands in, perhaps a cell.
    """

    def __init__(self, subject: Subject | None, source: Source | None = None) -> None:
        self._subject = subject
        self._main = source if subject is None else subject.source
        self._origins = [] if self._main is None else [_Origin(self._main)]
        if subject is not None and not self._here(subject.source):
            named = (n for first, last in subject.parts for n in range(first, last + 1))
            self._origins[0].lines.update((n, subject.source.line(n)) for n in named)

    def inside(self, span: Span | None) -> bool:
        """Whether `span` is in the text that the report is about."""
        if self._main is None or span is None or span.source.file != self._main.file:
            return False
        if self._subject is not None:
            return any(first <= span.line <= last for first, last in self._subject.parts)
        first = self._main.first_line
        return first <= span.line < first + len(self._main.lines)

    def of(self, origin: Origin | None) -> Span | None:
        """The line of that text that something comes from, perhaps through a call."""
        if origin is None:
            return None
        return next((s for s in (origin.span, *reversed(origin.inlined)) if self.inside(s)), None)

    def line(self, origin: Origin | None) -> int | None:
        """The number of that line."""
        found = self.of(origin)
        return None if found is None else found.line

    def origin(self, origin: Origin | None) -> tuple[int, int] | None:
        """The user's line that something comes from: which cell or file, and the number in it."""
        if origin is None:
            return None
        spans = (s for s in (origin.span, *reversed(origin.inlined)) if s is not None)
        found = next((s for s in spans if not ours(s.source.name)), None)
        return None if found is None else (self._cited(found), found.line)

    def name(self, span: Span) -> str:
        """``cell In[3], line 1``."""
        return f"{_HERE if self._here(span.source) else _known_as(span.source.name)}, line {span.line}"

    def origins(self) -> list[Json]:
        """What has been named so far, as JSON: cells and files with those of their lines."""
        return [
            {
                "name": _HERE if self._here(o.source) else harmless(_known_as(o.source.name)),
                "here": self._here(o.source),
                "lines": [
                    {"line": n, "text": harmless(text)}
                    for n, text in sorted(o.lines.items())
                    if not self._here(o.source)  # the report has the whole text
                ],
            }
            for o in self._origins
        ]

    def _here(self, source: Source) -> bool:
        subject = self._subject
        return subject is not None and subject.kind == "kernel" and source.file == subject.source.file

    def _cited(self, span: Span) -> int:
        """The number of the text that `span` points into; from now on the report has its line."""
        source, text = span.source, span.source.line(span.line)
        for n, o in enumerate(self._origins):
            # A file that was edited since may have another text in a line that another function names.
            if o.source.file == source.file and o.lines.setdefault(span.line, text) == text:
                return n
        self._origins.append(_Origin(source, {span.line: text}))
        return len(self._origins) - 1

    def diagnostic(self, d: Diagnostic, level: Level | None = None) -> Json:
        """`d` as JSON: what it is mainly about stands in the text, and the rest is related to it."""
        here, *others = self._sorted(d)
        return {
            "level": (level or d.level).value,
            "code": _CODES.get(d.code, d.code),
            "message": harmless(d.message),
            "help": harmless(d.remedy) or None,
            **self._place(here),
            "related": [self._place(label) for label in others],
        }

    def _sorted(self, d: Diagnostic) -> list[Label | None]:
        """The places of `d`; the first one is what it is about here."""
        labels = [Label(d.span, d.here), *d.labels] if d.span is not None else list(d.labels)
        main = next((label for label in labels if self.inside(label.span)), None)
        if main is None and self._subject is not None:
            main = Label(self._subject.place, "")
        elif main is None:
            main = labels[0] if labels else None
        # What has no words of its own is told by where it stands.
        others = [label if label.text else Label(label.span, "here") for label in labels if label is not main]
        return [main, *others]

    def _place(self, label: Label | None) -> Json:
        """A place of a diagnostic, with what there is to say of it."""
        span = None if label is None else label.span
        return {
            "origin": None if span is None else self._cited(span),
            **position(span),
            "text": "" if span is None else harmless(span.source.line(max(span.line, 1))),
            "label": "" if label is None else harmless(label.text),
        }


def _known_as(name: str) -> str:
    """A cell by its number, a file by its name without the folder: that is the same on every machine."""
    return name if name.startswith("cell ") else PurePath(name).name


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
