"""Reports with `--live`: they follow numbers that cells, widgets and explorers change elsewhere."""

import asyncio
import contextvars
import copy
import threading

import numpy as np
import pytest
from IPython.utils.capture import capture_output

from dsim.live.followers import FOLLOWERS
from dsim.notebook.forms.shown import Shown
from dsim.notebook.report.report import MIME
from dsim.runtime.kernels.watching import Watching
from dsim.runtime.state import randomness
from dsim.runtime.state.evaluations import EVALUATING
from tests.notebook.forms.living import reports
from tests.notebook.forms.test_scrubber import VIEW, live, moved, sliders, texts  # noqa: F401
from tests.notebook.report.test_reports import validated
from tests.notebook.running.test_interrupts import interrupting

SPRINGS = """\
k = ds.field(ds.f64, shape=(), needs_grad=True, name="k")
k[None] = 2.0"""
CELL = """\
%%kernel energy --loss U --wrt y,k --live
for i in y:
    a = k[None] * y[i]
    U[None] += a * a"""


@pytest.fixture
def springs(live):  # noqa: F811
    """A notebook with the stiffness `k`, and a live report whose loss is k² Σ y²."""
    live.good(SPRINGS, "fields")
    live.good(CELL, "energy")
    return live


def followed(page, cell, id="elsewhere"):
    """The one report that comes with a cell elsewhere."""
    (report,) = reports(page.good(cell, id))
    validated(report)
    return copy.deepcopy(report)  # it may be marked as out of date later


def expected(k, y, i=0):
    """The loss, the value and the gradient of `a` at iteration `i`, and the heat of its line."""
    a = k * y
    return float((a * a).sum()), a[i], 2 * a[i], float(np.sqrt(((2 * a) ** 2).mean()))


def shown(report, i=0):
    """The same as a report shows it."""
    (loss,) = (row["value"] for row in report["summary"]["rows"] if row["label"] == "loss")
    (a,) = (v for v in report["probe"]["values"] if v["name"] == "a")
    assert [each["value"] for each in report["probe"]["indices"]] == [i]
    heat = {h["line"]: h["adjoint"] for h in report["heat"]["lines"]}
    return float(loss.removeprefix("U = ")), a["value"], a["gradient"], heat[a["line"]]


def agrees(report, k, y, i=0):
    assert not {"stale", "retried"}.intersection(report)
    assert shown(report, i) == pytest.approx(expected(k, y, i), rel=1e-5)


# ------------------------------------------------------------------ where numbers change


def test_a_field_that_a_cell_writes(springs):
    y = springs.names["y"].to_numpy()
    agrees(followed(springs, "k[None] = 3.0"), 3.0, y)
    agrees(followed(springs, "y.fill(0.5)"), 3.0, np.full(8, 0.5))
    agrees(followed(springs, "@ds.kernel\ndef grow():\n    k[None] += 1.0\ngrow()"), 4.0, np.full(8, 0.5))


def test_nothing_is_shown_again_when_nothing_that_it_reads_has_changed(springs):
    for cell in ("1 + 1", "v.fill(1.0)", "U[None] = 3.0", "y.to_numpy().sum()", "energy.check()"):
        assert reports(springs.good(cell, "elsewhere")) == []


def test_without_the_option_a_report_is_about_the_run_that_it_saw(springs):
    springs.good(CELL.replace(" --live", ""), "energy")
    assert reports(springs.good("k[None] = 3.0", "elsewhere")) == []


@pytest.mark.slow
def test_a_number_that_is_compiled_in(springs):
    springs.good("scale = 2.0", "scale")
    springs.good(CELL.replace("k[None]", "scale"), "energy")
    y = springs.names["y"].to_numpy()
    agrees(followed(springs, "scale = 3.0"), 3.0, y)
    assert "stale" not in followed(springs, "scale = 5")
    assert reports(springs.good("scale = 5", "elsewhere")) == []


def test_arguments_from_the_notebook(springs):
    springs.good("c = 2.0\nw = y.to_numpy()", "c")
    cell = (
        "%%kernel energy(c: ds.f64, w: ds.types.ndarray()) --loss U --live\nfor i in w:\n    a = c * w[i]\n"
    )
    springs.good(f"{cell}    U[None] += a * a", "energy")
    y = springs.names["y"].to_numpy()
    agrees(followed(springs, "c = 3.0"), 3.0, y)
    agrees(followed(springs, "w *= 2"), 3.0, 2 * y)
    assert reports(springs.good("w *= 1", "elsewhere")) == []


