"""Reports whose program has changed since: they state it, and their sliders show only their own program."""

import html
import importlib
import sys
from types import SimpleNamespace

import nbformat
import pytest
from IPython.utils.capture import capture_output
from ipywidgets.widgets import widget as registry
from nbformat import v4

from dsim.notebook.report.report import MIME
from tests.notebook.cells import GRAVITY
from tests.notebook.forms.living import CELL, CUBE, SQUARE, reports, told
from tests.notebook.forms.test_scrubber import VIEW, live, moved, sliders  # noqa: F401


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (CUBE, "`inner` was redefined"),
        (SQUARE.replace("* scale", "+ scale"), "`square` was redefined"),
        ("scale = 3.0", "`scale` is 3.0, and was 2.0"),
        ("scale = 2", "`scale` is 2, and was 2.0"),
        ("del scale", "`scale` is no longer defined"),
        ("y = ds.field(ds.f64, shape=N, needs_grad=True)", "`y` was redefined"),
        ("U = ds.field(ds.f64, shape=(), needs_grad=True)", "`U` was redefined"),
        ("ds.init(default_fp=ds.f32)", "`init()` has changed the settings"),
        ("energy = 1", "`energy` was redefined"),
        ("del energy", "`energy` is no longer defined"),
        ("@ds.kernel\ndef energy():\n    y[0] = 1", "`energy` was redefined"),
    ],
)
def test_a_report_says_what_it_depends_on_that_has_changed(page, cell, said):
    assert "stale" not in page.good(CELL, "energy").report
    assert told(page, cell) == said


def test_after_a_reset_nothing_is_what_it_was(page):
    page.good(CELL, "energy")
    said = "`init()` has changed the settings, `y` was dropped by `reset()`, `U` was dropped by `reset()`"
    assert told(page, "ds.reset()") == said


def test_a_report_that_nothing_changed_for_is_not_shown_again(page):
    page.good(CELL, "energy")
    assert told(page, "1 + 1") is None
    assert told(page, SQUARE) is None  # the same text, run again
    assert told(page, "y.fill(3.0)") is None  # the report is about the run that it saw
    assert told(page, "scale = float('2')") is None


def test_what_is_what_it_was_again_is_no_change(page):
    page.good(CELL, "energy")
    assert told(page, CUBE) == "`inner` was redefined"
    assert told(page, "scale = 1.0") == "`inner` was redefined, `scale` is 1.0, and was 2.0"
    assert told(page, "scale = 2.0") == "`inner` was redefined"
    assert told(page, SQUARE) == ""


@pytest.mark.slow
def test_also_a_cell_that_fails_may_change_something(page):
    page.good(CELL, "energy")
    (report,) = reports(page.run("scale = 1.0\n1 / 0", "elsewhere"))
    assert report["stale"] == "`scale` is 1.0, and was 2.0"


def test_sliders_of_a_changed_program_do_not_move(page):
    found = sliders(page.good(CELL, "energy"))
    page.good(CUBE, "funcs")
    row = next(w for w in registry._instances.values() if found["i"] in getattr(w, "children", ()))
    assert found["i"].disabled
    assert row.children[-1].value == "`inner` was redefined: run this cell again"
    assert moved(found["i"], 5) == []
    page.good(SQUARE, "funcs")
    assert not found["i"].disabled
    assert row.children[-1].value == ""
    (report,) = moved(found["i"], 6)
    assert "stale" not in report


def test_what_changes_between_cells_is_found_when_a_slider_moves(page):
    found = sliders(page.good(CELL, "energy"))
    before = page.good("energy_values = y.to_numpy()").bundles
    assert before == []
    page.names["scale"] = 7.0  # by a button, by another thread
    (report,) = moved(found["i"], 5)
    assert report["stale"] == "`scale` is 7.0, and was 2.0"
    assert report["probe"]["indices"][0]["value"] == 0
    assert found["i"].disabled


def test_a_second_cell_with_the_same_name_takes_the_kernel_over(page):
    first = page.good(CELL, "energy")
    second = page.good(CELL.replace("+= e", "+= 2 * e"), "second")
    shown, replaced = reports(second)
    assert "stale" not in shown
    assert replaced["stale"] == "`energy` was redefined"
    assert replaced["source"] == CELL
    assert first.bundles[-1][VIEW]["model_id"] not in registry._instances
    assert told(page, "scale = 5.0") == "`scale` is 5.0, and was 2.0"  # of the second one alone


