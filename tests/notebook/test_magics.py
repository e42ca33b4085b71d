"""`%%kernel` in its forms, its options, and its effects on the notebook."""

import inspect
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter

from dsim.runtime.kernels.kernel import Kernel
from tests.notebook.cell.test_completing import completed
from tests.notebook.cells import GRAVITY, closed_form
from tests.notebook.report.test_reports import validated


@pytest.mark.slow
def test_importing_dsim_does_not_import_ipython():
    code = "import sys, dsim; print({m.split('.')[0] for m in sys.modules} & {'IPython', 'ipywidgets'})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_extension_is_loaded_and_unloaded(empty):
    assert "loaded" not in empty.good("%load_ext dsim").stderr
    assert empty.shell.find_cell_magic("kernel") is not None
    empty.good("%unload_ext dsim")
    assert empty.shell.find_cell_magic("kernel") is None


def test_with_a_name_the_cell_is_the_body(notebook):
    notebook.good(GRAVITY)
    energy, x, U = (notebook.names[n] for n in ("energy", "x", "U"))
    assert isinstance(energy, Kernel)
    assert np.allclose(x.grad.to_numpy(), closed_form(x.to_numpy()), rtol=1e-12)
    energy()
    r = x.to_numpy()[:, None] - x.to_numpy()[None]
    assert U[None] == pytest.approx(-(1 / np.sqrt((r**2).sum(-1) + 1e-3)).sum())


def test_a_body_takes_arguments_and_returns(notebook):
    notebook.good(
        "%%kernel total(t: ds.i32, k: ds.f64 = 2.0) -> ds.f64\ns = 0.0\nfor i in y:\n"
        "    s += k * y[i] + t\nreturn s"
    )
    y = notebook.names["y"].to_numpy()
    assert notebook.names["total"](3) == pytest.approx((2 * y + 3).sum())
    assert notebook.names["total"](3, 5.0) == pytest.approx((5 * y + 3).sum())


def test_functions_become_kernels_and_funcs_stay_funcs(notebook):
    notebook.good(
        "%%kernel --loss U\n@ds.func\ndef square(a):\n    return a * a\n\n"
        "def first():\n    for i in y:\n        y[i] = 2.0\n\n"
        "@ds.kernel\ndef second():\n    for i in y:\n        U[None] += square(y[i])"
    )
    first, second = notebook.names["first"], notebook.names["second"]
    assert isinstance(first, Kernel)
    assert isinstance(second, Kernel)
    assert not isinstance(notebook.names["square"], Kernel)
    y = notebook.names["y"]
    assert np.allclose(y.grad.to_numpy(), 2 * y.to_numpy())  # of `second`: `first` has not run
    first()
    assert (y.to_numpy() == 2).all()


def test_definitions_beside_functions_go_to_the_notebook(notebook):
    notebook.good(
        "%%kernel\n'Half.'\nimport math\nhalf: float = 0.5\n\n"
        "def halve():\n    for i in y:\n        y[i] *= half"
    )
    assert notebook.names["half"] == 0.5
    notebook.names["halve"]()
    assert notebook.names["y"][0] == 0.25


def test_running_a_cell_again_replaces_the_kernel(notebook):
    notebook.good("%%kernel fill\nfor i in y:\n    y[i] = 1.0")
    before = notebook.names["fill"]
    notebook.good("%%kernel fill\nfor i in y:\n    y[i] = 7.0")
    assert notebook.names["fill"] is not before
    notebook.names["fill"]()
    assert (notebook.names["y"].to_numpy() == 7).all()


def test_a_number_of_the_notebook_that_changes_later_counts(notebook):
    notebook.good("dt = 1.0\nprint(dt)")
    notebook.good("%%kernel fill\nfor i in y:\n    y[i] = dt")
    notebook.good("dt = 3.0")
    notebook.good("fill()")
    assert (notebook.names["y"].to_numpy() == 3).all()


