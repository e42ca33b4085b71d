"""Errors of a cell: their places, and the state left unchanged."""

import html
import traceback

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from dsim.diagnostics import BoundsError, CompilationError, KernelSyntaxError
from dsim.notebook.report.report import MIME
from tests.notebook.cells import BODIES, GRAVITY

WRONG = """%%kernel energy --loss U
for i in range(3):
    ä = 'ü', y[i] + nix
    U[None] += y[i]"""


def underlined(report):
    """The text that each diagnostic underlines."""
    lines = report["source"].split("\n")
    return [lines[d["line"] - 1][d["column"] : d["end_column"]] for d in report["diagnostics"]]


def test_a_mistake_is_told_with_the_persons_line_and_as_a_failed_report(notebook):
    ran = notebook.run(WRONG)
    assert isinstance(ran.error, CompilationError)
    report = ran.report
    assert (report["status"], report["kernel"], report["source"]) == ("failed", None, WRONG)
    (found,) = report["diagnostics"]
    assert (found["level"], found["line"], found["code"]) == ("error", 3, "unknown-name")
    assert underlined(report) == ["nix"]
    column = WRONG.split("\n")[2].index("nix")
    told = ran.stdout.split("CompilationError:\n")[1].split("\n")
    assert told[0] == "error[unknown-name]: `nix` is not defined"
    assert told[1].endswith(f":3:{column + 1}")
    assert told[2] == "3 │     ä = 'ü', y[i] + nix"
    assert told[3] == "  │ " + " " * column + "^^^"
    assert told[4].startswith("help: ")
    assert "dsim/" not in ran.stdout
    assert "Traceback" not in ran.stdout
    assert told[5:] == [""]
    assert ran.form("plain") == "not compiled: the names that this cell defines are unchanged"


def test_all_mistakes_are_marked_in_the_order_of_the_text(notebook):
    ran = notebook.run("%%kernel wrong\nfor i in y:\n    a = nix\n    b = 'a' * 1.0\n    c = y[i, i]")
    assert [d["line"] for d in ran.report["diagnostics"]] == [3, 4, 5]
    assert underlined(ran.report) == ["nix", "'a' * 1.0", "y[i, i]"]
    assert [ran.stdout.count(f"error[{d['code']}]: {d['message']}\n") for d in ran.report["diagnostics"]] == [
        1
    ] * 3


