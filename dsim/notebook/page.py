"""A report as HTML without scripts: an annotated listing, for front ends without the extension and for pages.

Every text is escaped here, at the one place where markup is made.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from dsim.notebook.places import harmless
from dsim.notebook.plain import by_line, ends, kind, scale, where

_TITLES = {"adjoint": "Adjoint", "ir": "IR", "python": "Python", "llvm": "LLVM"}
Report = Mapping[str, Any]


def page(report: Report, tape: str = "") -> str:
    """The whole report, as one element; `tape` is its tape as markup."""
    parts = [f"<style>{_style()}</style>", *_parts(report, tape)]
    return f'<div class="dsim-page">{"".join(parts)}</div>'


@cache
def _style() -> str:
    return files("dsim.notebook").joinpath("page.css").read_text("utf-8")


def _text(text: object) -> str:
    return html.escape(harmless(str(text)), quote=True)


def _parts(report: Report, tape: str) -> Iterator[str]:
    state = " dsim-failed" if report["status"] == "failed" else ""
    yield f'<p class="dsim-title{state}">{_text(report["summary"]["text"])}</p>'
    if report["source"] is not None:
        yield _listing(report)
        yield _legend(report)
    else:
        yield "".join(f'<div class="dsim-alone">{_diagnostic(d)}</div>' for d in report["diagnostics"])
    rows = "".join(
        f"<tr><th scope=row>{_text(r['label'])}</th><td>{_text(r['value'])}</td></tr>"
        for r in report["summary"]["rows"]
    )
    if rows:
        yield _section("Summary", f'<table class="dsim-rows">{rows}</table>', report["kind"] == "check")
    if tape:
        yield _section("Tape", tape, report["open"] == "tape")
    for found in report["listings"]:
        code = _numbered(found) if any(found["lines"]) else f"<pre>{_text(found['text'])}</pre>"
        yield _section(_TITLES[found["name"]], code, report["open"] == found["name"])


def _section(name: str, content: str, opened: bool) -> str:
    return f"<details{' open' if opened else ''}><summary>{name}</summary>{content}</details>"


# ------------------------------------------------------------------ the cell's lines


def _listing(report: Report) -> str:
    texts, below = ends(report), by_line(report["diagnostics"])
    heat = {h["line"]: h for h in (report["heat"] or {"lines": ()})["lines"]}
    lines = report["source"].split("\n")
    whole = report["status"] == "failed" or heat or any(texts.values())
    told = range(1, len(lines) + 1) if whole else _concerned(report["diagnostics"], len(lines))
    rows = []
    for n in told:
        code = lines[n - 1]
        if n - 1 not in told and n > 1:
            rows.append("<tr><td class=dsim-number>⋮</td><td></td><td></td></tr>")
        found = below.get(n, [])
        rows.append(_line(n, _underlined(code, found), heat.get(n), texts.get(n, "")))
        rows += [f'<tr class="dsim-below"><td></td><td colspan=2>{_diagnostic(d)}</td></tr>' for d in found]
    return f'<div class="dsim-wide"><table class="dsim-listing">{"".join(rows)}</table></div>' if rows else ""


def _concerned(diagnostics: Sequence[Mapping[str, Any]], count: int) -> list[int]:
    """The lines of the cell that diagnostics name, each with its neighbours."""
    found = [d["line"] for d in diagnostics]
    found += [r["line"] for d in diagnostics for r in d["related"] if r["cell"]]
    return sorted({n for line in found for n in (line - 1, line, line + 1) if 1 <= n <= count})


def _line(number: int, code: str, heat: Mapping[str, Any] | None, end: str) -> str:
    style = told = ""
    if heat is not None:
        style = f' style="--dsim-heat:{heat["level"]:.3f}"'
        told = f' title="adjoint {_text(heat["adjoint"])}"'
    klass = ' class="dsim-hot"' if heat is not None else ""
    return (
        f"<tr{klass}{style}><td class=dsim-number{told}>{number}</td>"
        f"<td class=dsim-code><pre>{code}</pre></td><td class=dsim-end>{_text(end)}</td></tr>"
    )


def _underlined(code: str, found: list[Mapping[str, Any]]) -> str:
    """The text of a line with what diagnostics are about underlined; of several, the most serious one's."""
    if not found:
        return _text(code)
    d = min(found, key=lambda d: ("error", "warning", "note").index(d["level"]))
    end = d["end_column"] if d["end_line"] == d["line"] else len(code)
    start, end = min(d["column"], len(code)), min(max(end, d["column"] + 1), len(code))
    inner = f'<span class="dsim-under dsim-{d["level"]}">{_text(code[start:end])}</span>'
    return _text(code[:start]) + inner + _text(code[end:])


def _diagnostic(d: Mapping[str, Any]) -> str:
    more = [f"line {d['line']}, column {d['column'] + 1}"]
    more += [f"line {r['line']}: {r['source'].strip()} ← {r['message']}" for r in d["related"]]
    if d["help"]:
        more.append(f"help: {d['help']}")
    lines = "".join(f"<div>{_text(line)}</div>" for line in more)
    head = f"<b>{_text(kind(d))}</b> {_text(d['message'])}"
    return f'<div class="dsim-diagnostic dsim-{d["level"]}">{head}{lines}</div>'


def _legend(report: Report) -> str:
    heat, at = report["heat"], where(report["probe"])
    told = ""
    if heat is not None and heat["lines"]:
        low, high = scale(heat)
        what = f"how strongly {_text(heat['loss'])} reacts to what a line computes (root mean square)"
        told += f'<span>{low}<span class="dsim-scale"></span>{high} {what}</span>'
    if at:
        told += f"<span>values at {_text(at)}</span>"
    return f'<p class="dsim-legend">{told}</p>' if told else ""


def _numbered(listing: Mapping[str, Any]) -> str:
    """A listing with the cell's line before each of its lines."""
    lines = zip(listing["text"].split("\n"), listing["lines"], strict=True)
    rows = "".join(
        f"<tr><td class=dsim-number>{n or ''}</td><td class=dsim-code><pre>{_text(text)}</pre></td></tr>"
        for text, n in lines
    )
    return f'<div class="dsim-wide"><table class="dsim-listing">{rows}</table></div>'
