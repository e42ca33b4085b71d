"""Runs notebooks one after the other and writes a page of each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from dsim.tooling.errors import ToolError
from dsim.tooling.notebooks import KERNEL, VIEW_BYTES, run_notebook, write_notebook
from dsim.tooling.pages import page_path, require_writable, write_page


def run_all(
    notebooks: Sequence[Path],
    folder: Path,
    *,
    timeout: int,
    kernel: str = KERNEL,
    keep_outputs: bool = False,
    budget: int = VIEW_BYTES,
    out: TextIO | None = None,
) -> list[Path]:
    """Run notebooks and write a page of each.

    Parameters
    ----------
    notebooks : sequence of Path
        The notebooks, in the order of execution.
    folder : Path
        The folder of the pages.
    timeout : int
        The time limit of a cell, in seconds.
    kernel : str
        The kernel's name.
    keep_outputs : bool
        Whether to write the outputs to the notebooks' files too.
    budget : int
        How many bytes of frames each view has in a page.
    out : TextIO, optional
        The stream for progress; standard output by default.

    Returns
    -------
    list of Path
        The pages.

    Raises
    ------
    KeyboardInterrupt
        When the run of a notebook is stopped.
    ToolError
        Before any run, when two notebooks have the same page, or a page cannot be written; and when a
        notebook fails, in which case the pages of earlier ones are kept.
    """
    out = out or sys.stdout
    _require_pages_of_their_own(notebooks, folder)
    for path in notebooks:
        require_writable(page_path(path, folder))
        if keep_outputs:
            require_writable(path)
    names = {path.stem for path in notebooks}
    pages: list[Path] = []
    for path in notebooks:
        try:
            notebook = run_notebook(path, timeout=timeout, kernel=kernel, budget=budget, out=out)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"{path} is as it was, and has no new page") from None
        if keep_outputs:
            write_notebook(notebook, path)
        pages.append(write_page(notebook, path, folder, names))
        print(f"  {path.stem}  page: {pages[-1]}", file=out)
    return pages


def _require_pages_of_their_own(notebooks: Sequence[Path], folder: Path) -> None:
    """Check that no page replaces that of another notebook, whose name is the same in another folder."""
    first: dict[Path, Path] = {}
    for path in notebooks:
        page = page_path(path, folder)
        if page not in first:
            first[page] = path
            continue
        other = first[page]
        if other.resolve() == path.resolve():
            raise ToolError(f"{path} is given twice", help="name each notebook once")
        raise ToolError(
            f"{other} and {path} have the same page, {page}",
            help="run them one after the other, each with its own --output FOLDER",
        )