def test_parameters_of_the_report_come_from_defaults_and_the_notebook(notebook):
    cell = "%%kernel scaled(k: ds.f64, m: ds.f64 = 2.0) --loss U\nfor i in y:\n    U[None] += k * m * y[i]"
    ran = notebook.run(cell)
    assert "to run scaled, give its parameter k a default, or define k in the notebook" in ran.stderr
    assert "scaled" not in notebook.names
    notebook.good("k = 5.0")
    notebook.good(cell)
    assert np.allclose(notebook.names["y"].grad.to_numpy(), 10.0)


def test_template_parameters_are_named_fields(notebook):
    notebook.good("field = y")
    ran = notebook.good(
        "%%kernel total(field: ds.template()) --loss U\nfor i in field:\n    U[None] += field[i]"
    )
    assert np.allclose(notebook.names["y"].grad.to_numpy(), 1.0)
    assert ran.report["probe"]["values"][0]["text"] == "U[None] += 0.5   ∂U/∂U[None] = 1"
    ran = notebook.good("%%kernel total(field: ds.template())\nfor i in field:\n    U[None] += field[i]")
    assert ran.report["summary"]["text"] == "total: compiled when it is launched, for its arguments"


def test_forward_mode_leaves_tangents(notebook):
    ran = notebook.good("%%kernel double --forward y\nfor i in y:\n    v[i][0] = y[i] ** 2")
    v, y = notebook.names["v"], notebook.names["y"].to_numpy()
    assert np.allclose(v.dual.to_numpy()[:, 0], 2 * y)
    length = f"‖v.dual‖ = {np.linalg.norm(2 * y):.3g}"
    assert {"kernel": "double", "label": "tangent along y", "value": length} in ran.report["summary"]["rows"]
    assert ran.report["heat"] is None
    assert ran.report["probe"]["values"][0]["text"] == "v[i][0] = 0.25   tangent of v[i][0] = 1"


@pytest.mark.parametrize(("option", "at"), [("--run", 0), ("--probe 3", 3)])
def test_a_run_without_derivatives_shows_values_and_leaves_no_trace(notebook, option, at):
    y, gradient = notebook.names["y"].to_numpy(), notebook.names["y"].grad.to_numpy()
    ran = notebook.good(
        f"%%kernel up {option}\nfor i in y:\n    a = 2.0 * y[i]\n    y[i] = a + 1.0\n    print(i)"
    )
    assert sorted(ran.stdout.split()) == [str(i) for i in range(8)]
    report = validated(ran.report)
    assert [v["text"] for v in report["probe"]["values"]] == [
        f"a = {2 * y[at]:.3g}",
        f"y[i] = {2 * y[at] + 1:.3g}",
    ]
    assert report["probe"]["indices"] == [{"name": "i", "value": at, "low": 0, "high": 8}]
    assert (report["heat"], report["tape"]) == (None, None)
    assert {"launch_s", "lines_s"} <= set(report["timings"])
    np.testing.assert_array_equal(notebook.names["y"].to_numpy(), y)
    np.testing.assert_array_equal(notebook.names["y"].grad.to_numpy(), gradient)


def test_a_run_without_derivatives_finds_what_is_not_finite(notebook):
    cell = "%%kernel up --run\nfor i in y:\n    v[i][0] = 1.0 + ds.log(y[i] - 0.5)"
    (d,) = notebook.good(cell).report["diagnostics"]
    assert (d["code"], d["text"][d["column"] : d["end_column"]]) == ("nan", "ds.log(y[i] - 0.5)")


def test_forward_mode_of_what_has_no_tangent(notebook):
    report = notebook.good("%%kernel up -> ds.f64 --forward y\nreturn y[0]").report
    assert report["summary"]["text"] == "up: reads y"


def test_a_gradient_check_agrees_or_says_that_it_does_not(notebook):
    good = notebook.good(GRAVITY.replace("--wrt x", "--wrt x --check"))
    row = next(r["value"] for r in good.report["summary"]["rows"] if r["label"] == "gradient check")
    assert row.startswith("agrees to ")
    assert good.report["diagnostics"] == []
    wrong = notebook.good(
        "%%kernel cut --loss U --check\nfor i in y:\n    U[None] += ds.stop_grad(y[i]) * y[i]"
    )
    (found,) = wrong.report["diagnostics"]
    assert (found["level"], found["code"]) == ("warning", "wrong-derivative")
    assert found["line"] == 1


