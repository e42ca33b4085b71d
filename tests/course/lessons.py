"""The lessons of the course: their cells, and answers put into them as a student would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

COURSE = Path(__file__).parents[2] / "notebooks" / "course"
SOURCES = COURSE / "source" / "lessons"
STUB = "# YOUR CODE HERE\n..."  # of `nbgrader_config.py`

_SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION", re.DOTALL | re.MULTILINE)
_STUB = re.compile(r"^( *)# YOUR CODE HERE\n *\.\.\.", re.MULTILINE)


class Wrong(NamedTuple):
    """A wrong answer to an exercise, and a part of the sentence that it is refused with."""

    exercise: str
    answer: str
    sentence: str


def lessons() -> list[Path]:
    """The instructor's versions, in order."""
    return sorted(SOURCES.glob("*.ipynb"))


def answered(cell: str, answer: str) -> str:
    """The text of a cell with `answer` in the place of the solution, or of the student's placeholder."""
    pattern = _SOLUTION if _SOLUTION.search(cell) else _STUB

    def indented(found: re.Match[str]) -> str:
        lines = answer.strip("\n").split("\n")
        return "\n".join(found[1] + line if line else line for line in lines)

    text, count = pattern.subn(indented, cell)
    assert count == 1, cell
    return text


def exercises(notebook: Any) -> dict[str, tuple[str, str]]:
    """By the name of an exercise, its cell and the cell that checks it."""
    cells = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    checks = {name for name in cells if name.endswith("-check")}
    return {
        name: (cells[name].source, cells[f"{name}-check"].source)
        for name in cells
        if name not in checks and f"{name}-check" in checks
    }


def read(path: Path) -> Any:
    """A notebook file."""
    return nbformat.read(path, as_version=4)
