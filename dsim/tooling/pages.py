"""Converts an executed notebook to one self-contained HTML page: text, code, outputs and pictures."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from dsim.files import replaced
from dsim.tooling.errors import ToolError
from dsim.tooling.extras import require
from dsim.tooling.formulas import drawn
from dsim.tooling.notebooks import Notebook

# nbconvert's page loads RequireJS, Mermaid and MathJax from the network. This page works
# offline; it loads MathJax only for formulas that could not be rendered.
TEMPLATE = """\
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js_requirejs -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- if resources.formulas -%}{{ super() }}{%- endif -%}{%- endblock -%}
"""


# A link of Markdown to a notebook in the same folder, and perhaps to a place in it.
_LINK = re.compile(r"(\]\()([\w.-]+)\.ipynb((?:#[^)\s]*)?\))")


def write_page(notebook: Notebook, path: Path, folder: Path, others: Collection[str] = ()) -> Path:
    """Write a notebook as an HTML page.

    Parameters
    ----------
    notebook : NotebookNode
        A notebook with its outputs.
    path : Path
        The notebook's file: it gives the page its name and pictures their folder.
    folder : Path
        The output folder; created if needed.
    others : collection of str
        The names of notebooks whose pages come into this folder, too: links to these go to their pages.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ToolError
        When the folder or the page cannot be written.
    """
    nbconvert = require("nbconvert.exporters", extra="lab", purpose="to write pages")
    exporter = nbconvert.HTMLExporter(raw_template=TEMPLATE, embed_images=True)
    exporter.register_preprocessor(draw_formulas, enabled=True)
    exporter.register_preprocessor(partial(_link_pages, others), enabled=True)
    metadata = {"name": path.stem, "path": str(path.parent)}
    html, resources = exporter.from_notebook_node(notebook, resources={"metadata": metadata})
    for number, picture in enumerate(resources["pictures"]):
        html = html.replace(_place(number), picture)
    page = page_path(path, folder)
    with _writing(page):
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(page) as beside:
            beside.write_text(html, encoding="utf-8")
    return page


def page_path(path: Path, folder: Path) -> Path:
    """The file that `write_page` writes for a notebook."""
    return folder / f"{path.stem}.html"


def require_writable(page: Path) -> None:
    """Check before a long run that its page can be written; leaves no file behind.

    Raises
    ------
    ToolError
        When the folder cannot be created, or the page cannot be written.
    """
    with _writing(page):
        if page.exists():
            page.open("ab").close()
        else:
            above = next(folder for folder in page.absolute().parents if folder.exists())
            TemporaryFile(dir=above).close()


@contextmanager
def _writing(page: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise ToolError(
            f"{page} cannot be written: {error.strerror}",
            help="choose another folder with --output FOLDER",
        ) from error


def draw_formulas(notebook: Notebook, resources: dict[str, Any]) -> tuple[Notebook, dict[str, Any]]:
    """A preprocessor for nbconvert, which passes a copy of the notebook; `resources` go to the template.

    The text gets a place for each formula and `resources` the pictures: nbconvert reads each tag of a
    text by itself, and closes an element before its contents.
    """
    pictures: list[str] = []

    def place(picture: str) -> str:
        pictures.append(picture)
        return _place(len(pictures) - 1)

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = drawn(cell.source, place)
    return notebook, resources | {"formulas": has_formulas(notebook), "pictures": pictures}


def _link_pages(
    others: Collection[str], notebook: Notebook, resources: dict[str, Any]
) -> tuple[Notebook, dict[str, Any]]:
    """A preprocessor for nbconvert, whose links to other notebooks go to the pages of these."""

    def linked(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}.html{found[3]}" if found[2] in others else found[0]

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _LINK.sub(linked, cell.source)
    return notebook, resources


def _place(number: int) -> str:
    return f'<i data-formula="{number}"></i>'


def has_formulas(notebook: Notebook) -> bool:
    """Whether a page needs MathJax: its text has a dollar sign or a LaTeX output."""
    return any(
        "$" in cell.source if cell.cell_type == "markdown" else has_latex(cell) for cell in notebook.cells
    )


def has_latex(cell: Notebook) -> bool:
    """Whether an output of a cell is LaTeX."""
    return any("text/latex" in output.get("data", {}) for output in cell.get("outputs", []))