@pytest.mark.slow
def test_the_errors_of_a_gradient_check_are_drawn(notebook):
    plt.switch_backend("agg")
    nothing = "%check energy --plot: there is no check to draw, run the cell of energy with --check first"
    notebook.good(GRAVITY)
    assert nothing in notebook.run("%check energy --plot").stderr
    notebook.good(GRAVITY.replace("--wrt x", "--wrt x --check"))
    plt.close("all")
    ran = notebook.good("%check energy --plot")
    assert not ran.bundles
    (axes,) = plt.gcf().axes
    assert axes.lines[0].get_label() == "reverse: x"
    steps, errors = axes.lines[0].get_data()
    assert (len(steps), min(errors) < 1e-8) == (16, True)
    plt.close("all")
    for name, cell in (("cut", "U[None] += ds.stop_grad(y[0]) * y[0]"), ("nothing", "U[None] += 1.0")):
        report = notebook.good(f"%%kernel {name} --loss U --check\n{cell}").report
        hints = [d["help"] for d in report["diagnostics"] if d["code"] == "wrong-derivative"]
        assert ["%check cut --plot" in h for h in hints] == [True] * (name == "cut")
    notebook.good("%check cut --plot")
    assert min(plt.gcf().axes[0].lines[0].get_data()[1]) > 0.1
    plt.close("all")
    assert "no check to draw" in notebook.run("%check nothing --plot").stderr
    assert "%check takes a kernel and --plot, not --plt" in notebook.run("%check energy --plt").stderr
    notebook.good(GRAVITY)
    assert nothing in notebook.run("%check energy --plot").stderr


@pytest.mark.parametrize("name", ["adjoint", "ir", "python", "llvm", "ptx"])
def test_a_listing_can_be_opened(notebook, name):
    ran = notebook.good(GRAVITY.replace("--wrt x", f"--show {name}"))
    assert ran.report["open"] == name
    listing = next(entry for entry in ran.report["listings"] if entry["name"] == name)
    lines = listing["text"].split("\n")
    assert len(lines) == len(listing["lines"])
    assert lines[-1] in ran.form("plain")
    assert name in ("llvm", "ptx") or {2, 3, 4} <= set(listing["lines"])


USAGE = {
    "--loss": "--loss needs a value: --loss FIELD",
    "--loss W": "--loss W: there is no W in this notebook",
    "--loss x": "--loss takes a field of a single number, and x has shape (8, 2)",
    "--loss N": "--loss takes a field, and N is of type int",
    "--loss U --wrt v": "--wrt v: v has no gradient, declare it with needs_grad=True",
    "--loss U --wrt n": "--wrt n: n holds i32, and integers have no gradient",
    "--loss U --wrt x,": "--wrt takes fields separated by commas: --wrt x,v",
    "--wrt x": "--wrt needs a loss: add `--loss U`, with a field of shape () that it writes",
    "--check": "--check needs a loss: add `--loss U`, with a field of shape () that it writes",
    "--loss U --probe 1,1,1,1,1,1,1,1,1": (
        "--probe takes at most 8 numbers, one for each index of the outermost loop"
    ),
    "--loss U --probe a": "--probe takes numbers separated by commas, not 'a': --probe 3,5",
    "--loss U --probe 1": "--probe 1: the outermost loop has the indices i from 0 to 7, j from 0 to 7",
    "--loss U --probe 1,8": "--probe 1,8 is outside the loop, which runs over i from 0 to 7, j from 0 to 7",
    "--nix": "there is no option --nix, did you mean --run?",
    "--los U": "there is no option --los, did you mean --loss?",
    "--loss U --wrt x v": "`v` belongs to no option: separate lists by commas, as in --wrt x,v",
    "--loss U --wrt sumx": "--wrt sumx: there is no sumx in this notebook",
    "--loss U --wrt yy": "--wrt yy: there is no yy in this notebook, did you mean y?",
    "(t: ds.i32": "the parenthesis behind `energy` is not closed: %%kernel energy(t: ds.i32)",
}