@pytest.mark.slow
def test_an_error_is_told_once_and_the_cell_fails():
    """As front ends get it: a report for the marks, and one error that says everything."""
    cells = [
        "%load_ext dsim",
        BODIES,
        WRONG,
        "%%kernel outside --loss U\nfor i in y:\n    U[None] += y[i + 1]",
        "reached = True",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    notebook.cells[2].metadata["tags"] = ["raises-exception"]
    with pytest.raises(CellExecutionError, match="is outside `y`"):
        NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    assert notebook.cells[4].execution_count is None
    for cell, name, line, told in (
        (notebook.cells[2], "CompilationError", 3, "`nix` is not defined"),
        (notebook.cells[3], "BoundsError", 3, "is outside `y`"),
    ):
        report, error, meaning = cell.outputs
        data = report["data"]
        (found,) = data[MIME]["diagnostics"]
        assert (data[MIME]["status"], found["line"]) == ("failed", line)
        assert told in found["message"]
        assert error["output_type"] == "error"
        assert error["ename"] == name
        assert error["evalue"].startswith(f"error[{found['code']}]: {found['message']}")
        assert "\n".join(error["traceback"]).count(found["message"]) == 1
        assert found["message"] not in html.unescape(data["text/html"]) + data["text/plain"]
        assert meaning["data"]["text/plain"] == f"What it means: `dsim explain {found['code']}`"


@pytest.mark.parametrize(
    ("cell", "line", "marked"),
    [
        ("%%kernel wrong\nfor i in y\n    pass", 2, ""),
        ("%%kernel wrong\nfor i in y:\n  a = (1,\n", 3, "("),
        ("%%kernel wrong\nfor i in y:\na = 1", 3, "a"),
        ("%%kernel wrong(t ds.i32)\npass", 1, "ds"),
        ("%%kernel  wrong( t ds.i32 )\npass", 1, "ds"),
        ("%%kernel wrong\n# nothing", 1, "%%kernel wrong"),
        ("%%kernel\n\nU[None] = 1.0", 3, "U[None] = 1.0"),
        ("%%kernel\nN = 9", 1, "%%kernel"),
    ],
)
def test_what_is_no_kernel_is_marked_too(notebook, cell, line, marked):
    ran = notebook.run(cell)
    assert isinstance(ran.error, KernelSyntaxError)
    (found,) = ran.report["diagnostics"]
    assert (found["level"], found["line"]) == ("error", line)
    assert underlined(ran.report) == [marked]
    assert notebook.names["N"] == 8
    assert "wrong" not in notebook.names


def test_a_failed_compile_leaves_the_last_kernel_and_all_fields(notebook):
    notebook.good(GRAVITY)
    names, good = notebook.names, notebook.names["energy"]
    before = {n: names[n].to_numpy().tobytes() for n in ("x", "v", "y", "U")}
    gradient = names["x"].grad.to_numpy()
    assert notebook.run(GRAVITY.replace("1e-3", "nix")).error is not None
    assert names["energy"] is good
    assert {n: names[n].to_numpy().tobytes() for n in before} == before
    assert (names["x"].grad.to_numpy() == gradient).all()
    good()
    assert names["U"][None] != 0


def test_a_failed_compile_takes_back_all_names_of_its_cell(notebook):
    notebook.good("%%kernel\nN = 8\n@ds.func\ndef f(a):\n    return a\ndef first():\n    U[None] += f(1.0)")
    kept = {n: notebook.names[n] for n in ("N", "f", "first")}
    ran = notebook.run(
        "%%kernel\nN = 9\nM = 3\n@ds.func\ndef f(a):\n    return a + 1\ndef first():\n    U[None] += f(1.0)\n"
        "def second():\n    U[None] += nix"
    )
    assert ran.error is not None
    assert {n: notebook.names[n] for n in kept} == kept
    assert "M" not in notebook.names
    assert "second" not in notebook.names
    kept["first"]()
    assert notebook.names["U"][None] == 1.0


def test_a_run_that_fails_points_to_its_line_and_puts_everything_back(notebook):
    names = notebook.names
    notebook.good("U[None] = 4.0")
    notebook.good("x.grad.fill(2.0)")
    before = {n: names[n].to_numpy().tobytes() for n in ("x", "v", "y", "U")}
    ran = notebook.run(
        "%%kernel outside --loss U\nfor i in y:\n    y[i] = 3.0\nfor i in y:\n    U[None] += y[i + 1]"
    )
    assert isinstance(ran.error, BoundsError)
    assert (ran.report["status"], ran.report["kernel"]) == ("failed", "outside")
    assert underlined(ran.report) == ["y[i + 1]"]
    assert {n: names[n].to_numpy().tobytes() for n in before} == before
    assert (names["x"].grad.to_numpy() == 2).all()
    assert "outside" in names  # it was compiled
    assert "dsim/" not in ran.stdout


def test_an_error_of_a_launch_points_to_the_magic_line(notebook):
    notebook.good("late = ds.field(ds.f64)\nt = 'no number'")
    ran = notebook.run("%%kernel wrong(t: ds.f64) --loss U\nfor i in y:\n    U[None] += t")
    assert "interactiveshell" not in ran.stdout
    assert ran.report["diagnostics"][0]["line"] == 1
    assert "│ %%kernel wrong(t: ds.f64) --loss U" in ran.stdout


def test_tracebacks_of_definitions_show_the_cells_lines_only(notebook):
    ran = notebook.run("%%kernel\n\ndef wrong(a: ds.nix):\n    pass")
    assert isinstance(ran.error, AttributeError)
    assert "----> 3 def wrong(a: ds.nix):" in ran.stdout
    assert "magics.py" not in ran.stdout
    assert ran.bundles == []


def test_a_kernel_of_a_cell_names_the_cell_when_it_fails_later(notebook):
    notebook.good("%%kernel reach(n: ds.i32)\ny[n] = 1.0")
    count = notebook.shell.execution_count - 1
    ran = notebook.run("reach(99)")
    assert f"--> cell In[{count}]:2:1" in ran.stdout
    assert "2 │ y[n] = 1.0" in ran.stdout


def test_the_calls_that_led_to_an_error_are_told(notebook):
    notebook.good("%%kernel up(n: ds.i32)\nfor i in range(n):\n    y[i] = 1.0")
    ran = notebook.run("def step(n):\n    up(n)\n\nfor n in (8, 9):\n    step(n)")
    assert ran.stdout.split("\n")[-3:] == [
        "called from cell In[4]:5: step(n)",
        "            cell In[4]:2: up(n)",
        "",
    ]
    again = notebook.run("def down(n):\n    up(9) if n == 0 else down(n - 1)\n\ndown(30)").stdout
    assert again.count("down(n - 1)") == 7
    assert "            …\n" in again


def test_a_call_that_is_shown_is_not_told_again(notebook):
    notebook.good("%%kernel up(n: ds.i32)\nfor i in range(n):\n    y[i] = 1.0")
    assert "called from" not in notebook.run("up()").stdout
    assert "called from" not in notebook.run("%%kernel down\nup(1)\nx[0] = nix").stdout
    assert "called from" not in notebook.run("%%kernel down --loss U\nU[None] = y[9]").stdout


def test_a_mistake_in_a_func_of_another_cell_is_marked_at_the_call(notebook):
    notebook.good("@ds.func\ndef half(a):\n    return a * nix")
    ran = notebook.run("%%kernel wrong\nfor i in y:\n    y[i] = half(y[i])")
    (found,) = ran.report["diagnostics"]
    assert underlined(ran.report) == ["half(y[i])"]
    (there,) = found["related"]
    assert (there["text"], there["label"]) == ("    return a * nix", "here")
    origin = ran.report["origins"][there["origin"]]
    assert (origin["name"], origin["here"]) == (f"cell In[{notebook.shell.execution_count - 2}]", False)
    assert origin["lines"] == [{"line": 3, "text": "    return a * nix"}]


def test_leading_empty_lines_count(notebook):
    cell = "\n\n%%kernel wrong\n\nfor i in y:\n    y[i] = nix\n"
    ran = notebook.run(cell)
    assert ran.report["source"] == cell.rstrip("\n")
    assert [d["line"] for d in ran.report["diagnostics"]] == [6]
    assert underlined(ran.report) == ["nix"]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_lines_may_end_as_on_other_systems(notebook, newline):
    cell = "%%kernel up --loss U\nfor i in y:\n    U[None] += y[i]"
    report = notebook.good(cell.replace("\n", newline) + newline).report
    assert report["source"] == cell
    assert [v["line"] for v in report["probe"]["values"]] == [3]
    ran = notebook.run(cell.replace("y[i]", "nix").replace("\n", newline))
    assert underlined(ran.report) == ["nix"]


def test_an_overwrite_is_a_note_with_both_lines(notebook):
    cell = "%%kernel bend\nfor i in y:\n    a = y[i]\n    y[i] = a * a"
    ran = notebook.good(cell)
    (found,) = ran.report["diagnostics"]
    assert (found["level"], found["code"], found["line"]) == ("note", "overwritten", 4)
    assert found["message"] == "`y[i]` is overwritten after it was read"
    assert found["label"] == "overwritten here; the backward pass needs the old value"
    (read,) = found["related"]
    assert (read["line"], read["label"]) == (3, "read here")
    assert ran.report["origins"] == [{"name": "this cell", "here": True, "lines": []}]
    assert (found["origin"], read["origin"]) == (0, 0)
    assert "a tape saves the old value" in found["help"]


def test_a_serial_loop_is_a_warning_and_nothing_goes_to_stderr(notebook):
    ran = notebook.good(
        "%%kernel chain --loss U\nfor i in range(1, N):\n    y[i] = y[i - 1] * 2\n"
        "for i in y:\n    U[None] += y[i]"
    )
    assert ran.stderr == ""
    assert ("warning", "serial") in {(d["level"], d["code"]) for d in ran.report["diagnostics"]}
    assert ran.report["status"] == "ok"
    assert notebook.run("chain()").stderr == ""  # it was said


@pytest.mark.slow
def test_where_a_nan_is_born(notebook):
    cell = (
        "%%kernel bad --loss U\nfor i in y:\n    d = y[i] - y[i] * 1.0\n"
        "    e = 1.0 / ds.sin(d)\n    f = e * 2\n    U[None] += f"
    )
    ran = notebook.good(cell)
    found = [d for d in ran.report["diagnostics"] if d["code"] == "nan"]
    assert [(d["level"], d["line"]) for d in found] == [("warning", 4)]
    assert ran.report["summary"]["text"].startswith("bad: reads y, accumulates into U; U = inf")


def test_where_an_infinite_gradient_is_born(notebook):
    notebook.good("y[2] = 0.0")
    ran = notebook.good(
        "%%kernel bad --loss U\nfor i in y:\n    a = y[i] * 2\n    b = ds.sqrt(a)\n    U[None] += b"
    )
    found = [d for d in ran.report["diagnostics"] if d["code"] == "nan"]
    assert [(d["level"], d["line"], d["text"][d["column"] : d["end_column"]]) for d in found] == [
        ("warning", 4, "ds.sqrt(a)")
    ]
    assert found[0]["message"] == (
        "the gradient ∂U/∂ of `ds.sqrt(a)` is finite, and that of what it is computed from is not"
    )


def test_warnings_of_others_stay_warnings(notebook):
    with pytest.warns(UserWarning, match="mine"):
        notebook.good("%%kernel\nimport warnings\nz = warnings.warn('mine')\ndef k():\n    U[None] = 1.0")


def test_internal_frames_are_shown_when_dsim_itself_is_wrong(notebook, monkeypatch):
    from dsim.notebook.report import reporting

    def broken(*_):
        raise RuntimeError("a fault of dsim's own")

    monkeypatch.setattr(reporting, "listings", broken)
    ran = notebook.run(GRAVITY)
    assert isinstance(ran.error, RuntimeError)
    assert "a fault of dsim's own" in ran.stdout
    assert traceback.extract_tb(ran.error.__traceback__)[-1].name == "broken"
    assert np.isfinite(notebook.names["U"][None])


@pytest.mark.slow
def test_what_takes_no_part_is_marked_in_the_magic_line(notebook):
    ran = notebook.good("%%kernel up --loss U --wrt x,y\nfor i in x:\n    U[None] += x[i].x")
    (found,) = ran.report["diagnostics"]
    assert (found["level"], found["code"], underlined(ran.report)) == ("warning", "unreached", ["y"])
    assert found["message"] == "the gradient of `y` is 0: `up` does not read `y`"
    ran = notebook.good("%%kernel up --loss U --wrt y\nfor i in y:\n    y[i] = ds.sin(y[i])")  # in place
    assert {d["code"] for d in ran.report["diagnostics"]} == {"cut", "overwritten"}
    ran = notebook.good("%%kernel up --loss U\nfor i in x:\n    y[i] = x[i].x")
    (found,) = ran.report["diagnostics"]
    assert (found["level"], found["code"], underlined(ran.report)) == ("warning", "cut", ["U"])
    assert found["message"] == "`up` does not write the loss `U`: all gradients are 0"
    assert "with" not in found["help"]


def test_a_gradient_that_ends_in_the_kernel_says_where(notebook):
    ran = notebook.good("%%kernel up --loss U --wrt y\nfor i in y:\n    U[None] += ds.floor(y[i])")
    (found,) = ran.report["diagnostics"]
    assert (found["code"], found["line"]) == ("unreached", 3)
    assert "rounded here" in found["label"]


def test_what_is_refused_under_strict_is_marked_as_an_error(notebook):
    notebook.good("ds.init(default_fp=ds.f64, strict=True)")
    ran = notebook.run("%%kernel chain\nfor i in range(1, N):\n    y[i] = y[i - 1] * 2")
    notebook.good("ds.init(default_fp=ds.f64, strict=False)")
    assert isinstance(ran.error, CompilationError)
    assert [(d["level"], d["code"]) for d in ran.report["diagnostics"]] == [("error", "serial")]
    assert "chain" not in notebook.names


def test_an_infinite_gradient_that_no_line_has_in_between(notebook):
    notebook.good("y[2] = 0.0")
    ran = notebook.good(
        "%%kernel bad --loss U\nfor i in y:\n    U[None] += 2 * y[i]\n    U[None] += ds.sqrt(y[i])"
    )
    (found,) = [d for d in ran.report["diagnostics"] if d["code"] == "nan"]
    assert (found["line"], found["text"][found["column"] : found["end_column"]], found["label"]) == (
        4,
        "ds.sqrt(y[i])",
        "1 of 8 times",
    )
    assert found["message"] == (
        "the gradient ∂U/∂ of `ds.sqrt(y[i])` is finite, and that of what it is computed from is not"
    )


def test_numbers_that_were_not_finite_before_are_nobodys_fault(notebook):
    notebook.good("y[2] = np.nan")
    ran = notebook.good("%%kernel fine --loss U\nfor i in y:\n    a = y[i] * 2\n    U[None] += a")
    assert [d for d in ran.report["diagnostics"] if d["code"] == "nan"] == []


def test_the_place_of_a_result_is_the_lines(notebook):
    for result in (" -> ds.f64", "() -> ds.f64"):
        assert underlined(notebook.run(f"%%kernel up{result}\nU[None] = 1").report) == ["ds.f64"]


def test_a_loop_that_is_stopped_shows_the_persons_lines_only(notebook, monkeypatch):
    notebook.good(
        "class Settings:\n    stop = False\n    @property\n    def c(self):\n        if self.stop:\n"
        "            raise KeyboardInterrupt\n        return 2.0\ns = Settings()"
    )
    notebook.good("%%kernel up\nfor i in y:\n    U[None] += s.c * y[i]\n")
    notebook.good("up()\ns.stop = True")
    ran = notebook.run("for n in range(3):\n    up()")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert ran.stdout == "KeyboardInterrupt:\ncalled from cell In[6]:2: up()\n"
    notebook.good("s.stop = False\ndef run(self): raise KeyboardInterrupt")
    monkeypatch.setattr("dsim.runtime.sweeping.sweep.TapeSweep.run", notebook.names["run"])
    ran = notebook.run("with ds.Tape(U):\n    up()")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert ran.stdout == "KeyboardInterrupt:\ncalled from cell In[8]:1: with ds.Tape(U):\n"


def test_a_stopped_cell_says_so_in_one_line(notebook):
    notebook.good("def stop():\n    raise KeyboardInterrupt")
    ran = notebook.run("%%kernel\ndef f(a: ds.f64 = stop()):\n    U[None] += a")
    assert isinstance(ran.error, KeyboardInterrupt)
    told = "KeyboardInterrupt: the cell was stopped"
    assert ran.stdout.strip() == told
    assert "f" not in notebook.names
