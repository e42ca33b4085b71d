"""One report on the page: its sliders, its updates when it is out of date, and with `--live` its numbers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from IPython.display import display

from dsim.backends.prints import silent
from dsim.diagnostics import Diagnostic, DsimError
from dsim.frontend.source.captures import changed
from dsim.notebook.cell.cells import Cell
from dsim.notebook.cell.request import parameters, request, sources_named
from dsim.notebook.forms.callbacks import Callbacks
from dsim.notebook.forms.dependencies import Dependencies
from dsim.notebook.forms.scrubber import Scrubber
from dsim.notebook.forms.showing import bundle, naming, publish
from dsim.notebook.report.locations import Json, harmless, in_order
from dsim.notebook.report.reporting import ReportRun, compile_cell, touched
from dsim.notebook.running import state
from dsim.notebook.running.numbers import NumbersRead

_AGAIN = "run this cell again"
_WITH = "with the present numbers, the run"
_STATE = "stale", "retried"  # the fields of a report that say that it is out of date


class Shown:
    """One report on the page.

    Parameters
    ----------
    run : ReportRun
        What it shows.
    of : Cell
        The text of its cell.
    names : mapping of str to object
        The names of the notebook.
    callbacks : Callbacks or None
        What runs in other threads; None where no sliders can be used.
    cell : str or None
        What the front end calls its cell.
    """

    def __init__(
        self,
        run: ReportRun,
        of: Cell,
        names: Mapping[str, Any],
        callbacks: Callbacks | None,
        cell: str | None,
    ) -> None:
        self._of, self._names, self._cell, self._callbacks = of, names, cell, callbacks
        self._given: dict[str, float] = {}  # arguments that an explorer has set
        self._now(run)
        made = bundle(run.report, run.tape)
        run.timed()
        self._handle = publish(made, cell)
        self._scrubber: Scrubber | None = None
        if callbacks is not None and Scrubber.useful(run.report):
            self._scrubber = Scrubber(run.report, self._look, lambda _: self._show(), self.outdated)
            display(self._scrubber.widget)

    @property
    def replaced(self) -> bool:
        """Whether its kernel was replaced or deleted."""
        return self._dependencies.replaced

    @property
    def live(self) -> bool:
        """Whether it follows numbers: tools that run a notebook from top to bottom do not name its cells."""
        return self._run.asked.options.live and self._cell is not None

    def outdated(self) -> str:
        """Its changed dependencies, as text; empty when none has changed. Updates its display."""
        changes = self._dependencies.told(numbers=not self.live)
        told = changes or self._problem
        report = self._run.report
        if told != report.get("stale", ""):
            for key in _STATE:
                report.pop(key, None)
            if told:
                report["stale"] = told
            if told and not changes:
                report["retried"] = True
            if self._scrubber is not None:
                self._scrubber.stop(f"{changes}: {_AGAIN}" if changes else self._problem)
            self._show()
        return told

    def close(self) -> None:
        """Removes its sliders, and their snapshot."""
        if self._scrubber is not None:
            self._scrubber.close()

    def _look(self, at: tuple[int, ...], trip: int | None) -> Json:
        assert self._callbacks is not None
        with self._callbacks.apart():
            return self._run.look(at, trip)

    def _show(self) -> None:
        """Replaces its output."""
        shown = bundle(self._run.report, self._run.tape)
        self._handle.update(shown, raw=True, metadata=naming(self._cell))

    # -- following numbers

    def give(self, numbers: Mapping[str, float]) -> None:
        """Numbers that an explorer has set: those with the name of a parameter become its argument."""
        own = self._parameters.intersection(numbers)
        if own:
            self._given = {**self._given, **{name: numbers[name] for name in own}}

    def follow(self) -> None:
        """Computes a live report again, where numbers have changed that it depends on.

        If that fails, the report says so, and is out of date until numbers change again.
        """
        if not self.live or self._dependencies.told(numbers=False) or not self._changed():
            return
        try:
            run = self._computed()
        except KeyboardInterrupt:
            self._failed(f"{_WITH} was stopped")
            raise
        except DsimError as error:
            self._failed(f"{_WITH} fails: {_message(error)}", error.diagnostics)
        except Exception as error:  # noqa: BLE001 (the person's: of a host operation, a property, a name)
            self._failed(f"{_WITH} fails: {type(error).__name__}: {error}")
        else:
            run.timed()
            self._now(run)
            if self._scrubber is not None:
                self._scrubber.follow(run.report)
            self._show()

    def _changed(self) -> bool:
        tried, given = self._tried
        return given != self._given or changed(self._dependencies.numbers(), tried) or self._numbers.written()

    def _computed(self) -> ReportRun:
        """The report that the cell would show now."""
        begin, before = time.perf_counter(), self._run
        asked = request(before.asked.kernels, before.asked.options, self._names, self._given)
        with sources_named(asked):
            compiled = compile_cell(asked)
            with silent(), state.unnoticed(touched(asked, compiled)):
                return self._of.launched(lambda: ReportRun(self._of, asked, compiled, begin, before.outlook))

    def _now(self, run: ReportRun) -> None:
        """Takes a report, as the one of the present numbers."""
        self._run, self._problem = run, ""
        self._dependencies = Dependencies(self._of, run.asked, self._names)
        self._parameters = frozenset(parameters(run.asked))
        self._note()

    def _failed(self, problem: str, errors: Iterable[Diagnostic] = ()) -> None:
        """Keeps the last report, out of date, with the errors at their lines."""
        self._problem = harmless(problem)
        self._run.report["diagnostics"] = in_order(self._run.places.diagnostic(d) for d in errors)
        self._run.report["origins"] = self._run.places.origins()
        self._note()
        self._run.report["stale"] = ""  # one that fails in the same way may do so at another line
        self.outdated()

    def _note(self) -> None:
        """Notes what the present numbers are."""
        asked, form = self._run.asked, self._run.form
        self._tried = self._dependencies.numbers(), self._given
        if self.live:
            assert form is not None  # it ran
            self._numbers = NumbersRead(form, asked.loss, asked.kernel.taken_apart(asked.args))


def _message(error: DsimError) -> str:
    return error.diagnostics[0].message if error.diagnostics else str(error)
