"""Runs a notebook from top to bottom without a browser.

A run uses a new kernel of the running Python, in the notebook's own folder, and stops at the first cell
that fails. `dsim.tooling.pages` writes the pages, `dsim.tooling.demo` chooses the notebooks.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from dsim.files import replaced
from dsim.live.shown import PAGES_VARIABLE, PLAYER
from dsim.tooling.errors import ToolError
from dsim.tooling.extras import require
from dsim.tooling.output_widgets import WIDGET_VIEW, show_captured, with_output_widgets
from dsim.tooling.progress import Progress
from dsim.tooling.stopping import stoppable

WIDGET_STATE = "widgets"
KERNEL = "python3"
# Other accounts of this machine can reach a kernel's ports; "auto" encrypts if the kernel supports it.
ENCRYPTED = {"KernelManager": {"transport_encryption": "auto"}}
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
LABEL_WIDTH = 60
VIEW_BYTES = 5_000_000  # of frames of each view in a page

Notebook = Any  # nbformat's NotebookNode: a dictionary whose keys are attributes too


def read_notebook(path: Path) -> Notebook:
    """Read a notebook file.

    Raises
    ------
    ToolError
        When the file does not exist or is not a notebook.
    """
    nbformat = require("nbformat", extra="lab", purpose="to read notebooks")
    if not path.is_file():
        raise ToolError(f"there is no notebook {path}", help="give the path of an .ipynb file")
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise not_a_notebook(path, first_line(str(error))) from error
    if not (isinstance(content, dict) and "nbformat" in content and "cells" in content):
        raise not_a_notebook(path, "it has no cells, or is older than nbformat 4")
    flaws: dict[str, Exception] = {}
    with warnings.catch_warnings():
        # Older notebooks have cells without an id; reading adds one.
        warnings.simplefilter("ignore", nbformat.warnings.MissingIDFieldWarning)
        try:
            notebook = nbformat.reads(json.dumps(content), as_version=4, capture_validation_error=flaws)
        except (nbformat.ValidationError, nbformat.NBFormatError, TypeError) as error:
            raise not_a_notebook(path, first_line(str(error))) from error
    for flaw in flaws.values():
        raise not_a_notebook(path, first_line(str(flaw))) from flaw
    return notebook


def not_a_notebook(path: Path, why: str) -> ToolError:
    """The error for a file that is damaged or not a notebook."""
    return ToolError(
        f"{path} is not a notebook: {why}", help="open it in JupyterLab and save it, or take a copy"
    )


def run_notebook(
    path: Path,
    *,
    timeout: int,
    kernel: str = KERNEL,
    budget: int = VIEW_BYTES,
    out: TextIO | None = None,
) -> Notebook:
    """Run all cells of a notebook.

    Parameters
    ----------
    path : Path
        The notebook; its folder is the working directory of the run.
    timeout : int
        The time limit of a cell, in seconds.
    kernel : str
        The kernel's name; by default that of the running Python.
    budget : int
        How many bytes of frames an output of a view embeds.
    out : TextIO, optional
        The stream for progress; standard output by default.

    Returns
    -------
    NotebookNode
        The notebook with its outputs and without widget state; views play in a page of it.

    Raises
    ------
    ToolError
        When a cell fails or takes too long, or when the kernel does not start or dies.
    """
    notebook = read_notebook(path)
    nbclient = require("nbclient", extra="lab", purpose="to run notebooks")
    no_kernel = require("jupyter_client.kernelspec", extra="lab", purpose="to run notebooks").NoSuchKernel
    total = sum(is_run(cell) for cell in notebook.cells)
    with Progress(path.stem, total, out or sys.stdout) as progress:
        running = Running(notebook, progress)
        client = with_output_widgets(stoppable(nbclient.NotebookClient))(
            notebook,
            timeout=timeout,
            kernel_name=kernel,
            store_widget_state=False,
            coalesce_streams=True,
            record_timing=False,  # without times, two runs with the same outputs write the same file
            config=require("traitlets.config", extra="lab", purpose="to run notebooks").Config(ENCRYPTED),
            resources={"metadata": {"path": str(path.resolve().parent)}},
            on_cell_start=running.start,
            on_cell_executed=running.executed,
        )
        try:
            client.execute(env={**os.environ, PAGES_VARIABLE: str(budget)})
        except no_kernel as error:
            raise ToolError(
                f"{path}: there is no kernel {kernel!r}",
                help="`jupyter kernelspec list` names those that are installed",
            ) from error
        except nbclient.exceptions.CellExecutionError as error:
            progress.finish(ok=False)
            raise ToolError(
                running.place(path) + indent(running.traceback() or f"{error.ename}: {error.evalue}"),
                help=f"open it with `dsim lab {shlex.quote(str(path))}` and run the cells up to this one",
            ) from error
        except nbclient.exceptions.CellTimeoutError as error:
            progress.finish(ok=False)
            raise ToolError(
                running.place(path) + running.text() + f"    it took more than {timeout} s and was stopped",
                help="allow more time with --timeout SECONDS",
            ) from error
        except nbclient.exceptions.DeadKernelError as error:
            progress.finish(ok=False)
            raise ToolError(
                running.place(path) + running.text() + "    the kernel died while this cell ran",
                help="it may have run out of memory; `dsim doctor` checks the machine",
            ) from error
    show_captured(notebook, client.widget_state)
    return strip_widgets(notebook)


class Running:
    """The current cell of a run, from nbclient's hooks."""

    def __init__(self, notebook: Notebook, progress: Progress) -> None:
        self.progress = progress
        self.numbers = {
            index: number
            for number, index in enumerate((i for i, c in enumerate(notebook.cells) if is_run(c)), start=1)
        }
        self.number = 0
        self.cell: Notebook = None

    def start(self, cell: Notebook, cell_index: int) -> None:
        """Called before a cell."""
        if is_run(cell):
            self.number, self.cell = self.numbers[cell_index], cell
            self.progress.start(cell_label(cell.source))

    def executed(self, cell: Notebook, cell_index: int, execute_reply: Mapping[str, Any]) -> None:
        """Called after a cell; one whose error ends the run is counted where that is raised."""
        may_fail = "raises-exception" in cell.metadata.get("tags", ())
        if is_run(cell) and (may_fail or execute_reply["content"]["status"] == "ok"):
            self.progress.finish()

    def place(self, path: Path) -> str:
        """The current cell, for the first line of an error."""
        return f"{path}: code cell {self.number} of {self.progress.total} failed\n\n"

    def text(self) -> str:
        """The cell's text with line numbers, for an error that has no traceback."""
        lines = self.cell.source.splitlines()
        width = len(str(len(lines)))
        return "".join(f"    {i:>{width}} | {line}\n" for i, line in enumerate(lines, start=1)) + "\n"

    def traceback(self) -> str:
        """The cell's traceback as plain text."""
        errors = [output for output in self.cell.outputs if output.output_type == "error"]
        return ANSI.sub("", "\n".join(errors[-1].traceback)).strip("-\n") if errors else ""