@pytest.mark.parametrize("options", USAGE)
def test_a_mistake_in_the_options_is_told_in_one_line(notebook, options):
    notebook.good("n = ds.field(ds.i32, shape=N)")
    ran = notebook.run(GRAVITY.replace(" --loss U --wrt x", options if options[0] == "(" else f" {options}"))
    assert ran.stderr == f"UsageError: {USAGE[options]}\n"
    assert ran.bundles == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--loss U up", "the name of the kernel comes first: %%kernel up --loss …"),
        ("1up --loss U", "`1up` cannot be the name of a kernel"),
        ("class --loss U", "`class` is a Python keyword, and cannot be the name of a kernel"),
    ],
)
def test_a_mistake_in_the_name_is_told_in_one_line(notebook, line, said):
    ran = notebook.run(f"%%kernel {line}\nfor i in y:\n    U[None] += y[i]")
    assert ran.stderr == f"UsageError: {said}\n"


@pytest.mark.parametrize(
    "options", ["--wrt x, y --probe 3", "--wrt x,y --probe (3)", "--wrt=x,y --probe 3  # both of them"]
)
def test_options_may_have_spaces_in_lists_and_a_comment_behind(notebook, options):
    report = notebook.good(
        f"%%kernel up --loss U {options}\nfor i in y:\n    U[None] += y[i] * x[i].x"
    ).report
    assert report["summary"]["text"].count("∂U/∂") == 2
    assert report["probe"]["indices"][0]["value"] == 3


def test_a_field_of_structs_stands_for_its_members_of_floats(notebook):
    members = "'at': ds.math.vec2, 'mass': ds.f64, 'kind': ds.i32"
    notebook.good(f"s = ds.Struct.field({{{members}}}, shape=N)")
    notebook.good("b = ds.Struct.field({'at': ds.math.vec2, 'mass': ds.f64}, shape=N, needs_grad=True)")
    cell = "%%kernel up{}\nfor i in b:\n    U[None] += b[i].at.x * 2 + b[i].mass"
    report = notebook.good(cell.format(" --loss U --wrt b")).report
    assert "‖∂U/∂b.at‖ = 5.66, ‖∂U/∂b.mass‖ = 2.83" in report["summary"]["text"]
    ran = notebook.run(cell.format(" --loss U --wrt s"))
    assert ran.stderr == "UsageError: --wrt s.at: s.at has no gradient, declare it with needs_grad=True\n"
    report = notebook.good(cell.format(" --forward b")).report
    assert ["up", "tangent along b.at, b.mass", "U.dual = 24"] in [
        list(r.values()) for r in report["summary"]["rows"]
    ]


def test_a_dropped_field_is_told_as_one(notebook):
    notebook.good("ds.reset()")
    assert notebook.run(GRAVITY).stderr == (
        "UsageError: --loss U: this field was dropped by `reset()`, create it again\n"
    )


def test_a_magic_that_is_not_the_first_line(notebook):
    ran = notebook.run("# total energy\n" + GRAVITY)
    told = "%%kernel must be the first line of its cell; only empty lines and cell magics may precede it"
    assert ran.stderr == f"UsageError: {told}\n"
    with provisionalcompleter():
        found = list(notebook.shell.Completer.completions("%%ker", 5))
    assert [c.text for c in found] == ["%%kernel"]


def test_unloading_takes_all_magics_away(notebook):
    notebook.good("%unload_ext dsim")
    magics = notebook.shell.magics_manager.magics
    assert not {"kernel", "tape", "adjoint", "check", "%kernel"} & {*magics["line"], *magics["cell"]}


