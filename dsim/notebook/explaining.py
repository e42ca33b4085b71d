"""Below an error or a warning of a cell, what its code means: closed until a person clicks on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from IPython.display import display

from dsim.diagnostics import Diagnostic, DsimError
from dsim.notebook.forms.page import below_error
from dsim.notebook.report.explained import explained
from dsim.runtime.state.notices import DsimWarning


class _Heard:
    """The warnings that the running cell has shown: neither those that a filter drops, nor recorded ones.

    Attributes
    ----------
    found : list of Diagnostic
        What they tell.
    """

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._show: Callable[..., None] | None = None
        self._before: Callable[..., None] = warnings.showwarning

    def install(self) -> None:
        """From now on."""
        before = warnings.showwarning

        def show(message: Warning | str, *told: Any, **named: Any) -> None:
            before(message, *told, **named)
            if self._show is not None and isinstance(message, DsimWarning) and message.diagnostic is not None:
                self.found.append(message.diagnostic)

        self._show, self._before = show, before
        warnings.showwarning = show

    def remove(self) -> None:
        """No more. What others have put in the place of `warnings.showwarning` since then stays."""
        if self._show is not None and warnings.showwarning is self._show:
            warnings.showwarning = self._before
        self._show = None


_heard = _Heard()


def install(shell: Any) -> None:
    """From the next cell on, where there is a page."""
    if getattr(shell, "kernel", None) is not None:
        shell.events.register("pre_run_cell", _begun)
        shell.events.register("post_run_cell", _ended)
        _heard.install()


def remove(shell: Any) -> None:
    """No more."""
    for event, called in (("pre_run_cell", _begun), ("post_run_cell", _ended)):
        if called in shell.events.callbacks[event]:
            shell.events.unregister(event, called)
    _heard.remove()


def _begun(info: Any) -> None:
    _heard.found.clear()  # what was shown between cells is below no cell


def _ended(result: Any) -> None:
    error = result.error_in_exec
    diagnostics = [*_heard.found, *(error.diagnostics if isinstance(error, DsimError) else ())]
    _heard.found.clear()
    if not diagnostics:
        return
    told = explained({"level": d.level.value, "code": d.code} for d in diagnostics)
    commands = ", ".join(f"`dsim explain {e['code']}`" for e in told)
    display({"text/html": below_error(told), "text/plain": f"What it means: {commands}"}, raw=True)
