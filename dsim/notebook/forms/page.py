"""A report as HTML without scripts: an annotated listing, for front ends without the extension and for pages.

Every text is escaped here, at the one place where markup is made.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from dsim.notebook.forms.colours import Pieces, pieces
from dsim.notebook.report.locations import harmless
from dsim.notebook.report.report_view import (
    Report,
    about,
    by_line,
    ends,
    error_below,
    in_text,
    kind,
    line_text,
    listings_by_name,
    looked_at,
    margin,
    margin_means,
    place_name,
    rows_by_kernel,
    scale,
    underline,
)

_LINE = "\n"
_TITLES = {"adjoint": "Adjoint", "ir": "IR", "python": "Python", "llvm": "LLVM", "ptx": "PTX"}
# Every report of a notebook has the styles: without comments, and spaces that mean nothing.
_NEEDLESS = re.compile(r"/\*.*?\*/|(?<=[{};,])\s+|\s+(?=[{}])|;(?=\s*})", re.DOTALL)
_LEFT = ' style="text-align: left"'  # for pages that remove a report's own styles


def page(report: Report, tape: str = "") -> str:
    """The whole report, as one element; `tape` is its tape as markup."""
    parts = [f"<style>{_style()}</style>", *_parts(report, tape)]
    state = " dsim-stale" if "stale" in report else ""
    return f'<div class="dsim-page{state}">{"".join(parts)}</div>'


def below_error(explanations: Sequence[Mapping[str, Any]]) -> str:
    """What the codes of an error mean, each closed, as one element."""
    parts = [explanation(e, f"What <b>{_text(kind(e))}</b> means") for e in explanations]
    return f'<div class="dsim-page"><style>{_style()}</style>{"".join(parts)}</div>'


def document(title: str, content: str) -> str:
    """`content` as a page of its own, light or dark as the person's system prefers."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(title)}</title>\n</head>\n"
        f'<body style="margin: 2em; font-family: system-ui, sans-serif">\n{content}\n</body>\n</html>\n'
    )


@cache
def _style() -> str:
    return _NEEDLESS.sub("", files("dsim.notebook").joinpath("page.css").read_text("utf-8"))


def _text(text: object) -> str:
    return html.escape(harmless(str(text)), quote=True)


def _parts(report: Report, tape: str) -> Iterator[str]:
    state = " dsim-failed" if report["status"] == "failed" else ""
    yield f'<p class="dsim-title{state}">{_text(report["summary"]["text"])}</p>'
    if error_below(report):
        return
    if "stale" in report:
        advice = "It follows the next change" if "retried" in report else "Run this cell again"
        yield f'<p class="dsim-outdated">Out of date: {_text(report["stale"])}. {advice}.</p>'
    if report["source"] is not None:
        yield _listing(report)
        yield _legend(report)
    else:
        yield "".join(
            f'<div class="dsim-alone">{_diagnostic(report, d)}</div>' for d in report["diagnostics"]
        )
    rows = "".join(_rows(report))
    if rows:
        yield _section("Summary", f'<table class="dsim-rows">{rows}</table>', report["kind"] == "check")
    if tape:
        yield _section("Tape", tape, report["open"] == "tape")
    for name, found in listings_by_name(report).items():
        content = "".join(_made_from(report, listing, len(found) > 1) for listing in found)
        yield _section(_TITLES[name], content, report["open"] == name)


def _rows(report: Report) -> Iterator[str]:
    for kernel, rows in rows_by_kernel(report):
        if kernel:
            yield f'<tr><th colspan=2 class="dsim-kernel"{_LEFT}>{_text(kernel)}</th></tr>'
        for r in rows:
            yield f"<tr><th scope=row{_LEFT}>{_text(r['label'])}</th><td{_LEFT}>{_text(r['value'])}</td></tr>"


def _section(name: str, content: str, opened: bool) -> str:
    return f"<details{' open' if opened else ''}><summary>{name}</summary>{content}</details>"


# ------------------------------------------------------------------ the lines


def _listing(report: Report) -> str:
    briefs, texts = ends(report, "brief"), ends(report, "text")
    below = by_line(report["diagnostics"])
    heat = {h["line"]: h for h in (report["heat"] or {"lines": ()})["lines"]}
    lines = about(report, pieces(report["source"]))
    whole = heat or any(texts.values())
    told = list(lines) if whole else _concerned(report, lines)
    rows = []
    for n in told:
        if n - 1 not in told and n != min(lines):
            rows.append("<tr><td class=dsim-number>⋮</td><td></td><td></td></tr>")
        found = below.get(n, [])
        code = _underlined(lines[n], found)
        rows.append(_line(n, code, heat.get(n), briefs.get(n, ""), texts.get(n, "")))
        told_below = "".join(_diagnostic(report, d) for d in found)
        if found:
            rows.append(f'<tr class="dsim-below"><td></td><td colspan=2{_LEFT}>{told_below}</td></tr>')
    return f'<div class="dsim-wide"><table class="dsim-listing">{"".join(rows)}</table></div>' if rows else ""


def _concerned(report: Report, lines: Container[int]) -> list[int]:
    """The lines that diagnostics name, each with its neighbours."""
    places = [p for d in report["diagnostics"] for p in (d, *d["related"])]
    found = [p["line"] for p in places if in_text(report, p)]
    return sorted({n for line in found for n in (line - 1, line, line + 1) if n in lines})


