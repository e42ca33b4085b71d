"""The content of a kernel's report, and that a report has no side effects."""

import json
import os
import subprocess
import sys
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from dsim.notebook.report.report import MIME
from dsim.runtime.kernels.watching import Watching
from dsim.runtime.launching.forms import Form
from dsim.runtime.tapes.tape import Tape
from tests.notebook.cells import BODIES, GRAVITY, closed_form

SCHEMA = json.loads(files("dsim.notebook").joinpath("report.schema.json").read_text("utf-8"))

STEP = """%%kernel step(k: ds.f64 = 0.1) --loss U --probe 3
for i in x:
    p = x[i]
    q = 0.0
    for _ in range(10):
        p -= k * p
        q += p.dot(p)
    if i == 3:
        U[None] += q
    v[i] = p"""

CELLS = {
    "gravity": GRAVITY,
    "step": STEP,
    "forward": "%%kernel double --forward y\nfor i in y:\n    v[i][0] = y[i] ** 2",
    "plain": "%%kernel fill\nfor i in y:\n    y[i] = 1.0",
    "functions": "%%kernel --loss U --show llvm\n@ds.func\ndef f(a):\n    return a * a\ndef g():\n"
    "    for i in y:\n        U[None] += f(y[i])",
    "overwrite": "%%kernel bend --loss U\nfor i in y:\n    y[i] = y[i] * y[i]\nfor i in y:\n"
    "    U[None] += y[i]",
    "not finite": "%%kernel bad --loss U\nfor i in y:\n    d = ds.sqrt(y[i] - 2)\n"
    "    U[None] += d * 1e300 * 1e300",
    "failed": "%%kernel wrong\nfor i in y:\n    y[i] = nix",
    "failed run": "%%kernel wrong --loss U\nfor i in y:\n    U[None] += y[i + 9]",
    "no loop": "%%kernel one --loss U\nU[None] = y[3] ** 2",
    "matrix": "%%kernel m --loss U\nfor i in y:\n"
    "    a = ds.Matrix([[y[i], 1.0], [0.0, y[i]]])\n    n = 3\n    b = n > 2\n"
    "    U[None] += a.determinant()",
}


def validated(report):
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    json.dumps(report, allow_nan=False)
    return report


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_refuses_what_is_not_a_report(notebook):
    report = notebook.good(GRAVITY).report
    for key, value in (("version", 1), ("status", "fine"), ("heat", {}), ("more", 1)):
        with pytest.raises(jsonschema.ValidationError):
            validated({**report, key: value})


@pytest.mark.parametrize("name", CELLS)
def test_every_report_fits_the_schema_and_has_three_forms(notebook, name):
    ran = notebook.run(CELLS[name])
    report = validated(ran.report)
    assert report["source"] == CELLS[name]
    (bundle,) = [b for b in ran.bundles if MIME in b]
    assert set(bundle) == {MIME, "text/html", "text/plain"}
    assert (report["status"] == "failed") == (ran.error is not None)


def test_tapes_fit_the_schema(notebook):
    notebook.good(CELLS["overwrite"])
    notebook.good("with ds.Tape(U) as two:\n    for _ in range(4):\n        bend()\n        bend()")
    report = validated(notebook.good("%tape two").report)
    assert report["kind"] == "tape"
    ran = notebook.good("from IPython.display import display\ndisplay(two)")
    assert {**ran.report, "timings": {}} == {**report, "timings": {}}
    assert ran.form("plain").startswith("tape of `U`: 8 calls")
    assert len(report["timings"]["backward_s"]) == sum(len(g["calls"]) for g in report["tape"]["groups"])


