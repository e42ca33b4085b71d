"""The notebooks as pages of the documentation, and a gallery.

Played, views have their frames, and the gallery moving pictures; otherwise pages show the committed outputs.
"""

from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
from played import played

_ROOT = Path(__file__).parents[1]
_COLUMNS = 3
_REPORT = "application/vnd.dsim.report+json"
_HEAD = """\
# Gallery

The example notebooks, as they were run last; the course for beginners has [its own](../course.md).

"""


def collect(pages: Path, kept: Path | None) -> None:
    """Writes the notebooks, a picture of each, and the page that lists them.

    Parameters
    ----------
    pages : Path
        The folder to write to.
    kept : Path or None
        The folder of what runs of notebooks leave; None to show the committed outputs.
    """
    pages.mkdir(exist_ok=True)
    teaches = dict(
        re.findall(r"^\| `(\w+)` \| (.*) \|$", (_ROOT / "notebooks/README.md").read_text(), re.MULTILINE)
    )
    cells = []
    for path in sorted((_ROOT / "notebooks").glob("*.ipynb")):
        run = None if kept is None else played(path, kept)
        notebook = nbformat.read(path if run is None else run.notebook, as_version=4)
        _leave_html(notebook)
        nbformat.write(notebook, pages / path.name)
        picture = _picture(notebook)
        shown = ""
        if run is not None and run.film.is_file():
            shutil.copyfile(run.film, pages / f"{path.stem}.gif")
            shown = _linked(path, ".gif")
        elif picture is not None:
            (pages / f"{path.stem}.png").write_bytes(picture)
            shown = _linked(path, ".png")
        cells.append(f"{shown}[{_title(notebook)}]({path.name})<br>{teaches.get(path.stem, '')}")
    (pages / "index.md").write_text(_HEAD + _table(cells) + _tree(), encoding="utf-8")


def _linked(path: Path, kind: str) -> str:
    return f"[![{path.stem}]({path.stem}{kind})]({path.name})<br>"


def _leave_html(notebook: Any) -> None:
    """Removes the form of a report that only JupyterLab's extension draws: its HTML says the same."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(_REPORT, None)


def _title(notebook: Any) -> str:
    return next(
        line[2:] for cell in notebook.cells for line in cell.source.splitlines() if line.startswith("# ")
    )


def _picture(notebook: Any) -> bytes | None:
    """The last picture among the outputs."""
    found = [
        output.data["image/png"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    return base64.b64decode(found[-1]) if found else None


def _table(cells: list[str]) -> str:
    filled = [*cells, *[""] * (-len(cells) % _COLUMNS)]
    rows = [filled[at : at + _COLUMNS] for at in range(0, len(filled), _COLUMNS)]
    head = [" | ".join([" "] * _COLUMNS), " | ".join(["---"] * _COLUMNS)]
    return "\n".join(f"| {row} |" for row in [*head, *map(" | ".join, rows)]) + "\n"


def _tree() -> str:
    return "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
