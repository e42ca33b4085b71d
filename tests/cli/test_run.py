"""`dsim run` and `dsim demo`: notebooks run without a browser and write pages."""

import json

import nbformat
import pytest
from nbformat import v4
from PIL import Image

from dsim import cli
from dsim.tooling import demo
from dsim.tooling.notebooks import WIDGET_VIEW, cell_label, strip_widgets

PICTURE = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([0, 1]);"
REPORT = """\
from IPython.display import display
report = {"summary": "s"}
display({"application/vnd.dsim.report+json": report, "text/html": "<em>annotated</em>"}, raw=True)"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, *sources, **metadata):
    """Write a notebook whose cells are code, or Markdown when they begin with a hash and a space."""
    cells = [v4.new_markdown_cell(s) if s.startswith("# ") else v4.new_code_cell(s) for s in sources]
    nbformat.write(v4.new_notebook(cells=cells, metadata=metadata), path)
    return path


def test_run_leaves_a_page_with_pictures(folder, capsys):
    notebook = write(folder / "plot.ipynb", "# A line", PICTURE, "", REPORT, "print('wor' + 'ked')")
    before = notebook.read_bytes()

    assert cli.main(["run", "plot.ipynb"]) == 0

    page = (folder / "build" / "run" / "plot.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert "<em>annotated</em>" in page
    assert "worked" in page
    assert 'src="http' not in page, "a page is whole without a network"
    assert notebook.read_bytes() == before
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["plot", f"{i}/3"] for i in (1, 2, 3)] + [
        ["plot", "page:"]
    ]
    assert lines[-1].endswith("build/run/plot.html")


def test_run_in_place_works_beside_the_notebook_and_keeps_no_widgets(folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "data.txt").write_text("42")
    slider = "import ipywidgets\nipywidgets.IntSlider(value=3)"
    write(folder / "deep" / "w.ipynb", "print(open('data.txt').read())", slider, widgets={"state": {}})

    assert cli.main(["run", "deep/w.ipynb", "--inplace", "--output", "pages"]) == 0

    text = (folder / "deep" / "w.ipynb").read_text(encoding="utf-8")
    assert "42" in text
    assert "IntSlider(value=3)" in text
    assert "widgets" not in json.loads(text)["metadata"]
    assert WIDGET_VIEW not in text
    assert (folder / "pages" / "w.html").is_file()


def test_a_cell_that_fails(folder, capsys):
    write(folder / "bad.ipynb", "x = 1", "# Text", "y = 0\nx / y", "print('never')")
    assert cli.main(["run", "bad.ipynb"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("dsim: error: bad.ipynb: code cell 2 of 3 failed\n")
    assert "----> 2 x / y" in captured.err
    assert "ZeroDivisionError: division by zero\nhelp: open it with `dsim lab bad.ipynb`" in captured.err
    assert "\x1b" not in captured.err
    assert "2/3" in captured.out
    assert "FAILED  y = 0" in captured.out
    assert not (folder / "build").exists()


def test_a_cell_that_takes_too_long(folder, capsys):
    write(folder / "slow.ipynb", "import time\ntime.sleep(60)")
    assert cli.main(["run", "slow.ipynb", "--timeout", "1"]) == 1
    err = capsys.readouterr().err
    assert "    2 | time.sleep(60)\n\n    it took more than 1 s and was stopped\n" in err
    assert err.endswith("help: allow more time with --timeout SECONDS\n")


def test_a_kernel_that_dies(folder, capsys):
    write(folder / "dead.ipynb", "import os\nos._exit(3)")
    assert cli.main(["run", "dead.ipynb"]) == 1
    assert "the kernel died while this cell ran" in capsys.readouterr().err


def test_no_such_kernel(folder, capsys):
    write(folder / "a.ipynb", "1")
    assert cli.main(["run", "a.ipynb", "--kernel", "cobol"]) == 1
    assert "there is no kernel 'cobol'\nhelp: `jupyter kernelspec list`" in capsys.readouterr().err


NOT_NOTEBOOKS = [
    b"",
    b"{",
    b"[]",
    b"\xff",
    b'{"cells": []}',
    b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"source": "1"}]}',
    b'{"nbformat": 4, "nbformat_minor": 5, "cells": []}',
]


@pytest.mark.parametrize("content", NOT_NOTEBOOKS)
def test_not_a_notebook(content, folder, capsys):
    (folder / "a.ipynb").write_bytes(content)
    assert cli.main(["run", "a.ipynb"]) == 1
    assert "dsim: error: a.ipynb is not a notebook" in capsys.readouterr().err


def test_page_that_cannot_be_written_is_told_before_anything_runs(folder, capsys):
    write(folder / "long.ipynb", "open('ran', 'w').close()")
    (folder / "file").touch()
    assert cli.main(["run", "long.ipynb", "--output", "file"]) == 1
    assert "file/long.html cannot be written" in capsys.readouterr().err
    (folder / "taken" / "long.html").mkdir(parents=True)
    assert cli.main(["run", "long.ipynb", "--output", "taken"]) == 1
    assert not (folder / "ran").exists()


def test_a_run_that_fails_leaves_the_page_of_an_earlier_one(folder):
    write(folder / "fails.ipynb", "1 / 0")
    page = folder / "pages" / "fails.html"
    page.parent.mkdir()
    page.write_text("earlier")
    assert cli.main(["run", "fails.ipynb", "--output", "pages"]) == 1
    assert page.read_text() == "earlier"
    page.unlink()
    assert cli.main(["run", "fails.ipynb", "--output", "pages"]) == 1
    assert not page.exists()


def page_of(folder, *sources):
    write(folder / "text.ipynb", *sources)
    assert cli.main(["run", "text.ipynb"]) == 0
    return (folder / "build" / "run" / "text.html").read_text(encoding="utf-8")


def test_formulas_are_pictures(folder):
    page = page_of(folder, "# Energy\n\nThe famous $E = m c^2$ says\n\n$$\\dfrac{E}{m} = c^2$$")
    assert page.count('role="img"') == 2
    assert "mathjax" not in page.lower()
    assert "E = m c^2</" not in page


def test_formulas_that_cannot_be_drawn_ask_for_mathjax(folder):
    page = page_of(folder, "# Energy\n\n$E = m c^2$ and $\\begin{matrix} a \\end{matrix}$")
    assert page.count('role="img"') == 1
    assert "mathjax" in page.lower()


def test_pictures_beside_the_notebook_are_in_the_page(folder):
    (folder / "deep").mkdir()
    Image.new("RGB", (2, 2)).save(folder / "deep" / "dot.png")
    write(folder / "deep" / "shown.ipynb", "# Title\n\n![a dot](dot.png) ![none](none.png)")
    assert cli.main(["run", "deep/shown.ipynb"]) == 0
    page = (folder / "build" / "run" / "shown.html").read_text(encoding="utf-8")
    assert 'alt="a dot" src="data:image/png;base64,' in page
    assert 'alt="none" src="none.png"' in page


def test_demo(folder, monkeypatch, capsys):
    (folder / "notebooks").mkdir()
    for name in ("rise", "fall"):
        write(folder / "notebooks" / f"{name}.ipynb", f"print('{name}' + 'ing')")
    monkeypatch.setattr(demo, "DEMO", ("rise", "fall"))
    monkeypatch.setattr(demo, "demo_folder", lambda: folder / "notebooks")
    assert cli.main(["demo"]) == 0
    for name in ("rise", "fall"):
        assert f"{name}ing" in (folder / "build" / "demo" / f"{name}.html").read_text(encoding="utf-8")
    pages = [line for line in capsys.readouterr().out.splitlines() if "page:" in line]
    assert pages == ["  rise  page: build/demo/rise.html", "  fall  page: build/demo/fall.html"]
    (folder / "build" / "demo" / "rise.html").unlink()
    assert cli.main(["demo", "fall"]) == 0
    assert [page.name for page in (folder / "build" / "demo").iterdir()] == ["fall.html"]


def test_demo_of_an_unknown_name(capsys):
    assert cli.main(["demo", "levity"]) == 1
    assert "the demo has no notebook 'levity'\nhelp: it has gravity" in capsys.readouterr().err


def test_demo_folder_outside_a_checkout(folder, monkeypatch):
    monkeypatch.setattr(demo, "__file__", str(folder / "lib" / "dsim" / "tooling" / "demo.py"))
    monkeypatch.setattr(demo.sysconfig, "get_path", lambda _: str(folder))
    with pytest.raises(demo.ToolError, match="has no demo notebooks"):
        demo.demo_folder()
    (folder / "share" / "dsim" / "notebooks").mkdir(parents=True)
    assert demo.demo_folder() == folder / "share" / "dsim" / "notebooks"


def test_demo_folder_in_a_checkout():
    assert (demo.demo_folder().parent / "pyproject.toml").is_file()


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("# why\n\n x = 1 ", "x = 1"),
        ("# only\n# words", "# only"),
        ("y = " + "1" * 90, "y = " + "1" * 53 + "..."),
    ],
)
def test_cell_label(source, label):
    assert cell_label(source) == label


def test_strip_widgets_leaves_other_outputs():
    output = v4.new_output("display_data", data={WIDGET_VIEW: {"model_id": "1"}, "text/plain": "Slider"})
    stream = v4.new_output("stream", text="hello")
    notebook = v4.new_notebook(
        cells=[v4.new_code_cell("s", outputs=[output, stream])], metadata={"widgets": {}}
    )
    stripped = strip_widgets(notebook)
    assert "widgets" not in stripped.metadata
    assert stripped.cells[0].outputs[0].data == {"text/plain": "Slider"}
    assert stripped.cells[0].outputs[1].text == "hello"