def _line(number: int, code: str, heat: Mapping[str, Any] | None, brief: str, end: str) -> str:
    style = told = ""
    if heat is not None:
        style = f' style="--dsim-heat:{heat["level"]:.3f}"'
        told = f' title="adjoint {_text(heat["adjoint"])}"'
    klass = ' class="dsim-hot"' if heat is not None else ""
    whole = f' title="{_text(end)}"' if brief != end else ""
    return (
        f"<tr{klass}{style}><td class=dsim-number{told}>{number}</td>"
        f"<td class=dsim-code{_LEFT}><pre>{code}</pre></td>"
        f"<td class=dsim-end{_LEFT}{whole}>{_text(brief)}</td></tr>"
    )


def _underlined(line: Pieces, found: Sequence[Mapping[str, Any]]) -> str:
    """A highlighted line, with the locations of diagnostics underlined; the most severe on top."""
    levels = [""] * sum(len(piece) for _, piece in line)
    for d in sorted(found, key=lambda d: ("note", "warning", "error").index(d["level"])):
        start, end = (min(column, len(levels)) for column in underline(d))
        levels[start:end] = [d["level"]] * (end - start)
    made, start = "", 0
    for level, run in itertools.groupby(levels):
        end = start + len(list(run))
        text = _coloured(line, start, end)
        made += f'<span class="dsim-under dsim-{level}">{text}</span>' if level else text
        start = end
    return made


def _coloured(line: Pieces, start: int = 0, end: int | None = None) -> str:
    """The columns from `start` to `end` of a line."""
    parts, at = [], 0
    for klass, piece in line:
        kept = piece[max(start - at, 0) : None if end is None else max(end - at, 0)]
        at += len(piece)
        if kept:
            parts.append(f"<span class={klass}>{_text(kept)}</span>" if klass else _text(kept))
    return "".join(parts)


def _diagnostic(report: Report, d: Mapping[str, Any]) -> str:
    """A diagnostic: message, lines with labels, help; a click on the message shows what the code means."""
    head = f"<div><b>{_text(kind(d))}</b> {_text(d['message'])}</div>"
    for e in report.get("explanations", ()):
        if (e["level"], e["code"]) == (d["level"], d["code"]):
            head = explanation(e, f"<b>{_text(kind(d))}</b> {_text(d['message'])}")
    places = "".join(_place(report, p, sign) for p, sign in ((d, "^"), *((r, "-") for r in d["related"])))
    help = f"<div><b>help</b> {_text(d['help'])}</div>" if d["help"] else ""
    grid = f'<div class="dsim-places">{places}</div>' if places else ""
    return f'<div class="dsim-diagnostic dsim-{d["level"]}">{head}{grid}{help}</div>'


def explanation(e: Mapping[str, Any], summary: str) -> str:
    """What a code means, below a `summary`, which is markup, that opens it."""
    made = [
        f"<pre>{_text(part['text'])}</pre>" if part["block"] else f"<p>{_text(part['text'])}</p>"
        for part in e["parts"]
    ]
    if "address" in e:
        address = _text(e["address"])
        made.append(f'<p><a href="{address}" target="_blank" rel="noopener">{address}</a></p>')
    return f'<details class="dsim-explained"><summary>{summary}</summary>{"".join(made)}</details>'


def _place(report: Report, place: Mapping[str, Any], sign: str) -> str:
    """A line with its underlined columns, and the label below."""
    name, code = place_name(report, place), place["text"]
    if not name:
        return ""
    indent = len(code) - len(code.lstrip())
    start, end = underline(place)
    start = max(start, indent)
    signs = f"<span class=dsim-carets aria-hidden=true>{sign * max(end - start, 1)}</span>"
    label = f" {_text(place['label'])}" if place["label"] else ""
    return (
        f"<span>{_text(name)}</span><pre>{_text(code[indent:])}\n{' ' * (start - indent)}{signs}{label}</pre>"
    )


def _legend(report: Report) -> str:
    heat, at = report["heat"], looked_at(report["probe"])
    told = ""
    if heat is not None and heat["lines"]:
        low, high = scale(heat)
        what = f"how strongly {_text(heat['loss'])} depends on what a line computes (root mean square)"
        told += f'<span>{low}<span class="dsim-scale"></span>{high} {what}</span>'
    if at:
        told += f"<span>{_text(at)}</span>"
    return f'<p class="dsim-legend">{told}</p>' if told else ""


# ------------------------------------------------------------------ what was made from them


def _made_from(report: Report, listing: Mapping[str, Any], several: bool) -> str:
    """A listing with the user's line before each of its lines; of `several` kernels', with the name."""
    what = [f"<b>{_text(listing['kernel'])}</b>"] if several else []
    what += [_text(margin_means(report, listing))] if margin_means(report, listing) else []
    head = f'<p class="dsim-legend">{" ".join(what)}</p>' if what else ""
    text = listing["text"]
    lines = pieces(text) if listing["language"] == "python" else [(("", line),) for line in text.split("\n")]
    # One text, with the margin in it: so it is told also where a page's styles are taken away. As there are
    # hundreds of lines in a notebook, the margin has the shortest element.
    numbers = margin(report, listing)
    width = max(map(len, numbers))
    made = []
    for n, (line, number) in enumerate(zip(lines, numbers, strict=True)):
        side = f"<i>{_text(f'{number:>{width}} │ ')}</i>" if width else ""
        quoted = ""
        # The adjoint and Python quote the user's lines as comments; other languages do not.
        if listing["language"] != "python" and number and (n == 0 or numbers[n - 1] != number):
            theirs = line_text(report, listing["origins"][n], listing["lines"][n]).strip()
            quoted = f"   <span class=dsim-end>{_text(theirs)}</span>"
        made.append(side + _coloured(line) + quoted)
    return f"{head}<pre>{_LINE.join(made)}</pre>"
