"""One report as JSON: `report.schema.json` defines its structure, `docs/report.md` its meaning.

Everything but ``timings`` is the same for the same cell and the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dsim.diagnostics import Diagnostic, Level
from dsim.notebook.cell.cells import Cell
from dsim.notebook.report.locations import Json, Places, harmless, in_order
from dsim.notebook.report.summary import Summary

MIME = "application/vnd.dsim.report+json"
VERSION = 2


def empty(kind: str, source: str | None, kernel: str | None) -> Json:
    """An empty report."""
    return {
        "version": VERSION,
        "kind": kind,
        "source": source,
        "origins": [],
        "kernel": kernel,
        "status": "ok",
        "open": "summary",
        "summary": {"text": "", "rows": []},
        "heat": None,
        "probe": None,
        "diagnostics": [],
        "listings": [],
        "tape": None,
        "timings": {},
    }


def failed(cell: Cell, kernel: str | None, errors: Iterable[Diagnostic]) -> Json:
    """The report of a cell that could not be compiled or run: its state, and the marks of its lines.

    The exception below it shows the error.
    """
    places, errors = Places(cell), list(errors)
    report = empty("kernel", cell.source.text, kernel)
    # Under `init(strict=True)` a cell fails for warnings.
    level = None if any(d.level is Level.ERROR for d in errors) else Level.ERROR
    found = in_order(places.diagnostic(d, level) for d in errors)
    report["status"] = "failed"
    report["diagnostics"] = found
    report["origins"] = places.origins()
    if kernel is None:
        what = "not compiled: the names that this cell defines are unchanged"
    else:
        what = f"{kernel}: compiled, but it failed when it ran; every field is restored"
    report["summary"] = {"text": what, "rows": []}
    return report


def finished(
    report: Json,
    summary: Summary,
    found: Iterable[Diagnostic],
    places: Places,
    listings: Sequence[Json],
    shown: str | None,
) -> Json:
    """`report` with the diagnostics of a compiled kernel."""
    # Nothing failed: a missing gradient is an error only where one is requested.
    diagnostics = [places.diagnostic(d, Level.WARNING if d.level is Level.ERROR else None) for d in found]
    report["diagnostics"] = in_order(diagnostics)
    report["listings"] = list(listings)
    report["origins"] = places.origins()
    report["summary"] = {
        "text": harmless(summary.text()),
        "rows": [
            {"kernel": harmless(kernel), "label": label, "value": harmless(value)}
            for kernel, label, value in summary.rows
        ],
    }
    if shown is not None:
        report["open"] = shown
    return report