def test_help_has_every_option_and_examples(notebook):
    shown = notebook.good("%%kernel?").stdout
    for option in (
        "--loss FIELD",
        "--wrt FIELDS",
        "--forward FIELDS",
        "--run",
        "--probe I,J",
        "--check",
        "--show WHICH",
    ):
        assert option in shown
    assert "%%kernel energy --loss U --wrt x" in shown
    assert "%adjoint NAME" in notebook.good("%adjoint?").stdout


def test_adjoint_and_check_look_at_a_kernel_that_is_there(notebook):
    notebook.good("%%kernel bend\nfor i in y:\n    a = y[i]\n    y[i] = a * a")
    report = notebook.good("%adjoint bend").report
    assert (report["kind"], report["source"], report["open"]) == ("check", None, "adjoint")
    assert "backward of line 4" in report["listings"][0]["text"]
    report = notebook.good("%check bend").report
    assert [(d["level"], d["code"], d["line"]) for d in report["diagnostics"]] == [("note", "overwritten", 4)]
    assert "%check takes a kernel, and x is of type " in notebook.run("%check x").stderr
    assert "name a kernel" in notebook.run("%adjoint").stderr


def test_a_tape_shows_itself(notebook):
    assert "there is no tape yet" in notebook.run("%tape").stderr
    notebook.good(GRAVITY)
    last = notebook.good("%tape").report
    assert (last["kind"], last["source"], last["tape"]["calls"]) == ("tape", None, 1)
    notebook.good("with ds.Tape(U) as named:\n    for _ in range(5):\n        energy()")
    ran = notebook.good("%tape named")
    assert ran.report["tape"]["calls"] == 5
    assert ran.report["tape"]["groups"][0]["count"] == 5
    assert "energy" in ran.form("plain")
    assert "<svg" in ran.form("html")
    assert "%tape takes a tape, and N is of type int" in notebook.run("%tape N").stderr
    assert "named" in completed(notebook, "%tape ")


def test_the_source_of_a_kernel_can_be_looked_at(notebook):
    notebook.good(GRAVITY)
    notebook.good("%%kernel up(a: ds.f64 = 2.0) -> ds.f64  # twice\nb = a\n\nreturn b * 2")
    notebook.good("%%kernel\ndef down():\n    U[None] = 1\ndef aside():\n    U[None] = 2")
    source = inspect.getsource(notebook.names["energy"])
    head, *body = GRAVITY.split("\n")
    assert source.split("\n") == [f"def energy():  # {head}", *(f"    {line}" for line in body), ""]
    shown = notebook.good("up??").stdout
    assert "def up(a: ds.f64 = 2.0) -> ds.f64:  #" in shown
    assert "    b = a\n\n    return b * 2" in shown
    assert inspect.getsource(notebook.names["down"]) == "def down():\n    U[None] = 1\n"


def test_a_result_needs_no_parentheses(notebook):
    notebook.good("%%kernel first -> ds.f64\nreturn y[0]")
    assert notebook.names["first"]() == 0.5


def test_numpy_arrays_are_put_back_too(notebook):
    notebook.good("a = np.arange(5.0)")
    body = "for i in range(5):\n    a[i] += 1.0\n    U[None] += a[i] * y[i]"
    notebook.good(f"%%kernel more(a: ds.types.ndarray()) --loss U\n{body}")
    assert notebook.names["a"].tolist() == [0, 1, 2, 3, 4]
    assert notebook.names["y"].grad.to_numpy().tolist() == [1, 2, 3, 4, 5, 0, 0, 0]


def test_a_kernel_for_some_arguments_has_to_be_chosen(notebook):
    notebook.good("%%kernel total(f: ds.template())\nfor i in f:\n    U[None] += f[i] ** 2")
    for magic in ("%adjoint", "%check"):
        told = notebook.run(f"{magic} total").stderr
        assert told.startswith(f"UsageError: {magic} total: total ")
        assert told.endswith("name one, as in `k = kernel.of(…)`\n")
    notebook.good("chosen = total.of(y)")
    assert "f_bar" in notebook.good("%adjoint chosen").form("plain")
    assert "no access rule is broken" in notebook.good("%check chosen").form("plain")