def test_gravity(notebook):
    report = notebook.good(GRAVITY).report
    x = notebook.names["x"].to_numpy()
    r = x[:, None] - x[None]
    norm = np.sqrt((r**2).sum(-1) + 1e-3)
    slope = r / norm[..., None] ** 3
    adjoint = np.sqrt((slope**2).sum(-1).mean())
    assert report["kernel"] == "energy"
    heat = report["heat"]
    assert heat["loss"] == "U"
    assert [(h["line"], h["level"]) for h in heat["lines"]] == [(3, 1.0), (4, 0.0)]
    assert heat["lines"][0]["adjoint"] == pytest.approx(adjoint, rel=1e-5)
    assert heat["high"] == heat["lines"][0]["adjoint"]
    assert heat["low"] == heat["lines"][1]["adjoint"] == 1.0
    probe = report["probe"]
    assert probe["indices"] == [
        {"name": "i", "value": 0, "low": 0, "high": 8},
        {"name": "j", "value": 1, "low": 0, "high": 8},
    ]
    assert probe["trip"] is None
    first = probe["values"][0]
    assert (first["line"], first["name"]) == (3, "r")
    assert first["value"] == pytest.approx(r[0, 1], rel=1e-5)
    assert first["gradient"] == pytest.approx(slope[0, 1], rel=1e-5)
    a, b = r[0, 1]
    c, d = slope[0, 1]
    assert first["text"] == f"r = ({a:.3g}, {b:.3g})   ∂U/∂r = ({c:.3g}, {d:.3g})"
    rows = {row["label"]: row["value"] for row in report["summary"]["rows"]}
    assert rows == {
        "reads": "x",
        "accumulates": "U",
        "loops": "line 2: parallel",
        "loss": f"U = {-(1 / norm).sum():.7g}",
        "gradient": f"‖∂U/∂x‖ = {np.linalg.norm(closed_form(x)):.3g}",
        "saved": "nothing: no value that the gradient needs is overwritten",
    }
    timings = report["timings"]
    assert timings["compile_s"] > 0
    assert timings["launch_s"] >= timings["calls_s"][0] > 0
    assert timings["gradient_s"] == timings["backward_s"][0] > 0
    parts = [timings[f"{part}_s"] for part in ("compile", "launch", "gradient", "lines")]
    assert min(parts) > 0
    assert timings["total_s"] > sum(parts)
    assert [len(timings[f"series{way}_s"]) for way in ("", "_backward")] == [1, 1]


def test_the_tape_of_a_report_shows_the_norms_of_gradients_and_its_texts_no_times(notebook):
    ran = notebook.good(CELLS["overwrite"])
    y = np.linspace(0.5, 1.5, 8)
    (group,) = ran.report["tape"]["groups"]
    (call,) = group["calls"]
    before = np.linalg.norm([*(2 * y), 1.0])  # by y and U, which the kernel adds to
    assert call["gradient_norm_before"] == pytest.approx([before, before], rel=1e-5)
    assert call["gradient_norm"] == [1.0, 1.0]  # after it only U leads to the loss
    assert ran.report["tape"]["series"]["gradient_norm"] == [1.0]
    assert f"<td>{before:.3g}</td><td>1</td>" in ran.form("html")
    shown = notebook.good("%tape")
    assert {**shown.report["tape"], "groups": []} == {**ran.report["tape"], "groups": []}
    assert shown.report["timings"].items() <= ran.report["timings"].items()
    assert ">backward<" not in ran.form("html") + shown.form("html")
    assert shown.form("plain").split("\n")[1].split()[-4:] == ["gradient", "before", "gradient", "after"]


