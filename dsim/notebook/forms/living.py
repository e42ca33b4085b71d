"""The reports on the page of a live notebook, and what happens there that concerns them.

After each cell the reports of the others compare their dependencies. Reports with `--live` are computed again
when a cell, a callback of a widget or an explorer has changed their numbers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dsim.live.followers import FOLLOWERS
from dsim.live.latest import PAUSE, Latest
from dsim.notebook.cell.cells import Cell
from dsim.notebook.forms.callbacks import Callbacks
from dsim.notebook.forms.showing import running_cell
from dsim.notebook.forms.shown import Shown
from dsim.notebook.report.reporting import ReportRun
from dsim.runtime.state.evaluations import EVALUATING

_LONGEST_PAUSE = 0.5  # seconds between two rounds of reports that take long

_Key = tuple[str | None, str, int]  # a cell, a kernel, and which of its reports in this run of the cell


class Living:
    """The reports on the page, by their cells; by their kernels where the front end does not name its cells.

    Only front ends name cells. Tools that run a notebook from its first cell to its last keep each report as
    it was when its cell had run.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cell: str | None = None  # that runs
        self._shown: dict[_Key, Shown] = {}
        self._callbacks = Callbacks()
        self._latest = Latest(self._follow, lambda: None)  # stopped reports say so themselves
        self._events = {
            "pre_execute": self._callbacks.begins,
            "post_execute": self._executed,
            "pre_run_cell": self._begins,
            "post_run_cell": self._ended,
        }

    def install(self) -> None:
        """Registers what cells and widgets' callbacks call as they begin and end; one cell runs already."""
        self._cell = running_cell(self._shell)
        for name, function in self._events.items():
            self._shell.events.register(name, function)
        FOLLOWERS.add(self)

    def remove(self) -> None:
        """Unregisters the callbacks, and removes all sliders."""
        for name, function in self._events.items():
            self._shell.events.unregister(name, function)
        FOLLOWERS.discard(self)
        self._latest.cancel()
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
        callbacks = self._callbacks if movable else None
        self._shown[key] = Shown(run, of, self._shell.user_ns, callbacks, self._cell)

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

    # -- following numbers

    def _executed(self) -> None:
        """A cell or a widget's callback has ended, in any thread."""
        self._callbacks.ended()
        self.told({})

    def told(self, numbers: Mapping[str, float]) -> None:
        """Something may have changed, in any thread; the reports follow when nothing else runs."""
        live = [shown for shown in list(self._shown.values()) if shown.live]
        for shown in live:
            shown.give(numbers)
        if live:
            self._latest.ask()

    def _follow(self) -> None:
        begin = time.perf_counter()
        if not EVALUATING.acquire(timeout=PAUSE):
            self._latest.ask()  # an optimisation in its thread holds the fields
            return
        try:
            with self._callbacks.apart() as free:
                if not free:
                    return  # its end asks again
                for shown in list(self._shown.values()):
                    shown.follow()
        finally:
            EVALUATING.release()
        # A person who drags sees the explorer at least half of the time.
        self._latest.pause = min(max(PAUSE, time.perf_counter() - begin), _LONGEST_PAUSE)