def test_an_explorer_in_another_cell(springs):
    """Its sliders write a field, its points are dragged; its gradients stay as they are."""
    names, y = springs.names, springs.names["y"].to_numpy()
    explorer = (
        "@ds.kernel\ndef squares():\n    for i in x:\n        U[None] += k[None] * x[i].norm_sqr() * y[0]\n"
        "seen = ds.explore(squares, wrt=x, loss=U, controls={k: (0, 10)})"
    )
    springs.good(explorer, "explorer")
    with capture_output() as caught:
        names["seen"].set(k=4.0)
    report = caught.outputs[-1].data[MIME]
    agrees(report, 4.0, y)
    assert names["seen"].found.loss == pytest.approx(4.0 * (names["x"].to_numpy() ** 2).sum() * y[0])
    np.testing.assert_allclose(names["x"].grad.to_numpy(), 8.0 * y[0] * names["x"].to_numpy())
    springs.good(
        "%%kernel size --loss U --live\nfor i in x:\n    a = x[i][0]\n    U[None] += a * a", "energy"
    )
    drag = {"type": "drag", "layer": 0, "index": 0, "position": [3.0, 0.0], "phase": "move"}
    with capture_output() as caught:
        names["seen"].view._heard(drag)
    agrees(caught.outputs[-1].data[MIME], 1.0, names["x"].to_numpy()[:, 0])
    assert names["x"].to_numpy()[0, 0] == 3.0
    assert names["x"].grad.to_numpy()[0] == pytest.approx([24.0 * y[0], 0.0])


def test_a_parameter_of_an_explorer_is_the_argument_of_that_name(springs):
    y = springs.names["y"].to_numpy()
    cell = CELL.replace("energy", "energy(c: ds.f64 = 2.0)").replace("--wrt y,k ", "").replace("k[None]", "c")
    springs.good(cell, "energy")
    springs.good("def run(c=2.5, other=1.0):\n    energy(c)\nseen = ds.explore(run, loss=U)", "explorer")
    with capture_output() as caught:
        springs.names["seen"].set(c=3.0)
    report = caught.outputs[-1].data[MIME]
    agrees(report, 3.0, y)
    assert {"kernel": "energy", "label": "arguments", "value": "c = 3, set by an explorer"} in report[
        "summary"
    ]["rows"]
    agrees(springs.good(cell, "energy").report, 2.0, y)  # what the cell says, when it runs again


def test_a_slider_whose_callback_writes_a_field(springs):
    """IPython tells when a callback has ended; the callback itself calls nothing."""
    y = springs.names["y"].to_numpy()
    springs.good(
        "import ipywidgets\nslider = ipywidgets.FloatSlider(min=0, max=10)\n"
        "def write(change):\n    k[None] = change['new']\nslider.observe(write, 'value')",
        "slider",
    )
    slider = springs.names["slider"]
    data = {"method": "update", "state": {"value": 6.0}, "buffer_paths": []}
    with capture_output() as caught:
        slider.comm.handle_msg({"content": {"data": data}, "buffers": []})
    (output,) = caught.outputs
    agrees(output.data[MIME], 6.0, y)


def test_a_view_that_is_updated_between_cells(springs):
    y = springs.names["y"].to_numpy()
    springs.good("picture = ds.view(x)", "view")
    with capture_output() as caught:
        springs.names["k"][None] = 5.0  # by a task or a thread
        springs.names["picture"].update()
    (output,) = caught.outputs
    agrees(output.data[MIME], 5.0, y)


# ------------------------------------------------------------------ what it leaves alone


def test_following_leaves_no_trace(springs):
    names = springs.names
    springs.good("with ds.Tape(U) as tape:\n    energy()\nloss = U[None]", "tape")

    def state():
        fields = [names[n] for n in ("y", "U")] + [names[n].grad for n in ("y", "k", "U")]
        return [f.to_numpy().tobytes() for f in fields], randomness.place()

    before = state()
    agrees(followed(springs, "k[None] = 2.5"), 2.5, names["y"].to_numpy())
    assert state() == before
    assert names["k"][None] == 2.5
    assert names["U"][None] == names["loss"]


