"""The cell or file that a report names for a line, where several have the same name."""

import importlib
import linecache

import pytest

SQUARE = "# 1\n# 2\n# 3\n# 4\n# 5\n@ds.func\ndef square(a):\n    return a * a"


def total(func):
    return f"%%kernel total --loss U\nfor i in y:\n    U[None] += {func}(y[i])"


def named(report):
    """The lines that a report names, with their texts, by cells and files."""
    return [(o["name"], {each["line"]: each["text"] for each in o["lines"]}) for o in report["origins"]]


def lines_of(report, text):
    """The places of a person that lines with `text` in the listing of the IR come from."""
    (ir,) = [each for each in report["listings"] if each["name"] == "ir"]
    return [
        (report["origins"][origin]["here"], line)
        for made, origin, line in zip(ir["text"].split("\n"), ir["origins"], ir["lines"], strict=True)
        if text in made
    ]


@pytest.fixture
def module(notebook, tmp_path, monkeypatch):
    """Writes the text of a module that the notebook has imported as `far`, and reads it again."""
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "far_places.py"

    def write(text):
        path.write_text(text)
        importlib.invalidate_caches()
        linecache.checkcache()
        notebook.good("import importlib, far_places as far\nfar = importlib.reload(far)")
        return path

    return write


def test_cells_without_history_share_a_number_and_are_told_apart(notebook):
    notebook.good(SQUARE, history=False)
    report = notebook.good(total("square"), history=False).report
    number = notebook.shell.execution_count
    assert named(report) == [("this cell", {}), (f"cell In[{number}]", {8: "    return a * a"})]
    assert lines_of(report, "mul") == [(False, 8)]
    assert lines_of(report, "= y[i]") == [(True, 3)]
    (call,) = [v for v in report["probe"]["values"] if v["name"] == "U[None]"]
    assert call["line"] == 3


def test_a_line_of_another_cell_is_not_marked_in_a_line_of_the_same_number(notebook):
    notebook.good("#\n@ds.func\ndef root(a): return ds.sqrt(a - 1)", history=False)
    ran = notebook.good(total("root"), history=False)
    (found,) = [d for d in ran.report["diagnostics"] if d["code"] in ("nan", "infinite-gradient")]
    assert (found["line"], found["text"]) == (3, "    U[None] += root(y[i])")
    assert any(place["text"].startswith("def root") for place in found["related"])


def test_a_tape_knows_the_kernels_of_its_own_cell(notebook):
    notebook.good("@ds.kernel\ndef start():\n    for i in y:\n        y[i] = 0.5", history=False)
    report = notebook.good(total("abs"), history=False).report
    assert [c["cell"] for g in report["tape"]["groups"] for c in g["calls"]] == [True]
    notebook.good("with ds.Tape(U) as tape:\n    start()\n    total()", history=False)
    shown = notebook.good("%tape tape", history=False).report["tape"]
    assert {c["file"] for g in shown["groups"] for c in g["calls"]} == {"another cell"}


def test_the_lines_that_led_to_an_error_are_told_where_cells_share_a_number(notebook):
    notebook.good("#\ndef go():\n    broken()", history=False)
    notebook.good("#\n@ds.kernel\ndef broken():\n    for i in y: y[i] = y.none", history=False)
    error = notebook.run("#\n#\n#\ngo()", history=False).error
    shown = "\n".join(error._render_traceback_())
    assert ":4: go()" in shown
    assert ":3: broken()" in shown


def test_funcs_of_an_edited_module_keep_their_lines(notebook, module):
    module("import dsim as ds\n@ds.func\ndef square(a):\n    return a * a\n")
    notebook.good("old = far.square")
    module("import dsim as ds\n@ds.func\ndef square(a):\n    return a * a * 2\n")
    notebook.good("@ds.func\ndef both(a):\n    return old(a) + far.square(a)")
    report = notebook.good(total("both")).report
    of_module = [lines for name, lines in named(report) if name == "far_places.py"]
    assert sorted(lines[4] for lines in of_module) == ["    return a * a", "    return a * a * 2"]


def test_funcs_of_a_deleted_module_keep_their_lines(notebook, module):
    path = module("# 1\n# 2\n# 3\nimport dsim as ds\n@ds.func\ndef square(a):\n    return a * a\n")
    path.unlink()
    linecache.checkcache()
    report = notebook.good(total("far.square")).report
    assert named(report)[1:] == [("far_places.py", {7: "    return a * a"})]


def test_funcs_of_a_notebook_that_was_run_inside(notebook, tmp_path):
    (tmp_path / "funcs.ipy").write_text(SQUARE)
    notebook.good(f"%run -i {tmp_path / 'funcs.ipy'}")
    report = notebook.good(total("square")).report
    assert [lines for name, lines in named(report) if name != "this cell"] == [{8: "    return a * a"}]