def test_the_last_trip_of_an_inner_loop_at_the_iteration_that_was_asked_for(notebook):
    report = notebook.good(STEP).report
    x = notebook.names["x"].to_numpy()[3]
    p = x * 0.9 ** np.arange(1, 11)[:, None]
    q = (p**2).sum(1).cumsum()
    assert report["probe"]["indices"] == [{"name": "i", "value": 3, "low": 0, "high": 8}]
    assert report["probe"]["trip"] == {"value": 9, "count": 10}
    values = {(v["line"], v["name"]): v for v in report["probe"]["values"]}
    assert values[6, "p"]["value"] == pytest.approx(p[-1], rel=1e-5)
    assert values[6, "p"]["gradient"] == pytest.approx(2 * p[-1], rel=1e-5)
    assert values[7, "q"]["value"] == pytest.approx(q[-1], rel=1e-5)
    assert values[3, "p"]["gradient"] == pytest.approx(2 * x * (0.81 ** np.arange(1, 11)).sum(), rel=1e-5)
    assert values[10, "v[i]"]["gradient"] is None or values[10, "v[i]"]["gradient"] == [0.0, 0.0]


def test_without_a_probe_an_iteration_that_reaches_all_lines(notebook):
    report = notebook.good(STEP.replace(" --probe 3", "")).report
    assert report["probe"]["indices"][0]["value"] == 3
    assert 9 in [v["line"] for v in report["probe"]["values"]]


BODIES_OF_LOOPS = {  # what runs, which iteration is looked into, and how often the watched kernel runs
    "all lines": ("for i, j in ds.ndrange(N, N):\n    U[None] += y[i] * y[j]", (0, 1), 1),
    "a half": ("for i, j in ds.ndrange(N, N):\n    if i < j:\n        U[None] += y[i] * y[j]", (0, 1), 1),
    "another half": (
        "for i, j in ds.ndrange(N, N):\n    if i > j:\n        U[None] += y[i] * y[j]",
        (7, 6),
        3,
    ),
    "one": ("for i in y:\n    a = y[i]\n    if i == 3:\n        a = 2.0\n    U[None] += a", (3,), 3),
    "from 2": ("for i in range(2, 7):\n    U[None] += y[i]", (2,), 1),
    "from a number in a field": ("for i in range(low, 7):\n    U[None] += y[i]", (2,), 2),
    "one iteration": ("for i, j in ds.ndrange(N, 1):\n    U[None] += y[i + j]", (0, 0), 2),
    "backwards": ("for i in range(7, 3, -1):\n    U[None] += y[i]", (4,), 1),
    "none": ("a = y[1]\nU[None] = a", (), 1),
    "never": ("for i in y:\n    if y[i] > 100:\n        U[None] += 1.0\n    U[None] += y[i]", (0,), 1),
    "loops": ("for i in y:\n    U[None] += y[i]\nfor k in range(5, 8):\n    U[None] += y[k]", (7,), 3),
}


@pytest.mark.parametrize("name", BODIES_OF_LOOPS)
def test_the_watched_kernel_runs_once_where_its_first_iteration_reaches_all_lines(
    notebook, monkeypatch, name
):
    body, at, runs = BODIES_OF_LOOPS[name]
    launches, launch = [], Watching.__call__
    monkeypatch.setattr(Watching, "__call__", lambda w, *args: launches.append(w.probe) or launch(w, *args))
    notebook.good("low = ds.field(int, shape=())\nlow[None] = 2")
    body = body.replace("low", "low[None]")
    report = notebook.good(f"%%kernel k --loss U\n{body}").report
    assert tuple(i["value"] for i in report["probe"]["indices"]) == at
    shown = {v["line"] for v in report["probe"]["values"]}
    lines = body.split("\n")
    expected = {n for n, line in enumerate(lines, 2) if "=" in line and "==" not in line}
    assert shown == expected - ({4} if name == "never" else set())
    assert len(launches) == runs