def test_following_leaves_the_gradients_of_other_tasks(springs):
    """A loop of events follows in a context that is not the one of cells."""
    springs.good("with ds.Tape(U) as tape:\n    energy()", "tape")
    before = [springs.names[n].grad.to_numpy().tobytes() for n in "yk"]
    springs.names["k"][None] = 3.0
    with capture_output() as caught:
        contextvars.Context().run(springs.shell.events.trigger, "post_execute")
    (output,) = caught.outputs
    agrees(output.data[MIME], 3.0, springs.names["y"].to_numpy())
    assert [springs.names[n].grad.to_numpy().tobytes() for n in "yk"] == before


def test_what_kernels_print_is_not_printed_again(springs):
    springs.good(CELL.replace("    a =", "    print(i)\n    a ="), "energy")
    ran = springs.good("k[None] = 3.0", "elsewhere")
    assert len(reports(ran)) == 1
    assert (ran.stdout, ran.stderr) == ("", "")


def test_tools_that_do_not_name_cells_keep_the_report_of_the_run(live):  # noqa: F811
    live.good(SPRINGS)
    assert len(reports(live.good(CELL))) == 1
    assert reports(live.good("k[None] = 3.0")) == []


def test_a_kernel_that_is_replaced_is_followed_no_more(springs):
    second = reports(springs.good(CELL.replace("a * a", "2 * a"), "second"))
    assert [r.get("stale") for r in second] == [None, "`energy` was redefined"]
    (report,) = reports(springs.good("k[None] = 3.0", "elsewhere"))
    assert report["source"] == CELL.replace("a * a", "2 * a")


def test_a_session_without_the_extension_has_no_follower(springs):
    assert len(list(FOLLOWERS)) == 1
    springs.good("%unload_ext dsim", "unload")
    assert list(FOLLOWERS) == []
    assert reports(springs.good("k[None] = 3.0", "elsewhere")) == []


# ------------------------------------------------------------------ sliders of the report itself


def test_the_iteration_that_a_person_chose_stays(springs):
    y = springs.names["y"].to_numpy()
    found = sliders(springs.good(CELL, "energy"))
    (report,) = moved(found["i"], 5)
    agrees(report, 2.0, y, i=5)
    agrees(followed(springs, "k[None] = 3.0"), 3.0, y, i=5)
    (report,) = moved(found["i"], 6)  # of the new run
    agrees(report, 3.0, y, i=6)


@pytest.mark.slow
def test_loops_whose_ends_are_numbers_of_a_field(springs):
    cell = CELL.replace("for i in y:", "for i in range(n[None]):")
    springs.good("n = ds.field(ds.i32, shape=())\nn[None] = 8", "n")
    found = sliders(springs.good(cell, "energy"))
    moved(found["i"], 6)
    y = springs.names["y"].to_numpy()
    report = reports(springs.good("n[None] = 3", "elsewhere"))[-1]
    assert (found["i"].max, found["i"].value) == (2, 2)
    agrees(report, 2.0, y[:3], i=2)
    agrees(followed(springs, "n[None] = 8"), 2.0, y, i=2)
    assert found["i"].max == 7


# ------------------------------------------------------------------ when it fails


FAILS = CELL.replace("    a =", "    assert k[None] < 4.0\n    a =")


def test_an_error_is_told_and_the_old_marks_are_out_of_date(springs):
    y = springs.names["y"].to_numpy()
    found = sliders(springs.good(FAILS, "energy"))
    before = followed(springs, "k[None] = 3.0")
    report = followed(springs, "k[None] = 5.0")
    assert report["stale"] == "with the present numbers, the run fails: an assertion failed"
    assert report["retried"]
    (told,) = report["diagnostics"]
    assert (told["level"], told["line"], told["text"]) == ("error", 3, "    assert k[None] < 4.0")
    assert (report["heat"], report["probe"]) == (before["heat"], before["probe"])
    assert found["i"].disabled
    assert reports(springs.good("1 + 1", "elsewhere")) == []  # it is not tried again
    report = followed(springs, "k[None] = 2.0")
    assert report["diagnostics"] == []
    agrees(report, 2.0, y)
    assert not found["i"].disabled


def test_what_an_error_says_is_text(springs, monkeypatch):
    def fails(shown):
        raise ValueError("\x1b[31m<img src=x>")

    monkeypatch.setattr(Shown, "_computed", fails)
    ran = springs.good("k[None] = 3.0", "elsewhere")
    (report,) = reports(ran)
    assert report["stale"] == "with the present numbers, the run fails: ValueError: \ufffd[31m<img src=x>"
    assert report["diagnostics"] == []
    assert "&lt;img src=x&gt;" in ran.form("html")
    assert "<img src=x>" not in ran.form("html")


