"""The display of a failed cell: a report with marks, and an error with the user's own lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from IPython.core.error import UsageError

from dsim.diagnostics import DsimError
from dsim.notebook.cell.cells import Cell
from dsim.notebook.forms import showing
from dsim.notebook.report.report import failed

_STOPPED = "the cell was stopped"


@dataclass
class State:
    """The progress of a cell.

    Attributes
    ----------
    compiled : str or None
        The kernel, once it is compiled: then it stays, whatever happens to the run.
    """

    compiled: str | None = None


@contextmanager
def reported(cell: Cell, shell: Any) -> Iterator[State]:
    """Shows errors raised inside: as a report, and as an error without frames of dsim or IPython."""
    state = State()
    try:
        yield state
    except DsimError as error:
        showing.publish(showing.bundle(failed(cell, state.compiled, error.diagnostics)))
        raise error.with_traceback(None) from None
    except UsageError:
        raise
    except KeyboardInterrupt as stop:
        lines = [f"KeyboardInterrupt: {_STOPPED}"]
        stop._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
        raise
    except Exception as error:
        own = _from(error.__traceback__, cell.filename)
        if own is None:
            raise
        _show_own(error, own, shell)
        raise


def _from(trace: TracebackType | None, filename: str) -> TracebackType | None:
    """The traceback from the first frame on that is the cell's own code; None when it never ran."""
    return next((t for t in _links(trace) if t.tb_frame.f_code.co_filename == filename), None)


def _links(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _show_own(error: Exception, own: TracebackType, shell: Any) -> None:
    """Makes IPython show `error` from the cell's lines on."""
    lines = shell.InteractiveTB.structured_traceback(type(error), error, own)
    error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
