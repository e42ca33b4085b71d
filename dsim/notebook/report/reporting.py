"""From a request to its report: compiles, runs, inspects an iteration, assembles the parts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.notebook.cell.request import CellRequest
from dsim.notebook.report import figures, kink_notes, unused, watched
from dsim.notebook.report.listings import listings
from dsim.notebook.report.locations import Json, Places
from dsim.notebook.report.nonfinite_diagnostics import NonfiniteDiagnostics
from dsim.notebook.report.report import empty, finished
from dsim.notebook.report.subject import Subject
from dsim.notebook.report.summary import Summary
from dsim.notebook.running import checking, runs, state
from dsim.notebook.running.compiling import machine_code
from dsim.notebook.tape import tape_html, tape_json, tape_timings
from dsim.runtime.fields.fields import Field
from dsim.runtime.kernels.findings import overwrites
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.launching.forms import Form
from dsim.runtime.recording import zeros
from dsim.runtime.state.notices import overheard


@dataclass
class CompiledCell:
    """The result of compiling a cell's kernels.

    Attributes
    ----------
    forms : dict of str to (Form or None)
        The kernels by their names; None when there is one for each of some arguments, and none was given.
    found : list of Diagnostic
        The diagnostics of all of them.
    """

    forms: dict[str, Form | None] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def form(self) -> Form | None:
        """The last kernel."""
        return list(self.forms.values())[-1]


def compile_cell(asked: CellRequest) -> CompiledCell:
    """Compiles all kernels of a cell, the last one also for its run.

    Raises
    ------
    CompilationError
        When one of them cannot be compiled.
    """
    begin, made = time.perf_counter(), CompiledCell()
    with overheard() as heard:
        for k in asked.kernels:
            last = k is asked.kernel
            form = made.forms[k.__name__] = _compiled(k, asked if last else None)
            if form is not None:
                made.found += overwrites(form) if k.generic else k.check()
                machine_code(form, asked.loss if last else None)
    made.found += heard
    made.seconds = time.perf_counter() - begin
    return made


def _compiled(kernel: Kernel, asked: CellRequest | None) -> Form | None:
    if not kernel.generic:
        return kernel.primal
    if asked is None or not (asked.options.runs or asked.args):
        return None
    with kernel.at(*asked.args) as (form, _):
        return form


def touched(asked: CellRequest, compiled: CompiledCell) -> runs.Touched:
    """The fields and arrays that a run for the report changes, and puts back."""
    form = compiled.form
    if form is None or not asked.options.runs:
        return []
    return runs.touched(form, asked.loss, asked.kernel.taken_apart(asked.args))


class Outlook(NamedTuple):
    """Where a report looks: an iteration and a trip, and the kernel with probes."""

    at: tuple[int, ...] | None
    trip: int | None
    watched: watched.Watched | None


class ReportRun:
    """A report, and the run behind it, which can be inspected again.

    Parameters
    ----------
    subject, asked, compiled
        What the report is about.
    begin : float
        When it began, by `time.perf_counter`.
    outlook : Outlook, optional
        Where an earlier report on the same kernel looked: this one looks there, too, if its loops reach it.

    Attributes
    ----------
    report : dict
        The JSON.
    tape : str
        Its tape as HTML; empty when there was none.
    recorded : Tape or None
        That tape.
    check : GradientCheck or None
        The comparison of its gradient with differences, if requested.
    form : Form or None
        The kernel that ran.
    found : list of Diagnostic
        Its diagnostics.
    seen : Observation or None
        What lines assigned in the iteration that was inspected last.
    value : float or None
        The loss.
    gradients : dict of str to ndarray
        Of the loss, by field.
    tangents : dict of str to ndarray
        Of what was written in forward mode, by field.
    """

    def __init__(
        self,
        subject: Subject,
        asked: CellRequest,
        compiled: CompiledCell,
        begin: float,
        outlook: Outlook | None = None,
    ) -> None:
        self._begin = begin
        self.subject, self.asked = subject, asked
        self.places = Places(subject)
        self.report = empty(subject.kind, subject.source.text, asked.kernel.__name__)
        if subject.source.first_line != 1:
            self.report["first_line"] = subject.source.first_line
        if len(subject.parts) > 1:
            self.report["parts"] = [list(part) for part in subject.parts]
        self._compiled, self.form = compiled, compiled.form
        self.found = list(compiled.found)
        self.seen: watched.Observation | None = None
        self.value: float | None = None
        self.gradients: dict[str, np.ndarray] = {}
        self.tangents: dict[str, np.ndarray] = {}
        self._summary = Summary(asked.kernel.__name__, tuple(compiled.forms))
        self._inspector: watched.Inspector | None = None
        self._outlook = outlook
        self._not_finite = runs.NonfiniteCounts({}, {}, {})
        self.tape, self.recorded, self.check = "", None, None
        self._times = self.report["timings"]
        self._times["compile_s"] = compiled.seconds
        texts: list[Json] = []
        for name, form in compiled.forms.items():
            self._describe(name, form)
            texts += [] if form is None else listings(form, name, self.places, self._shown)
        if compiled.form is not None and asked.options.runs:
            self._overheard(compiled.form)
        finished(self.report, self._summary, self.found, self.places, texts, self._shown)

    def timed(self) -> None:
        """Ends the timing."""
        self._times["total_s"] = time.perf_counter() - self._begin

    @property
    def _cell(self) -> str | None:
        """The file name of the cell that the report is about."""
        return self.subject.source.file if self.subject.kind == "kernel" else None

    @property
    def _shown(self) -> str | None:
        return self.asked.options.show

    def _describe(self, name: str, form: Form | None) -> None:
        """What a kernel is, before it runs."""
        if form is None:
            self._summary.part("compiled when it is launched, for its arguments", name)
            return
        self._summary.effects(form, name)
        self._summary.loops(form, self.places, name)

    def _overheard(self, form: Form) -> None:
        """Runs the last kernel, and keeps what was said of the run."""
        asked = self.asked
        named = zeros.inside(f"the report of `{asked.kernel.__name__}`")
        with overheard() as heard, state.alone(), named:
            self._run(form)
        if asked.loss is not None:
            loss = (asked.options.loss or asked.loss.name, asked.loss)
            heard[:] = unused.told(self.subject, form, loss, asked.wrt, tuple(heard))
        self.found += heard

    def _run(self, form: Form) -> None:
        asked = self.asked
        what = touched(asked, self._compiled)
        if asked.loss is not None:
            self._taped(form, asked.loss, what)
        if asked.given:
            told = ", ".join(f"{name} = {figures.precise(value)}" for name, value in asked.given.items())
            self._summary.row("arguments", f"{told}, set by an explorer")
        if asked.forward:
            written = [f for f in form.written if not f.derivative and f.dtype.is_float]
            found, self._not_finite = runs.tangents(asked.kernel, asked.args, asked.forward, what, written)
            self._summary.tangents(", ".join(asked.forward), found)
            self.tangents = found
        self._inspector = watched.Inspector(
            form,
            asked.kernel,
            asked.args,
            asked.loss,
            list(asked.forward.values()),
            None if self._outlook is None else self._outlook.watched,
        )
        if asked.loss is None and not asked.forward:
            self._times["launch_s"], self._not_finite = runs.plain(asked.kernel, asked.args, what)
        begin = time.perf_counter()
        try:
            seen = self._first_look()
        except (
            GradientError
        ) as error:  # the run succeeded: lines that cannot be looked into are no reason to fail
            self._inspector, self.found = None, [*self.found, *error.diagnostics]
            return
        self.found += self._nonfinite_origins(seen, self._inspector)
        self.found += kink_notes.told(seen.kinks, asked.options.loss)
        self._times["lines_s"] = time.perf_counter() - begin

    def _nonfinite_origins(self, seen: watched.Observation, inspector: watched.Inspector) -> list[Diagnostic]:
        """Where numbers that are not finite come from, and where such gradients end."""
        loss = self.asked.options.loss
        origins = NonfiniteDiagnostics(self.subject, seen, self._not_finite, loss, inspector.born)
        return [*origins.told(), *origins.ended()]

    def _taped(self, form: Form, loss: Field, what: runs.Touched) -> None:
        asked = self.asked
        name = asked.options.loss or loss.name
        wrt = asked.wrt or _with_gradient(form, loss)
        ran = runs.taped(asked.kernel, asked.args, loss, wrt, what)
        self._not_finite = ran.not_finite
        for f in wrt.values():
            if unused.reads(form, f):
                f.grad.looked_at()  # where it is 0, the tape may know why
        self._summary.loss(name, ran.value, ran.gradients)
        self.value = ran.value
        self.gradients = ran.gradients
        self._summary.saved(ran.tape.saved)
        self.report["tape"] = tape_json(ran.tape, self._cell)
        self.tape, self.recorded = tape_html(ran.tape), ran.tape
        timings = {"launch_s": ran.launch_s, "gradient_s": ran.gradient_s, **tape_timings(ran.tape)}
        self._times.update(timings)
        if asked.options.check:
            begin = time.perf_counter()
            made = checking.compared(
                asked.kernel, asked.args, loss, name, wrt, self.subject.plotted(asked.kernel.__name__)
            )
            self.check = made.check
            self._summary.check(made.result, made.numbers)
            self.found += made.found
            self._times["check_s"] = time.perf_counter() - begin

    # -- inspecting an iteration

    @property
    def outlook(self) -> Outlook:
        """Where it looks now, for the report that follows it."""
        inspector = self._inspector
        at, trip = (None, None) if self.seen is None else (self.seen.probe, self.seen.trip)
        return Outlook(at, trip, None if inspector is None else inspector.watched)

    def _first_look(self) -> watched.Observation:
        """Looks where the report before did; without one, or where there is no such iteration, as asked."""
        assert self._inspector is not None
        at = None if self._outlook is None else self._outlook.at
        if self._outlook is not None and at is not None:
            seen = self._inspector.look(at, self._outlook.trip)
            if _inside(at, seen):
                return self._noted(seen)
        return self._look(self.asked.options.probe)

    def _look(self, at: tuple[int, ...] | None, trip: int | None = None) -> watched.Observation:
        assert self._inspector is not None
        seen = self._inspector.look(at, trip)
        self._refuse_outside(at, seen)
        return self._noted(seen)

    def _noted(self, seen: watched.Observation) -> watched.Observation:
        """Writes into the report what was seen."""
        self.seen = seen
        name = self.asked.options.loss
        if name is not None:
            self.report["heat"] = watched.heat(seen, name, self.places)
        self.report["probe"] = watched.probe(seen, self.asked.kernel.__name__, name, self.places)
        return seen

    def _refuse_outside(self, at: tuple[int, ...] | None, seen: watched.Observation) -> None:
        if at is None:
            return
        asked = self.subject.spelt("probe", ",".join(map(str, at)))
        ranges = ", ".join(f"{name} from {low} to {high - 1}" for name, low, high in seen.loops)
        if not ranges:
            raise self.subject.refusal(f"{asked}: there is no iteration of an outermost loop")
        if len(at) != len(seen.loops):
            raise self.subject.refusal(f"{asked}: the outermost loop has the indices {ranges}")
        if not _inside(at, seen):
            raise self.subject.refusal(f"{asked} is outside the loop, which runs over {ranges}")

    def look(self, at: tuple[int, ...], trip: int | None) -> Json:
        """The report with another iteration inspected."""
        with state.alone():
            self.subject.launched(lambda: self._look(at, trip))
        return self.report


def _inside(at: tuple[int, ...], seen: watched.Observation) -> bool:
    """Whether there is such an iteration of the outermost loop."""
    return len(at) == len(seen.loops) and all(
        low <= n < high for n, (_, low, high) in zip(at, seen.loops, strict=True)
    )


def _with_gradient(form: Form, loss: Field) -> dict[str, Field]:
    """The fields whose gradient is reported by default."""
    found = (f for _, f in form.floats if f.needs_grad and not f.derivative and f is not loss)
    return {f.name: f for f in found}
