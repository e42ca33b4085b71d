"""`dsim run` and `dsim demo`: notebooks run without a browser and write pages."""

import html
import json
import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbformat import v4
from PIL import Image

import dsim as ds
from dsim import cli
from dsim.live.shown import page_budget
from dsim.tooling import demo
from dsim.tooling.notebooks import cell_label, strip_widgets
from dsim.tooling.output_widgets import WIDGET_VIEW

pytestmark = pytest.mark.usefixtures("forked_kernels")
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


def test_what_an_output_widget_captured_is_where_it_was_displayed(folder):
    made = "import ipywidgets\nout = ipywidgets.Output()\nout"
    written = "with out:\n    print('cap' + 'tured')"
    replaced = "out.clear_output()\nwith out:\n    print('in its ' + 'place')"
    write(folder / "o.ipynb", made, written, replaced)

    assert cli.main(["run", "--inplace", "o.ipynb"]) == 0

    cells = nbformat.read(folder / "o.ipynb", as_version=4).cells
    assert [[o.get("text") for o in cell.outputs] for cell in cells] == [["in its place\n"], [], []]
    assert "in its place" in (folder / "build" / "run" / "o.html").read_text(encoding="utf-8")


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


def test_the_command_that_opens_a_notebook_can_be_pasted(folder, capsys):
    write(folder / "a <b>.ipynb", "1 / 0")
    assert cli.main(["run", "a <b>.ipynb"]) == 1
    assert "help: open it with `dsim lab 'a <b>.ipynb'` and" in capsys.readouterr().err


def test_a_cell_that_is_to_fail_counts(folder, capsys):
    notebook = write(folder / "fails.ipynb", "1 / 0", "print('af' + 'ter')")
    content = nbformat.read(notebook, 4)
    content.cells[0].metadata["tags"] = ["raises-exception"]
    nbformat.write(content, notebook)
    assert cli.main(["run", "fails.ipynb"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["fails", "1/2"], ["fails", "2/2"], ["fails", "page:"]]
    page = (folder / "build" / "run" / "fails.html").read_text(encoding="utf-8")
    assert "ZeroDivisionError" in page
    assert "after" in page


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
    assert len(re.findall(r"<svg [^>]*><path [^>]*/></svg>", page)) == 2, (
        "an outline is inside of its picture"
    )
    assert "data-formula" not in page
    assert "mathjax" not in page.lower()
    assert "E = m c^2</" not in page


def test_formulas_that_cannot_be_drawn_ask_for_mathjax(folder):
    page = page_of(folder, "# Energy\n\n$E = m c^2$ and $\\begin{matrix} a \\end{matrix}$")
    assert page.count('role="img"') == 1
    assert "mathjax" in page.lower()


def test_links_to_other_notebooks_of_the_run_go_to_their_pages(folder):
    write(
        folder / "one.ipynb", "# See [two](two.ipynb), [its end](two.ipynb#the-end) and [three](three.ipynb)"
    )
    write(folder / "two.ipynb", "# [one](one.ipynb), `[one](one.ipynb.bak)`")
    assert cli.main(["run", "one.ipynb", "two.ipynb", "--output", "pages"]) == 0
    one, two = ((folder / "pages" / f"{name}.html").read_text(encoding="utf-8") for name in ("one", "two"))
    assert re.findall(r'href="(t[^"]*)"', one) == ["two.html", "two.html#the-end", "three.ipynb"]
    assert 'href="one.html"' in two
    assert "one.ipynb.bak" in two


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


# -- views


VIEWS = """\
import numpy as np
import dsim as ds
at = np.zeros((1, 2))
dot = ds.view(lambda: at, bounds=[(0, 1), (0, 1)], title="dot")
dot"""
RECORD = "for k in range(5):\n    at[0] = k / 5, 0.5\n    dot.record()"
WINDOW = """\
gui = ds.GUI("window", res=20, frames=4)
while gui.running:
    gui.circle([0.2 * gui.frame, 0.5])
    gui.show()"""


def recordings(text):
    """The recordings that play in a page, by title."""
    found = {}
    for document in re.findall(r'srcdoc="([^"]*)"', text):
        told = html.unescape(document).partition('id="dsim-recording">')[2].partition("</script>")[0]
        recording = json.loads(told)
        found[recording["scene"]["title"]] = [frame["header"]["step"] for frame in recording["frames"]]
    return found


def test_views_and_windows_play_in_the_page_and_leave_no_frames_in_the_notebook(folder):
    notebook = write(folder / "v.ipynb", VIEWS, RECORD, WINDOW)
    assert cli.main(["run", "v.ipynb", "--inplace", "--output", "."]) == 0
    page = (folder / "v.html").read_text(encoding="utf-8")
    assert recordings(page) == {"dot": [0, 1, 2, 3, 4], "window": [0, 1, 2, 3]}
    outputs = [output for cell in nbformat.read(notebook, 4).cells for output in cell.outputs]
    assert [output.data["text/plain"] for output in outputs] == [
        "view of points",
        "view of window",
    ]
    assert [sorted(output.data) for output in outputs] == [["image/png", "text/plain"]] * 2
    assert [dict(output.metadata) for output in outputs] == [{}, {}]


def test_frames_are_thinned_to_the_budget_and_the_page_says_so(folder):
    write(folder / "v.ipynb", VIEWS, RECORD)
    assert cli.main(["run", "v.ipynb", "--output", ".", "--budget", "900"]) == 0
    page = (folder / "v.html").read_text(encoding="utf-8")
    kept = recordings(page)["dot"]
    assert kept[-1] == 4
    assert 1 < len(kept) < 5
    assert f"This page has {len(kept)} of 5 frames: one in " in html.unescape(page)


def test_a_budget_for_less_than_a_frame_leaves_the_picture(folder):
    write(folder / "v.ipynb", VIEWS, RECORD)
    assert cli.main(["run", "v.ipynb", "--output", ".", "--budget", "10"]) == 0
    page = (folder / "v.html").read_text(encoding="utf-8")
    assert recordings(page) == {}
    assert "Without its frames: a frame takes more bytes of a page than its budget of 10." in page
    assert page.count('<img alt="dot" src="data:image/png;base64,') == 1


def test_nbconvert_exports_players_when_it_is_asked_to(folder, monkeypatch):
    write(folder / "v.ipynb", VIEWS, RECORD)
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "v.ipynb"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "DSIM_PAGES": "100000"})
    assert recordings((folder / "v.html").read_text(encoding="utf-8")) == {"dot": [0, 1, 2, 3, 4]}
    subprocess.run(command, check=True, capture_output=True)
    page = (folder / "v.html").read_text(encoding="utf-8")
    assert recordings(page) == {}
    assert "data:image/png;base64," in page


def test_what_is_no_number_of_bytes(folder, monkeypatch, capsys):
    monkeypatch.setenv("DSIM_PAGES", "5MB")
    with pytest.raises(ds.DsimError, match=r"(?s)DSIM_PAGES is a number of bytes, not '5MB'.*help:"):
        page_budget()