def test_a_copied_cell_has_sliders_of_its_own(page):
    first = sliders(page.good(CELL, "energy"))
    ran = page.good(CELL, "copy")
    assert len(reports(ran)) == 1  # the first one still says what is true
    second = sliders(ran)
    (report,) = moved(second["i"], 5)
    assert report["probe"]["indices"][0]["value"] == 5
    (report,) = moved(first["i"], 3)
    assert report["probe"]["indices"][0]["value"] == 3
    page.good("1", "copy")  # the copy is something else by now
    assert second["i"] not in registry._instances.values()
    assert len(moved(first["i"], 4)) == 1


def test_a_cell_that_runs_again_forgets_its_report(page):
    page.good(CELL, "energy")
    page.run("%%kernel energy --loss U\nfor i in nowhere:\n    pass", "energy")
    assert told(page, "scale = 5.0") is None


def test_several_kernels_of_a_cell(page):
    cell = (
        "%%kernel --loss U\ndef first():\n    for i in y:\n        y[i] = scale\n"
        "def second():\n    for i in y:\n        U[None] += square(y[i])"
    )
    page.good(cell, "both")
    assert told(page, "scale = 3.0") == "`scale` is 3.0, and was 2.0"
    assert told(page, "scale = 2.0") == ""
    assert told(page, "first = second") == "`first` was redefined"


def test_arguments_that_the_notebook_gives(page):
    page.good("dt = 0.5")
    page.good("%%kernel step(dt: ds.f64, n: ds.i32 = 3) --loss U\nfor i in y:\n    U[None] += dt * n", "step")
    assert told(page, "n = 4") is None
    assert told(page, "dt = 0.25") == "`dt` is 0.25, and was 0.5"
    page.good("a = np.ones(3)")
    page.good("%%kernel read(a: ds.types.ndarray()) --loss U\nfor i in a:\n    U[None] += a[i]", "read")
    assert told(page, "a[0] = 5") is None
    assert told(page, "a = np.ones(3)") == "`a` was redefined"


def test_templates_structs_and_dataclasses(page):
    page.good("@ds.dataclass\nclass P:\n    m: ds.f64\nparts = P.field(shape=4, needs_grad=True)")
    cell = "%%kernel mass(f: ds.template()) --loss U\nfor i in f:\n    p = P(m=f[i].m)\n    U[None] += p.m"
    page.good("f = parts")
    page.good(cell, "mass")
    said = "`P` was redefined"
    assert told(page, "@ds.dataclass\nclass P:\n    m: ds.f64\n    n: ds.f64") == said
    assert told(page, "f = P.field(shape=3, needs_grad=True)") == f"{said}, `f` was redefined"


def test_kernels_without_a_run(page):
    page.good("%%kernel fill\nfor i in y:\n    y[i] = square(scale)", "fill")
    assert told(page, "scale = 3.0") == "`scale` is 3.0, and was 2.0"
    page.good("%%kernel put(n: ds.i32)\ny[n] = scale", "put")
    page.good("%%kernel fill2(a: ds.types.ndarray())\nfor i in a:\n    a[i] = 1", "fill2")
    assert told(page, "del fill2") == "`fill2` is no longer defined"


@pytest.mark.parametrize("reload", ["importlib.reload(funcs_of_mine)", "%run funcs_of_mine.py"])
def test_funcs_of_a_module(page, tmp_path, monkeypatch, reload):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "funcs_of_mine.py"
    text = "import dsim as ds\n@ds.func\ndef twice(a):\n    return 2 * a\n"
    file.write_text(text)
    module = "run" not in reload
    page.good("import importlib, funcs_of_mine" if module else reload)
    twice = "funcs_of_mine.twice" if module else "twice"
    page.good(f"%%kernel double --loss U\nfor i in y:\n    U[None] += {twice}(y[i])", "double")
    file.write_text(text.replace("2 * a", "3 * a + a"))
    importlib.invalidate_caches()
    assert told(page, reload) == f"`{twice}` was redefined"
    sys.modules.pop("funcs_of_mine", None)


def test_cells_of_a_notebook_that_a_cell_runs(page, tmp_path):
    page.good(CELL, "energy")
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell("scale = 9.0")]), tmp_path / "other.ipynb")
    assert told(page, f"%run {tmp_path / 'other.ipynb'}") == "`scale` is 9.0, and was 2.0"


def test_all_three_forms_say_it(page):
    page.good("name = '<img src=x>'")
    cell = "%%kernel named --loss U\nfor i in y:\n    if ds.static(name != ''):\n        U[None] += y[i]"
    page.good(cell, "named")
    ran = page.good("name = '<script>'", "elsewhere")
    said = "`name` is '<script>', and was '<img src=x>'"
    assert ran.report["stale"] == said
    assert ran.form("plain").splitlines()[1] == f"out of date: {said}"
    assert f"Out of date: {html.escape(said)}. Run this cell again." in ran.form("html")


