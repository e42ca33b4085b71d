"""Runs notebooks one after the other and leaves a page of each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from dsim.tooling.notebooks import KERNEL, run_notebook, write_notebook
from dsim.tooling.pages import page_path, require_writable, write_page


def run_all(
    notebooks: Sequence[Path],
    folder: Path,
    *,
    timeout: int,
    kernel: str = KERNEL,
    keep_outputs: bool = False,
    out: TextIO | None = None,
) -> list[Path]:
    """Run notebooks and leave a page of each.

    Parameters
    ----------
    notebooks : sequence of Path
        What to run, in this order.
    folder : Path
        Where the pages go.
    timeout : int
        Seconds that one cell may take.
    kernel : str
        The kernel's name.
    keep_outputs : bool
        Whether the notebooks' own files get the outputs too.
    out : TextIO, optional
        Where progress is shown; standard output by default.

    Returns
    -------
    list of Path
        The pages.

    Raises
    ------
    ToolError
        Before anything runs when a page cannot be written; else as soon as one of them fails, and the
        pages before it stay.
    """
    out = out or sys.stdout
    for path in notebooks:
        require_writable(page_path(path, folder))
        if keep_outputs:
            require_writable(path)
    pages: list[Path] = []
    for path in notebooks:
        notebook = run_notebook(path, timeout=timeout, kernel=kernel, out=out)
        if keep_outputs:
            write_notebook(notebook, path)
        pages.append(write_page(notebook, path, folder))
        print(f"  {path.stem}  page: {pages[-1]}", file=out)
    return pages
