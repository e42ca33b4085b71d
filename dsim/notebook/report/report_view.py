"""A read-only view of a report for its HTML and text forms: names of places, what stands at which line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

Report = Mapping[str, Any]
Row = Mapping[str, str]


def error_below(report: Report) -> bool:
    """Whether the cell failed: then the error below the report tells what is wrong, and nothing else does."""
    return report["kind"] == "kernel" and report["status"] == "failed"


def kind(d: Mapping[str, Any]) -> str:
    """The level and code of a diagnostic."""
    return f"{d['level']}[{d['code']}]"


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


def looked_at(probe: Mapping[str, Any] | None) -> str:
    """Of which iteration the values at the ends of lines are; empty when there is no loop."""
    at = where(probe)
    if probe is None or not at:
        return ""
    return f"values at {at}" if probe["values"] else f"no line runs at {at}"


def ends(report: Report, key: str) -> dict[int, str]:
    """What stands at the end of each line: `key` is ``brief``, or ``text`` for all of it."""
    found: dict[int, list[str]] = {}
    for v in (report["probe"] or {"values": ()})["values"]:
        found.setdefault(v["line"], []).append(v[key])
    return {line: "   ".join(texts) for line, texts in found.items()}


def by_line(diagnostics: Sequence[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    """Diagnostics by the line that they stand below."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for d in diagnostics:
        found.setdefault(d["line"], []).append(d)
    return found


def source_lines(report: Report) -> dict[int, str]:
    """The lines of the report's text that it is about, by their numbers in its cell or file."""
    return about(report, report["source"].split("\n"))


def about(report: Report, lines: Sequence[T]) -> dict[int, T]:
    """Those of the lines of the text, in some form, that the report is about, by their numbers."""
    found = dict(enumerate(lines, report.get("first_line", 1)))
    if "parts" not in report:
        return found
    return {n: found[n] for first, last in report["parts"] for n in range(first, last + 1)}


# ------------------------------------------------------------------ places


def in_text(report: Report, place: Mapping[str, Any]) -> bool:
    """Whether a place of a diagnostic is in the cell or file of the report's text."""
    if place["origin"] is None:
        return False
    return report["origins"][place["origin"]]["here"] or (
        report["kind"] == "function" and place["origin"] == 0
    )


def place_name(report: Report, place: Mapping[str, Any]) -> str:
    """``line 3``, or with the cell or file when it is not the report's own; empty for no place."""
    if place["origin"] is None:
        return ""
    origin = report["origins"][place["origin"]]
    return f"{'' if origin['here'] else origin['name'] + ', '}line {place['line']}"


def underline(place: Mapping[str, Any]) -> tuple[int, int]:
    """The columns of the first line of a place that it is about: at least one character."""
    end = place["end_column"] if place["end_line"] == place["line"] else len(place["text"])
    return place["column"], max(end, place["column"] + 1)


# ------------------------------------------------------------------ the summary and the listings


def kernels(report: Report) -> list[str]:
    """The kernels that the report tells of."""
    told = [*report["summary"]["rows"], *report["listings"]]
    return list(dict.fromkeys(each["kernel"] for each in told))


def rows_by_kernel(report: Report) -> Iterator[tuple[str, list[Row]]]:
    """The rows of the summary of each kernel, after its name, which is empty where there is only one."""
    rows = report["summary"]["rows"]
    if len(kernels(report)) < 2:
        yield from [("", rows)] if rows else []
        return
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        yield kernel, [row for row in rows if row["kernel"] == kernel]


def listings_by_name(report: Report) -> dict[str, list[Mapping[str, Any]]]:
    """The listings of each name: one for each kernel."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for listing in report["listings"]:
        found.setdefault(listing["name"], []).append(listing)
    return found


def margin(report: Report, listing: Mapping[str, Any]) -> list[str]:
    """The user's line of each line of a listing: its number, after the cell or file if not the main one."""
    main = _main_origin(listing)
    return [
        ""
        if line is None
        else str(line)
        if origin == main
        else f"{report['origins'][origin]['name'].removeprefix('cell ')}:{line}"
        for line, origin in zip(listing["lines"], listing["origins"], strict=True)
    ]


def margin_means(report: Report, listing: Mapping[str, Any]) -> str:
    """What the numbers without a name in the margin of a listing are; empty where there are none."""
    main = _main_origin(listing)
    return "" if main is None else f"on the left, lines of {report['origins'][main]['name']}"


def _main_origin(listing: Mapping[str, Any]) -> int | None:
    """The cell or file that most of the listing is from: of several with equally many lines the first."""
    found = [origin for origin in listing["origins"] if origin is not None]
    return max(sorted(set(found)), key=found.count) if found else None


def line_text(report: Report, origin: int | None, line: int | None) -> str:
    """The text of a user's line that a listing comes from."""
    if origin is None or line is None:
        return ""
    if report["origins"][origin]["here"]:
        return report["source"].split("\n")[line - 1]
    return next((each["text"] for each in report["origins"][origin]["lines"] if each["line"] == line), "")