def test_without_names_of_cells_outputs_stay_as_they_were(page):
    found = sliders(page.good(CELL))
    assert reports(page.good("scale = 3.0")) == []
    assert not found["i"].disabled
    (report,) = moved(found["i"], 3)  # a person is there after all
    assert report["stale"] == "`scale` is 3.0, and was 2.0"


def test_unloading_takes_all_of_it_away(page):
    ran = page.good(CELL, "energy")
    page.good("%unload_ext dsim")
    assert ran.bundles[-1][VIEW]["model_id"] not in registry._instances
    with capture_output() as caught:
        page.shell.run_cell("scale = 9.0", cell_id="elsewhere")
    assert caught.outputs == []
    page.good("%load_ext dsim")
    page.good("scale = 2.0")
    assert "stale" not in page.good(GRAVITY, "energy").report


def test_several_reports_of_a_kernel_in_one_cell(page):
    line = "get_ipython().run_cell_magic('kernel', 'k --loss U', 'for i in y:\\n    U[None] += scale * y[i]')"
    page.good(f"for scale in (1.0, 2.0, 3.0):\n    {line}", "loop")
    stale = [r.get("stale") for r in reports(page.good("scale = 4.0", "elsewhere"))]
    assert stale == [f"`scale` is 4.0, and was {n}.0" for n in (1, 2, 3)]
    stale = [r.get("stale") for r in reports(page.good("scale = 2.0", "elsewhere"))]
    assert stale == ["`scale` is 2.0, and was 1.0", None, "`scale` is 2.0, and was 3.0"]
    page.good("1", "loop")
    assert told(page, "scale = 7.0") is None


def test_functions_that_python_runs(page):
    page.good("def count():\n    return 2\ndef base():\n    return 3\ndef size():\n    return base()")
    loop = "for _ in ds.static(range(count())):"
    cell = f"%%kernel sized --loss U\nfor i in y:\n    {loop}\n        U[None] += size()"
    page.good(cell, "sized")
    assert told(page, "def count():\n    return 3") == "`count` was redefined"
    assert told(page, "def base():\n    return 4") == "`count` was redefined, `base` was redefined"
    assert told(page, "def count():\n    return 2\ndef base():\n    return 3") == ""


def test_outputs_say_to_pages_whose_they_are(live):  # noqa: F811
    live.shell.kernel = SimpleNamespace(session=SimpleNamespace(session="this process"))
    with capture_output() as caught:
        live.shell.run_cell(CELL.replace("square", "abs"), store_history=True, cell_id="mine")
    found = [o.metadata for o in caught.outputs if MIME in o.data]
    assert found == [{"dsim": {"cell": "mine", "session": "this process"}}]
    with capture_output() as caught:  # a tool that runs a notebook from its first cell to its last
        live.shell.run_cell(CELL.replace("square", "abs"), store_history=True)
    assert [o.metadata for o in caught.outputs if MIME in o.data] == [{}]


@pytest.mark.parametrize(
    ("cell", "back", "said"),
    [
        ("def abs(a):\n    return a", "del abs", "`abs` was redefined"),
        ("range = reversed", "del range", "`range` was redefined"),
        ("import math as ds", "import dsim as ds", "`ds` was redefined"),
        ("from dsim import cos as wave", "from dsim import sin as wave", "`wave` was redefined"),
        ("times.__defaults__ = (3.0,)", "times.__defaults__ = (2.0,)", "`times` was redefined"),
        ("times.__kwdefaults__ = {'c': 3.0}", "times.__kwdefaults__ = {'c': 1.0}", "`times` was redefined"),
        ("trips = 4", "trips = 3", "`trips` is 4, and was 3"),
    ],
)
def test_names_of_the_language_and_what_is_set_in_place(page, cell, back, said):
    page.good("from dsim import sin as wave\ntrips = 3\ndef count():\n    return trips")
    page.good("def times(a, b=2.0, *, c=1.0):\n    return a * b * c")
    page.good(
        "%%kernel k --loss U\nfor i in y:\n    e = abs(wave(ds.cos(y[i]))) * times(y[i])\n"
        "    for _ in ds.static(range(count())):\n        U[None] += e",
        "k",
    )
    assert told(page, "1 + 1") is None
    assert told(page, cell) == said
    assert told(page, back) == ""
