"""Below an error of a cell, what its code means: closed until a person clicks on it."""

from __future__ import annotations

from typing import Any

from IPython.display import display

from dsim.diagnostics import DsimError
from dsim.notebook.forms.page import below_error
from dsim.notebook.report.explained import explained


def install(shell: Any) -> None:
    """From the next cell on, where there is a page."""
    if getattr(shell, "kernel", None) is not None:
        shell.events.register("post_run_cell", _ended)


def remove(shell: Any) -> None:
    """No more."""
    if _ended in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", _ended)


def _ended(result: Any) -> None:
    error = result.error_in_exec
    if not isinstance(error, DsimError):
        return
    told = explained({"level": d.level.value, "code": d.code} for d in error.diagnostics)
    commands = ", ".join(f"`dsim explain {e['code']}`" for e in told)
    display({"text/html": below_error(told), "text/plain": f"What it means: {commands}"}, raw=True)
