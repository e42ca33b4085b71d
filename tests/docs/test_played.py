"""The site's notebooks: run once, with players and a moving picture, and kept until they change."""

import nbformat
import pytest
from PIL import Image

from docs import played as played_module
from docs.played import played

CELLS = [
    "import numpy as np\nimport dsim as ds",
    "x = np.random.default_rng(0).random((30, 5, 2))\nds.view(x, time=0, bounds=[(0, 1), (0, 1)])",
]


def notebook(path, cells):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbformat.write(made, path)
    return path


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("played")
    path = notebook(folder / "swarm.ipynb", CELLS)
    return path, folder / "kept", played(path, folder / "kept")


@pytest.mark.slow
def test_views_have_players_and_the_cells_are_those_of_the_notebook(ran):
    _, _, made = ran
    found = nbformat.read(made.notebook, 4)
    assert [cell.source for cell in found.cells] == CELLS
    (output,) = found.cells[1].outputs
    assert "<iframe" in output.data["text/html"]
    assert len(output.data["text/html"]) < played_module.VIEW_BYTES


@pytest.mark.slow
def test_the_film_moves(ran):
    with Image.open(ran[2].film) as film:
        assert (film.n_frames, film.size) == (30, (320, 240))


@pytest.mark.slow
def test_it_runs_again_when_the_notebook_has_changed_and_not_before(ran, monkeypatch):
    path, kept, made = ran
    runs = []
    monkeypatch.setattr(played_module, "_run", lambda *given: runs.append(given))
    assert played(path, kept) == made
    assert runs == []
    notebook(path, ["1 + 1"])
    again = played(path, kept)
    assert runs == [(path, again)]
    assert again.notebook != made.notebook
    assert not made.notebook.exists(), "what nothing refers to is removed"
