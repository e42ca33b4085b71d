"""The notebooks as they play: run once for the site, with the frames of their views, and a moving picture.

What a run leaves is kept until the notebook changes, or what draws and records its views.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import nbformat

import dsim.live
from dsim.tooling.notebooks import run_notebook

VIEW_BYTES = 1_000_000  # of frames of each view in a page of the site
SECONDS = 600  # of a cell
# Runs behind the last cell.
FILM = """
import sys
sys.path.insert(0, {folder!r})
from film import write_film
write_film(Out.values(), {path!r})
"""
_DRAWING = Path(dsim.live.__file__).parent, Path(__file__).parent / "film.py"


class Played(NamedTuple):
    """What a run of a notebook leaves.

    Attributes
    ----------
    notebook : Path
        Its text and its outputs, with players.
    film : Path
        A GIF; there is none where no view has several frames.
    """

    notebook: Path
    film: Path


def played(path: Path, kept: Path) -> Played:
    """The notebook with players; runs it unless what an earlier run left is still right.

    Parameters
    ----------
    path : Path
        A notebook.
    kept : Path
        The folder of what runs leave.
    """
    kept.mkdir(parents=True, exist_ok=True)
    key = _key(path)
    made = Played(kept / f"{path.stem}-{key}.ipynb", kept / f"{path.stem}-{key}.gif")
    if not made.notebook.is_file():
        for older in kept.glob(f"{path.stem}-*"):
            older.unlink()
        _run(path, made)
    return made


def _key(path: Path) -> str:
    found = hashlib.sha256(path.read_bytes())
    found.update(f"{VIEW_BYTES}{FILM}".encode())
    for place in _DRAWING:
        for source in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if source.suffix in (".py", ".js", ".css"):
                found.update(source.read_bytes())
    return found.hexdigest()[:16]


def _run(path: Path, made: Played) -> None:
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder, Path(os.devnull).open("w", encoding="utf-8") as silence:
        film, copy = Path(folder, made.film.name), Path(folder, path.name)
        notebook.cells.append(
            nbformat.v4.new_code_cell(FILM.format(folder=str(Path(__file__).parent), path=str(film)))
        )
        nbformat.write(notebook, copy)
        found: Any = run_notebook(copy, timeout=SECONDS, budget=VIEW_BYTES, out=silence)
        found.cells.pop()
        if film.exists():
            shutil.move(film, made.film)
        nbformat.write(found, made.notebook)  # last: it says that the run is complete
