"""Reports of existing kernels and tapes: `%adjoint`, `%check`, `%tape`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from IPython.core.error import UsageError

from dsim.diagnostics import CompilationError, LaunchTypeError
from dsim.notebook.cell.cells import Cell
from dsim.notebook.cell.request import looked_up
from dsim.notebook.report.figures import listed
from dsim.notebook.report.listings import listings
from dsim.notebook.report.locations import Json, Places, harmless, in_order
from dsim.notebook.report.report import empty, finished
from dsim.notebook.report.summary import Summary
from dsim.runtime.checking.differences import GradientCheck
from dsim.runtime.kernels.findings import NOTHING_FOUND
from dsim.runtime.kernels.kernel import Kernel, adjoint_of
from dsim.runtime.launching.forms import Form
from dsim.runtime.tapes.tape import Tape


def adjoint_report(name: str, namespace: Mapping[str, Any]) -> Json:
    """The adjoint of a kernel, opened."""
    kernel = _kernel(name, "%adjoint", namespace)
    summary = Summary(kernel.__name__)
    with _known_arguments(f"%adjoint {name}"):
        form = kernel.primal
    places = _tell(form, summary)
    adjoint_of(form)  # where there is none, this says why
    report = empty("check", None, kernel.__name__)
    return finished(report, summary, (), places, listings(form, kernel.__name__, places, None), "adjoint")


def check_report(name: str, namespace: Mapping[str, Any]) -> Json:
    """The diagnostics of a kernel before it runs."""
    kernel = _kernel(name, "%check", namespace)
    summary = Summary(kernel.__name__)
    with _known_arguments(f"%check {name}"):
        found = kernel.check()
    report = empty("check", None, kernel.__name__)
    try:
        form = kernel.primal
    except CompilationError as error:
        places = Places(None)
        report["status"] = "failed"
        report["diagnostics"] = in_order(places.diagnostic(d) for d in error.diagnostics)
        report["origins"] = places.origins()
        report["summary"]["text"] = f"{kernel.__name__}: cannot be compiled"
        return report
    places = _tell(form, summary)
    if not found:
        summary.parts.append(NOTHING_FOUND)
    return finished(report, summary, found, places, (), None)


def funcs_report(cell: Cell, funcs: Sequence[str]) -> Json:
    """The diagnostics of a cell that defines funcs and no kernel."""
    report = empty("kernel", cell.source.text, None)
    what = "a func, compiled in each kernel that calls it"
    if len(funcs) > 1:
        what = "funcs, compiled in each kernel that calls them"
    report["summary"]["text"] = harmless(f"{listed(funcs)}: {what}")
    return report


def _tell(form: Form, summary: Summary) -> Places:
    """What the kernel is; the places of the text that it stands in."""
    span = form.kernel.origin.span
    places = Places(None, span and span.source)
    if span is not None:
        summary.row("defined", places.name(span))
    summary.effects(form)
    summary.loops(form, places)
    return places


@contextmanager
def _known_arguments(what: str) -> Iterator[None]:
    """A kernel for each of some arguments has to be chosen first: says how, in one line."""
    try:
        yield
    except LaunchTypeError as error:
        (d,) = error.diagnostics
        raise UsageError(
            f"{what}: {d.message.replace('`', '')}: name one, as in `k = kernel.of(…)`"
        ) from None


def checked(name: str, known: Mapping[str, GradientCheck | None]) -> GradientCheck:
    """The comparison with differences that the cell of a kernel made when it ran last."""
    found = known.get(name)
    if found is None:
        raise UsageError(
            f"%check {name} --plot: there is no check to draw, run the cell of {name} with --check first"
        )
    return found


def named_tape(name: str, namespace: Mapping[str, Any], last: Tape | None) -> Tape:
    """The tape of that name, or the last one of a cell."""
    if not name:
        if last is None:
            raise UsageError(
                "there is no tape yet: name one, as in `with ds.Tape(loss) as t: …` and `%tape t`"
            )
        return last
    return looked_up(name, "%tape", namespace, Tape, "a tape")


def _kernel(name: str, magic: str, namespace: Mapping[str, Any]) -> Kernel:
    if not name:
        raise UsageError(f"name a kernel, as in `{magic} energy`")
    return looked_up(name, magic, namespace, Kernel, "a kernel")
