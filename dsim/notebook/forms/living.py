"""The reports on the page of a live notebook: their sliders, and their updates when they are out of date.

After each cell the reports of the others compare their dependencies (`dependencies.py`).
"""

from __future__ import annotations

from typing import Any

from IPython.display import display

from dsim.notebook.cell.cells import Cell
from dsim.notebook.forms.dependencies import Dependencies
from dsim.notebook.forms.scrubber import Scrubber
from dsim.notebook.forms.showing import bundle, naming, publish, running_cell
from dsim.notebook.report.reporting import ReportRun

_AGAIN = "run this cell again"

_Key = tuple[str | None, str, int]  # a cell, a kernel, and which of its reports in this run of the cell


class Shown:
    """One report on the page.

    Parameters
    ----------
    run : ReportRun
        What it shows.
    dependencies : Dependencies
        What it depends on.
    movable : bool
        Whether sliders can be used.
    cell : str or None
        What the front end calls its cell.
    """

    def __init__(self, run: ReportRun, dependencies: Dependencies, movable: bool, cell: str | None) -> None:
        self._run = run
        self._cell = cell
        self._dependencies = dependencies
        made = bundle(run.report, run.tape)
        run.timed()
        self._handle = publish(made, cell)
        self._scrubber: Scrubber | None = None
        if movable and Scrubber.useful(run.report):
            self._scrubber = Scrubber(run.report, run.look, lambda _: self._show(), self.outdated)
            display(self._scrubber.widget)

    @property
    def replaced(self) -> bool:
        """Whether its kernel was replaced or deleted."""
        return self._dependencies.replaced

    def outdated(self) -> str:
        """Its changed dependencies, as text; empty when none has changed. Updates its display."""
        told = self._dependencies.told()
        if told != self._run.report.get("stale", ""):
            self._run.report.pop("stale", None)
            if told:
                self._run.report["stale"] = told
            if self._scrubber is not None:
                self._scrubber.stop(f"{told}: {_AGAIN}" if told else "")
            self._show()
        return told

    def close(self) -> None:
        """Removes its sliders, and their snapshot."""
        if self._scrubber is not None:
            self._scrubber.close()

    def _show(self) -> None:
        """Replaces its output."""
        shown = bundle(self._run.report, self._run.tape)
        self._handle.update(shown, raw=True, metadata=naming(self._cell))


class Living:
    """The reports on the page, by their cells; by their kernels where the front end does not name its cells.

    Only front ends name cells. Tools that run a notebook from its first cell to its last keep each report as
    it was when its cell had run.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cell: str | None = None  # that runs
        self._shown: dict[_Key, Shown] = {}

    def install(self) -> None:
        """Registers callbacks for the start and end of cells; one runs already."""
        self._cell = running_cell(self._shell)
        self._shell.events.register("pre_run_cell", self._begins)
        self._shell.events.register("post_run_cell", self._ended)

    def remove(self) -> None:
        """Unregisters the callbacks, and removes all sliders."""
        self._shell.events.unregister("pre_run_cell", self._begins)
        self._shell.events.unregister("post_run_cell", self._ended)
        for key in list(self._shown):
            self._close(key)

    def show(self, run: ReportRun, of: Cell) -> None:
        """Shows the report of a cell, and sliders below it where they can be used."""
        key = self._cell, run.report["kernel"], 0
        if self._cell is None:
            self._close(key)
        while key in self._shown:  # a loop in the cell makes several
            key = *key[:2], key[2] + 1
        movable = getattr(self._shell, "kernel", None) is not None
        dependencies = Dependencies(of, run.asked, self._shell.user_ns)
        self._shown[key] = Shown(run, dependencies, movable, self._cell)

    def _begins(self, info: Any) -> None:
        if info.cell_id is not None:  # not a cell of a notebook that a cell runs
            self._cell = info.cell_id
            for key in [k for k in self._shown if k[0] == info.cell_id]:
                self._close(key)  # the outputs go, whatever the cell is by now

    def _ended(self, result: Any) -> None:
        if result.info.cell_id is None:
            return
        self._cell = None
        for key, shown in list(self._shown.items()):
            if shown.outdated() and shown.replaced:
                self._close(key)

    def _close(self, key: _Key) -> None:
        shown = self._shown.pop(key, None)
        if shown is not None:
            shown.close()
