"""Notebooks of one run whose pages would have the same file."""

import nbformat
import pytest
from nbformat import v4

from dsim import cli


@pytest.fixture(autouse=True)
def two(tmp_path, monkeypatch):
    """Two notebooks of one name, in a folder to work in; each leaves a file where it runs."""
    monkeypatch.chdir(tmp_path)
    for name in ("d1", "d2"):
        (tmp_path / name).mkdir()
        notebook = v4.new_notebook(cells=[v4.new_code_cell("open('ran', 'w').close()")])
        nbformat.write(notebook, tmp_path / name / "n.ipynb")
    return tmp_path


def test_two_notebooks_of_one_name_are_refused_before_anything_runs(two, capsys):
    assert cli.main(["run", "d1/n.ipynb", "d2/n.ipynb"]) == 1
    assert capsys.readouterr().err == (
        "dsim: error: d1/n.ipynb and d2/n.ipynb have the same page, build/run/n.html\n"
        "help: run them one after the other, each with its own --output FOLDER\n"
    )
    assert sorted(path.name for path in two.rglob("*")) == ["d1", "d2", "n.ipynb", "n.ipynb"]


@pytest.mark.parametrize("again", ["d1/n.ipynb", "d2/../d1/n.ipynb"])
def test_a_notebook_that_is_given_twice(again, two, capsys):
    assert cli.main(["run", "d1/n.ipynb", again]) == 1
    expected = f"dsim: error: {again} is given twice\nhelp: name each notebook once\n"
    assert capsys.readouterr().err == expected
    assert not (two / "d1" / "ran").exists()


def test_a_notebook_of_the_demo_that_is_named_twice(capsys):
    assert cli.main(["demo", "gravity", "wave", "gravity"]) == 1
    assert "gravity.ipynb is given twice\nhelp: name each notebook once\n" in capsys.readouterr().err