def test_a_number_that_the_kernel_refuses(springs):
    springs.good("c = 2.0", "c")
    springs.good(CELL.replace("energy", "energy(c: ds.f64)").replace("k[None]", "c"), "energy")
    report = followed(springs, "c = 'two'")
    assert report["stale"].startswith("with the present numbers, the run fails: ")
    assert reports(springs.good("1 + 1", "elsewhere")) == []
    assert "stale" not in followed(springs, "c = 2.5")
    assert followed(springs, "del c")["stale"].endswith("define c in the notebook")


def test_what_only_running_the_cell_renews_is_out_of_date(springs):
    y = springs.names["y"].to_numpy()
    springs.good("@ds.func\ndef square(a):\n    return a * a\nc = 2.0", "funcs")
    cell = CELL.replace("a * a", "square(a)").replace("energy", "energy(c: ds.f64 = c)")
    springs.good(cell, "energy")
    func = "@ds.func\ndef square(a):\n    return {}"
    report = followed(springs, func.format("a"))
    assert (report["stale"], "retried" in report) == ("`square` was redefined", False)
    assert reports(springs.good("k[None] = 3.0", "elsewhere")) == []  # it stays so
    agrees(followed(springs, func.format("a * a")), 3.0, y)
    assert followed(springs, "c = 3.0")["stale"] == "`c` is 3.0, and was 2.0"


# ------------------------------------------------------------------ moves in quick succession


def following(springs, writes, then=0.3):
    """What comes when `k` is written again and again in a loop of events; a callback ends after each."""

    async def person():
        with capture_output() as caught:
            for value in writes:
                springs.names["k"][None] = value
                contextvars.Context().run(springs.shell.events.trigger, "post_execute")
            assert caught.outputs == []
            await asyncio.sleep(then)
        return [copy.deepcopy(o.data[MIME]) for o in caught.outputs]

    return asyncio.run(person())


def test_the_newest_wins_and_nothing_queues_up(springs):
    (report,) = following(springs, [3.0, 4.0, 5.0, 6.0])
    agrees(report, 6.0, springs.names["y"].to_numpy())


def test_a_report_waits_for_an_evaluation_of_an_optimisation(springs):
    begun, go_on = threading.Event(), threading.Event()

    def evaluation():
        with EVALUATING:
            begun.set()
            go_on.wait()

    thread = threading.Thread(target=evaluation)
    thread.start()
    begun.wait()

    async def person():
        with capture_output() as caught:
            springs.names["k"][None] = 3.0
            springs.shell.events.trigger("post_execute")
            await asyncio.sleep(0.2)
            assert caught.outputs == []
            go_on.set()
            thread.join()
            await asyncio.sleep(0.2)
        return caught.outputs

    (output,) = asyncio.run(person())
    agrees(output.data[MIME], 3.0, springs.names["y"].to_numpy())


def test_the_parameters_that_an_optimisation_leaves(springs):
    """It runs in a thread of its own. The loss is k² Σ y², and least at the lower bound."""
    cell = "found = ds.optimize(energy, wrt=k, loss=U, bounds=(1.5, 3.0), background=True)"

    async def person():
        with capture_output() as caught:
            springs.good(cell, "optimise")
            springs.names["found"].wait()
            await asyncio.sleep(0.2)
            assert springs.names["k"][None] == 1.5
        return [o.data[MIME] for o in caught.outputs if MIME in o.data]

    agrees(asyncio.run(person())[-1], 1.5, springs.names["y"].to_numpy())


def test_an_interrupt_ends_the_report_and_not_the_loop_of_events(springs, monkeypatch):
    calls = interrupting(monkeypatch, Watching, "__call__", 1)
    (report,) = following(springs, [3.0])
    assert calls == ["__call__"]
    assert report["stale"] == "with the present numbers, the run was stopped"
    assert springs.names["k"][None] == 3.0
    (report,) = following(springs, [4.0])
    agrees(report, 4.0, springs.names["y"].to_numpy())


def test_there_is_no_report_to_follow_without_a_run(live):  # noqa: F811
    ran = live.run("%%kernel fill --live\nfor i in y:\n    y[i] = 1.0", "fill")
    assert "--live needs a run to follow" in ran.stderr + ran.stdout + str(ran.error)
    assert VIEW not in (ran.bundles[-1] if ran.bundles else {})