@pytest.mark.parametrize(("dtype", "launches"), [("f64", 32), ("f32", 14)])
def test_what_a_report_costs(notebook, monkeypatch, dtype, launches):
    """As docs/notebook.md says."""

    def counted(kind, name):
        method, calls = getattr(kind, name), []
        monkeypatch.setattr(kind, name, lambda self, *args: calls.append(self) or method(self, *args))
        return calls

    tapes, watched = counted(Tape, "_go_back"), counted(Watching, "__call__")
    plain = counted(Form, "run")
    notebook.good(f"z = ds.field(ds.{dtype}, shape=3, needs_grad=True)\nz.fill(0.5)")
    cell = "%%kernel k --loss U --wrt {}\nfor i in z:\n    U[None] += z[i] ** 2 * y[i]"
    notebook.good(cell.format("z"))
    assert (len(tapes), len(watched)) == (2, 1)
    once = len(plain)
    notebook.good(cell.format("z --check"))
    assert (len(tapes), len(watched)) == (2 + 3, 1 + 1)
    kernel = notebook.names["k"].primal
    with_adjoint = 2  # of the tapes; the third is of the watched kernel
    assert sum(f is kernel for f in plain[once:]) == with_adjoint + launches + 1


def test_lines_without_an_adjoint_have_no_heat(notebook):
    report = notebook.good(
        "%%kernel some --loss U\nfor i in y:\n    a = y[i]\n    b = a * 2\n    U[None] += a"
    ).report
    assert [h["line"] for h in report["heat"]["lines"]] == [3, 5]


def test_the_heat_of_lines_is_on_a_log_scale(notebook):
    report = notebook.good(
        "%%kernel three --loss U\nfor i in y:\n    a = y[i] * 1.0\n    b = a * 100.0\n"
        "    U[None] += b * 100.0"
    ).report
    lines = {h["line"]: h for h in report["heat"]["lines"]}
    assert [lines[n]["adjoint"] for n in (3, 4, 5)] == [1e4, 100.0, 1.0]
    assert [lines[n]["level"] for n in (3, 4, 5)] == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("name", ["gravity", "step", "overwrite", "forward", "not finite", "no loop"])
def test_a_report_puts_every_primal_field_back_and_leaves_the_gradients(notebook, name):
    names = notebook.names
    notebook.good(
        "U[None] = 2.5\n"
        "bits = np.frombuffer(np.uint64(0x7FF8000000ABCDEF).tobytes(), float)\n"
        "v.from_numpy(np.full((8, 2), bits[0]))"
    )
    before = {n: names[n].to_numpy().tobytes() for n in ("x", "v", "y", "U")}
    notebook.good(CELLS[name])
    assert {n: names[n].to_numpy().tobytes() for n in before} == before


def test_the_gradients_are_those_of_a_tape(notebook):
    names = notebook.names
    notebook.good(CELLS["overwrite"])
    assert np.allclose(names["y"].grad.to_numpy(), 2 * names["y"].to_numpy())
    notebook.good("y.grad.fill(0)\nwith ds.Tape(U):\n    bend()")
    assert not np.allclose(names["y"].to_numpy(), np.linspace(0.5, 1.5, 8))  # it was not put back by us


def test_what_was_saved_is_told(notebook):
    report = notebook.good(CELLS["overwrite"]).report
    saved = [r["value"] for r in report["summary"]["rows"] if r["label"] == "saved"]
    assert saved == [
        "64 bytes of y, overwritten by line 3: y[i] = y[i] * y[i], read by line 3: y[i] = y[i] * y[i]"
    ]
    assert "64 bytes saved" in report["summary"]["text"]


def test_what_a_kernel_prints_is_printed_once(notebook):
    ran = notebook.good(
        "%%kernel loud --loss U\nfor i in range(2):\n    print('body', i)\n    U[None] += y[i]"
    )
    assert ran.stdout == "body 0\nbody 1\n"


def test_adjoint_lines_lead_to_the_cells_lines(notebook):
    report = notebook.good(CELLS["functions"].replace("llvm", "adjoint")).report
    listing = report["listings"][0]
    assert (listing["name"], listing["language"]) == ("adjoint", "python")
    by_text = dict(zip(listing["text"].split("\n"), listing["lines"], strict=True))
    assert [n for text, n in by_text.items() if "y_bar[i] +=" in text] == [7]
    assert [n for text, n in by_text.items() if text.endswith("# backward of line 4: return a * a")] == [4]


