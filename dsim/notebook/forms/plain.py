"""A report as plain text, for terminals and other front ends without HTML: lines, columns, carets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dsim.notebook.report.locations import harmless
from dsim.notebook.report.report_view import (
    Report,
    by_line,
    ends,
    error_below,
    kind,
    listings_by_name,
    looked_at,
    margin,
    margin_means,
    place_name,
    rows_by_kernel,
    scale,
    source_lines,
    underline,
)

_BARS = "▁▂▃▄▅▆▇█"
_WIDEST = 72  # columns of code before the texts at line ends


def text(report: Report) -> str:
    """The whole report; for a failed cell, whose error is below it, only its state."""
    lines = [report["summary"]["text"]]
    if error_below(report):
        return harmless(lines[0])
    lines += [f"out of date: {outdated}"] if (outdated := report.get("stale")) else []
    lines += _rows(report)
    if report["source"] is not None and (report["heat"] or report["probe"] or report["diagnostics"]):
        lines += ["", *_listing(report)]
    else:
        lines += [line for d in report["diagnostics"] for line in ("", *_alone(report, d))]
    lines += _opened(report)
    return "\n".join(harmless(line).rstrip() for line in lines)


def _at(report: Report, d: Mapping[str, Any]) -> str:
    name = place_name(report, d)
    return f"{name}, column {d['column'] + 1}: " if name else ""


def _title(report: Report, d: Mapping[str, Any]) -> str:
    """The message of a diagnostic, with its location, level and code."""
    return f"{_at(report, d)}{kind(d)}: {d['message']}"


def _rows(report: Report) -> Iterator[str]:
    width = max((len(r["label"]) for r in report["summary"]["rows"]), default=0)
    for kernel, rows in rows_by_kernel(report):
        if kernel:
            yield f"  {kernel}"
        indent = "    " if kernel else "  "
        yield from (f"{indent}{r['label']:<{width}}  {r['value']}" for r in rows)


def _listing(report: Report) -> Iterator[str]:
    source = source_lines(report)
    texts, below = ends(report, "brief"), by_line(report["diagnostics"])
    levels = {h["line"]: h["level"] for h in (report["heat"] or {"lines": ()})["lines"]}
    gutter = len(str(max(source)))
    widest = min(max((len(source[n]) for n in texts if n in source), default=0), _WIDEST)
    for n, code in source.items():
        if n - 1 not in source and n != min(source):
            yield f"{'⋮':>{gutter}}  │"
        bar = _BARS[round(levels[n] * (len(_BARS) - 1))] if n in levels else " "
        shown = f"{_straight(code):<{widest}}   {texts[n]}" if n in texts else _straight(code)
        yield f"{n:>{gutter}} {bar}│ {shown}"
        for d in below.get(n, ()):
            yield from (f"{'':>{gutter}}  │ {line}" for line in _below(report, d))
    yield from _legend(report)


def _below(report: Report, d: Mapping[str, Any]) -> Iterator[str]:
    """A diagnostic below its line."""
    yield _underlined(d, "^")
    yield _title(report, d)
    for r in d["related"]:
        yield from (f"  {line}" for line in _quoted(report, r, "-"))
    if d["help"]:
        yield f"  help: {d['help']}"


def _alone(report: Report, d: Mapping[str, Any]) -> Iterator[str]:
    """A diagnostic without a line of its own, with all lines that it refers to."""
    yield f"{kind(d)}: {d['message']}"
    for place, sign in ((d, "^"), *((r, "-") for r in d["related"])):
        yield from (f"  {line}" for line in _quoted(report, place, sign))
    if d["help"]:
        yield f"  help: {d['help']}"


def _quoted(report: Report, place: Mapping[str, Any], sign: str) -> Iterator[str]:
    """The line of a place, with what is underlined in it."""
    name, code = place_name(report, place), place["text"]
    if name:
        indent = len(code) - len(code.lstrip())
        yield f"{name}: {_straight(code[indent:])}"
        yield " " * (len(name) + 2) + _underlined(place, sign, indent)


def _underlined(place: Mapping[str, Any], sign: str, indent: int = 0) -> str:
    start, end = (max(column - indent, 0) for column in underline(place))
    end = max(end, start + 1)
    return f"{' ' * start}{sign * (end - start)} {place['label']}".rstrip()


def _straight(code: str) -> str:
    """A line of code with tabs as wide as the other characters, for what stands below it."""
    return code.expandtabs(1)


def _legend(report: Report) -> Iterator[str]:
    heat, at = report["heat"], looked_at(report["probe"])
    if heat is not None and heat["lines"]:
        what = f"root mean square of ∂{heat['loss']}/∂ of what a line computes"
        low, high = scale(heat)
        yield f"heat: {f'{_BARS[0]} {low} to ' if low else ''}{_BARS[-1]} {high}, {what}"
    if at:
        yield at


def _opened(report: Report) -> Iterator[str]:
    """The listings that were asked for."""
    found = listings_by_name(report).get(report["open"], [])
    for listing in found:
        which = f"{listing['name']} of {listing['kernel']}" if len(found) > 1 else listing["name"]
        means = margin_means(report, listing)
        yield from ("", f"{which}{f' ({means})' if means else ''}:")
        numbers = margin(report, listing)
        width = max(map(len, numbers))
        side = [f"{n:>{width}} │ " if width else "" for n in numbers]
        yield from (f"  {n}{line}" for n, line in zip(side, listing["text"].split("\n"), strict=True))