def is_run(cell: Notebook) -> bool:
    """Whether nbclient runs this cell: a code cell that is not blank."""
    return cell.cell_type == "code" and bool(cell.source.strip())


def cell_label(source: str) -> str:
    r"""The label of a cell: its first line that is not blank or a comment.

    Examples
    --------
    >>> cell_label("# The energy\n\nU = ds.field(ds.f32, shape=())")
    'U = ds.field(ds.f32, shape=())'
    """
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    label = next((line for line in lines if not line.startswith("#")), lines[0] if lines else "")
    return label if len(label) <= LABEL_WIDTH else label[: LABEL_WIDTH - 3] + "..."


def strip_widgets(notebook: Notebook) -> Notebook:
    """Remove widget state, which needs a live kernel, and the outputs that refer to it.

    A widget's output keeps its plain text. JupyterLab would restore sliders from saved state that do
    nothing; without state it shows the text, and the user runs the cell.
    """
    notebook.metadata.pop(WIDGET_STATE, None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)
    return notebook


def without_players(notebook: Notebook) -> Notebook:
    """A copy whose views keep their text and picture, and no frames."""
    copied = copy.deepcopy(notebook)
    for cell in copied.cells:
        for output in cell.get("outputs", []):
            if output.get("metadata") == PLAYER:
                output.metadata.clear()
                output.data.pop("text/html", None)
    return copied


def write_notebook(notebook: Notebook, path: Path) -> None:
    """Write a notebook file, without the frames of its views; one that is there stays whole.

    Raises
    ------
    ToolError
        When it cannot be written.
    """
    nbformat = require("nbformat", extra="lab", purpose="to write notebooks")
    try:
        with replaced(path) as beside:
            nbformat.write(without_players(notebook), beside)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise ToolError(message, help="make room, or work in another folder") from error


def indent(text: str) -> str:
    """Indent each line by four columns."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def first_line(text: str) -> str:
    r"""The first line of a text, or an empty string.

    Examples
    --------
    >>> first_line("one\ntwo")
    'one'
    """
    return text.partition("\n")[0]