SCRIPT = """
import json, sys
from IPython.utils.capture import capture_output
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
from tests.notebook.cells import BODIES, Notebook
from tests.notebook.report.test_reports import CELLS
config = Config()
config.HistoryManager.enabled = False
notebook = Notebook(InteractiveShell.instance(config=config))
notebook.good("%load_ext dsim")
notebook.good(BODIES)
shown = []
for cell in CELLS.values():
    ran = notebook.run(cell)
    report = ran.report
    report["timings"] = None
    shown.append([report, ran.form("html"), ran.form("plain")])
print(json.dumps(shown))
"""


@pytest.mark.slow
def test_two_processes_with_different_hash_seeds_give_the_same_reports():
    told = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert len(told[0]) > 10_000
    assert told[0] == told[1]
    assert BODIES not in told[0].decode()


def test_all_runs_of_a_report_draw_the_same_random_numbers_and_so_does_the_next_launch(notebook):
    body = "for i in y:\n    r = ds.random(ds.f64)\n    U[None] += r * y[i]"
    ran = notebook.good(f"%%kernel noisy --loss U --probe 3 --check\n{body}")
    drawn = notebook.names["y"].grad.to_numpy()
    assert len(set(drawn)) == 8
    (r, _) = ran.report["probe"]["values"]
    assert r["value"] == pytest.approx(drawn[3], rel=1e-5)
    assert "gradient check agrees" in ran.report["summary"]["text"]
    notebook.good("noisy()")
    assert notebook.names["U"][None] == pytest.approx((drawn * notebook.names["y"].to_numpy()).sum())


@pytest.mark.parametrize("options", ["--loss U --check", "--forward y"])
def test_an_open_tape_sees_nothing_of_a_report(notebook, options):
    notebook.good("%%kernel square\nfor i in y:\n    U[None] += y[i] ** 2")
    notebook.good("tape = ds.Tape(U)\ntape.__enter__()\nsquare()")
    ran = notebook.good(f"%%kernel five {options}\nfor i in y:\n    U[None] += 5 * y[i]")
    assert "5" in ran.form("plain")
    notebook.good("square()\ntape.__exit__(None, None, None)")
    assert len(notebook.names["tape"].calls) == 2
    y = notebook.names["y"]
    np.testing.assert_allclose(y.grad.to_numpy(), 4 * y.to_numpy())


def test_an_open_forward_mode_sees_nothing_of_a_report(notebook):
    notebook.good("%%kernel square\nfor i in y:\n    U[None] += y[i] ** 2")
    notebook.good("mode = ds.ad.FwdMode(U, y, seed=[1.0] * N)\nmode.__enter__()\nsquare()")
    notebook.good("%%kernel five --loss U --check\nfor i in y:\n    U[None] += 5 * y[i]")
    notebook.good("square()\nmode.__exit__(None, None, None)")
    y = notebook.names["y"].to_numpy()
    np.testing.assert_allclose(notebook.names["U"].dual[None], 4 * y.sum())


def test_an_iteration_in_which_nothing_runs_says_so(notebook):
    cell = "%%kernel even --loss U --probe {}\nfor i in range(0, 8, 2):\n    U[None] += y[i]"
    assert "values at i = 4" in notebook.good(cell.format(4)).form("plain")
    ran = notebook.good(cell.format(3))
    assert ran.report["probe"]["values"] == []
    assert "no line runs at i = 3" in ran.form("plain")
    assert "no line runs at i = 3" in ran.form("html")


@pytest.mark.slow
def test_an_atomic_function_shows_what_it_changes(notebook):
    report = notebook.good("%%kernel top --loss U\nfor i in y:\n    ds.atomic_max(U[None], y[i])").report
    (value,) = report["probe"]["values"]
    assert (value["name"], value["text"]) == ("U[None]", "U[None] max= 0.5   ∂U/∂U[None] = 0")
