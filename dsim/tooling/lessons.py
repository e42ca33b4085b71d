"""Writes the lessons of the course for a person who takes it: without solutions and without outputs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from dsim.tooling.demo import demo_folder
from dsim.tooling.errors import ToolError
from dsim.tooling.notebooks import read_notebook, write_notebook

# As nbgrader makes them (`notebooks/course/nbgrader_config.py`): `...` is a body for kernels and functions.
_SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.DOTALL | re.MULTILINE)
_STUB = r"\1# YOUR CODE HERE\n\1..."


def write_lessons(folder: Path) -> list[Path]:
    """Write all lessons, and their checks anew; a lesson that is there already stays, as somebody's work.

    Parameters
    ----------
    folder : Path
        Where to; created if needed.

    Returns
    -------
    list of Path
        The lessons in `folder`, in order.

    Raises
    ------
    ToolError
        When this installation has no lessons, or the folder cannot be written.
    """
    source = demo_folder() / "course" / "source" / "lessons"
    lessons = sorted(source.glob("*.ipynb"))
    if not lessons:
        raise ToolError("this installation of dsim has no lessons", help="install it again")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for lesson in lessons:
            if not (folder / lesson.name).exists():
                write_notebook(for_students(read_notebook(lesson)), folder / lesson.name)
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source / "checks", folder / "checks", dirs_exist_ok=True, ignore=leave)
    except OSError as error:
        message = f"{folder} cannot be written: {error.strerror}"
        raise ToolError(message, help="choose another folder: dsim lessons FOLDER") from error
    return [folder / lesson.name for lesson in lessons]


def for_students(notebook: Any) -> Any:
    """A lesson with a place for an answer where its solutions are; changes and returns it."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = _SOLUTION.sub(_STUB, cell.source)
            cell.outputs, cell.execution_count = [], None
    return notebook
