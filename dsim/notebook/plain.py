"""A report as plain text, for terminals and for whatever shows nothing else: lines, columns, carets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dsim.notebook.places import harmless

_BARS = "▁▂▃▄▅▆▇█"
_WIDEST = 72  # columns of code before the texts at line ends
Report = Mapping[str, Any]


def text(report: Report) -> str:
    """The whole report; of a failed one, whose error stands below it, only where it failed."""
    lines = [report["summary"]["text"]]
    if report["status"] == "failed":
        found = [d for d in report["diagnostics"] if d["level"] == "error"]
        if found:
            lines[0] += f": line {found[0]['line']}, column {found[0]['column'] + 1}: {found[0]['message']}"
        lines += [f"  line {d['line']}, column {d['column'] + 1}: {title(d)}" for d in found[1:]]
        return "\n".join(map(harmless, lines))
    lines += _rows(report)
    if report["source"] is not None and (report["heat"] or report["probe"] or report["diagnostics"]):
        lines += ["", *_listing(report)]
    else:
        lines += [line for d in report["diagnostics"] for line in ("", *_elsewhere(d))]
    lines += _opened(report)
    return "\n".join(harmless(line).rstrip() for line in lines)


def kind(d: Mapping[str, Any]) -> str:
    """The level and code of a diagnostic."""
    return f"{d['level']}[{d['code']}]"


def title(d: Mapping[str, Any]) -> str:
    """What a diagnostic says, with its level and code."""
    return f"{kind(d)}: {d['message']}"


def scale(heat: Mapping[str, Any]) -> tuple[str, str]:
    """The adjoints at both ends of the scale of heat; the first text is empty when they are equal."""
    low, high = f"{heat['low']:.3g}", f"{heat['high']:.3g}"
    return ("", high) if low == high else (low, high)


def where(probe: Mapping[str, Any] | None) -> str:
    """The iteration that was looked into: ``i = 3, trip 10 of 10``; empty when there is no loop."""
    if probe is None:
        return ""
    told = [f"{i['name']} = {i['value']}" for i in probe["indices"]]
    if probe["trip"] is not None:
        told.append(f"trip {probe['trip']['value'] + 1} of {probe['trip']['count']}")
    return ", ".join(told)


def ends(report: Report) -> dict[int, str]:
    """The text at the end of each line."""
    found: dict[int, list[str]] = {}
    for v in (report["probe"] or {"values": ()})["values"]:
        found.setdefault(v["line"], []).append(v["text"])
    return {line: "   ".join(texts) for line, texts in found.items()}


def by_line(diagnostics: Sequence[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    """Diagnostics by the line that they stand below."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for d in diagnostics:
        found.setdefault(d["line"], []).append(d)
    return found


def _rows(report: Report) -> list[str]:
    rows = report["summary"]["rows"]
    width = max((len(r["label"]) for r in rows), default=0)
    return [f"  {r['label']:<{width}}  {r['value']}" for r in rows]


def _listing(report: Report) -> Iterator[str]:
    source = report["source"].split("\n")
    texts, below = ends(report), by_line(report["diagnostics"])
    levels = {h["line"]: h["level"] for h in (report["heat"] or {"lines": ()})["lines"]}
    gutter = len(str(len(source)))
    widest = min(max((len(source[n - 1]) for n in texts if n <= len(source)), default=0), _WIDEST)
    for n, code in enumerate(source, 1):
        bar = _BARS[round(levels[n] * (len(_BARS) - 1))] if n in levels else " "
        shown = f"{code.expandtabs(1):<{widest}}   {texts[n]}" if n in texts else code.expandtabs(1)
        yield f"{n:>{gutter}} {bar}│ {shown}"
        for d in below.get(n, ()):
            yield from (f"{'':>{gutter}}  │ {line}" for line in _below(d, code))
    yield from _legend(report)


def _below(d: Mapping[str, Any], code: str) -> Iterator[str]:
    end = d["end_column"] if d["end_line"] == d["line"] else len(code)
    yield " " * d["column"] + "^" * max(end - d["column"], 1)
    yield f"line {d['line']}, column {d['column'] + 1}: {title(d)}"
    yield from _more(d)


def _more(d: Mapping[str, Any]) -> Iterator[str]:
    for r in d["related"]:
        yield f"  line {r['line']}: `{r['source'].strip()}`: {r['message']}"
    if d["help"]:
        yield f"  help: {d['help']}"


def _elsewhere(d: Mapping[str, Any]) -> Iterator[str]:
    yield f"line {d['line']}, column {d['column'] + 1}: {title(d)}"
    yield from _more(d)


def _legend(report: Report) -> Iterator[str]:
    heat, at = report["heat"], where(report["probe"])
    if heat is not None and heat["lines"]:
        what = f"root mean square of ∂{heat['loss']}/∂ of what a line computes"
        low, high = scale(heat)
        yield f"heat: {f'{_BARS[0]} {low} to ' if low else ''}{_BARS[-1]} {high}, {what}"
    if at:
        yield f"values at {at}"


def _opened(report: Report) -> Iterator[str]:
    """The listing that was asked for."""
    for listing in report["listings"]:
        if listing["name"] == report["open"]:
            yield from ("", f"{listing['name']}:", *(f"  {line}" for line in listing["text"].split("\n")))
