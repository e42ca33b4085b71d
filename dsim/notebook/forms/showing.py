"""Puts reports into outputs: one bundle with three forms, and below it what moves the probe."""

from __future__ import annotations

from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from dsim.notebook.forms.page import page
from dsim.notebook.forms.plain import text
from dsim.notebook.report.explained import explained
from dsim.notebook.report.figures import count
from dsim.notebook.report.locations import Json, harmless
from dsim.notebook.report.report import MIME, empty
from dsim.notebook.tape import measured, tape_html, tape_json, tape_text, tape_timings
from dsim.runtime.tapes.tape import Tape

Bundle = dict[str, Any]


def bundle(report: Json, tape: str = "") -> Bundle:
    """The three forms of a report; `tape` is its tape as HTML."""
    if report["diagnostics"]:
        report["explanations"] = explained(report["diagnostics"])
    return {MIME: report, "text/html": page(report, tape), "text/plain": text(report)}


def tape_bundle(tape: Tape) -> Bundle:
    """The three forms of a tape alone."""
    report = empty("tape", None, None)
    report["open"] = "tape"
    report["tape"] = tape_json(measured(tape))
    report["summary"]["text"] = f"tape of {harmless(tape.loss.name)}: {count(len(tape.calls), 'call')}"
    report["timings"] = tape_timings(tape)
    return {MIME: report, "text/html": tape_html(tape), "text/plain": harmless(tape_text(tape))}


def running_cell(shell: Any) -> str | None:
    """The front end's identity of the running cell; None where it names none."""
    parent = getattr(shell, "get_parent", dict)()  # of ipykernel's shells
    return parent.get("metadata", {}).get("cellId")


def naming(cell: str | None) -> dict[str, Any]:
    """The metadata of an output of this cell, by which pages identify its owner.

    Copies of the cell do, and pages that were loaded again: `session` is how this process of the kernel signs
    all of its messages.
    """
    if cell is None:
        return {}
    session = getattr(getattr(get_ipython(), "kernel", None), "session", None)
    signed = {} if session is None else {"session": session.session}
    return {"dsim": {"cell": cell, **signed}}


def publish(shown: Bundle, cell: str | None = None) -> DisplayHandle:
    """Shows a bundle in the running cell; returns a handle that can replace it."""
    cell = running_cell(get_ipython()) if cell is None else cell
    handle = display(shown, raw=True, display_id=True, metadata=naming(cell))
    assert handle is not None
    return handle
