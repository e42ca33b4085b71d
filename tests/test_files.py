"""Files are written whole or not at all: what was there stays when writing fails."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

import dsim as ti
from dsim.files import replaced
from dsim.tooling.errors import ToolError
from dsim.tooling.lessons import write_lessons
from dsim.tooling.notebooks import read_notebook, write_notebook
from dsim.tooling.pages import write_page

resource = pytest.importorskip("resource")


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """Writing more than `room` bytes to a file fails, as on a disk without space."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def notebook() -> Any:
    printed = new_output("stream", name="stdout", text="a" * 20_000)
    return new_notebook(cells=[new_code_cell("print('a' * 20000)", outputs=[printed])])


def kernel_report() -> Any:
    x, total = ti.field(ti.f64, shape=4, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def energy():
        for i in x:
            total[None] += x[i] ** 2

    return ti.report(energy, loss=total)


def view() -> Any:
    points, random = ti.Vector.field(2, ti.f64, shape=500), np.random.default_rng(0)
    made = ti.view(points, bounds=[(0, 1), (0, 1)])
    for _ in range(6):
        points.from_numpy(random.random((500, 2)))
        made.record()
    return made


def window() -> Any:
    gui = ti.GUI("window", res=(64, 64), show_gui=False)
    gui.circles(np.random.default_rng(0).random((50, 2)))
    return gui


def table() -> Any:
    made = ti.tools.PLYWriter(num_vertices=500)
    made.add_vertex_pos(*np.random.default_rng(0).random((3, 500)))
    return made


WRITERS: dict[str, Callable[[Path], object]] = {
    "report.html": lambda path: kernel_report().save(path),
    "report.json": lambda path: kernel_report().save(path),
    "report.txt": lambda path: kernel_report().save(path),
    "view.png": lambda path: view().save(path),
    "view.html": lambda path: view().save(path),
    "view.gif": lambda path: view().save(path),
    "window.png": lambda path: window().show(path),
    "image.png": lambda path: ti.tools.imwrite(np.random.default_rng(0).random((40, 40)), path),
    "table.ply": lambda path: table().export(path),
    "text.ply": lambda path: table().export_ascii(path),
    "notebook.ipynb": lambda path: write_notebook(notebook(), path),
    "page.html": lambda path: write_page(notebook(), path, path.parent, ()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_there(name: str, tmp_path: Path) -> None:
    write, path = WRITERS[name], tmp_path / name
    write(path)
    half = path.stat().st_size // 2
    path.write_text("before")
    with full_disk(half), pytest.raises((OSError, ToolError), match="File too large") as failed:
        write(path)
    assert name in str(failed.value)
    assert f".{name}" not in str(failed.value)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_lessons_are_complete_or_not_there(tmp_path: Path) -> None:
    """One that is there counts as somebody's work, and stays."""
    with full_disk(2_000), pytest.raises(ToolError, match="cannot be written"):
        write_lessons(tmp_path)
    for lesson in write_lessons(tmp_path):
        assert read_notebook(lesson).cells


def test_an_error_in_the_block_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(UnicodeError), replaced(path) as beside, beside.open("w", encoding="ascii") as file:
        file.writelines(["half", "\N{GREEK SMALL LETTER ALPHA}"])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_has_the_rights_it_had_and_a_link_stays(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    with replaced(link) as beside:
        assert beside.suffix == ".txt"
        beside.write_text("after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_rights_that_open_gives(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with replaced(tmp_path / "b") as beside:
        beside.write_text("")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    listener.start()
    with replaced(pipe) as same:
        same.write_text("to a pipe")
    listener.join(10)
    assert heard == ["to a pipe"]


@pytest.mark.parametrize("name", ["nowhere/a.txt", "."])
def test_the_error_names_the_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with pytest.raises(OSError, match=r"No such file|Is a directory") as failed, replaced(path) as beside:
        beside.write_text("")
    assert str(failed.value).endswith(f"'{path}'")
