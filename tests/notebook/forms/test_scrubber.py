"""The sliders below a report, without a browser: they show other iterations, live."""

import asyncio
import contextvars
import copy

import ipywidgets
import numpy as np
import pytest
from IPython.utils.capture import capture_output
from ipywidgets.widgets import widget as registry

from dsim.diagnostics import Diagnostic, LaunchError
from dsim.notebook.forms.page import page
from dsim.notebook.forms.plain import text
from dsim.notebook.forms.scrubber import Scrubber
from dsim.notebook.report.report import MIME
from dsim.runtime.kernels.watching import Watching
from tests.notebook.cells import GRAVITY
from tests.notebook.report.test_reports import STEP, validated
from tests.notebook.running.test_interrupts import interrupting

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def live(notebook):
    """A notebook whose front end shows widgets."""
    notebook.shell.kernel = object()
    return notebook


def sliders(ran):
    """What the last output shows: the sliders by name, and the label."""
    row = registry._instances[ran.bundles[-1][VIEW]["model_id"]]
    return {w.description: w for w in row.children if isinstance(w, ipywidgets.IntSlider)}


def moved(slider, value):
    """The reports that come when a person moves a slider."""
    with capture_output() as caught:
        data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
        slider._handle_msg({"content": {"data": data}, "buffers": []})
    return [copy.deepcopy(o.data[MIME]) for o in caught.outputs]  # a later move changes them in place


def texts(report):
    return {(v["line"], v["name"]): v["text"] for v in report["probe"]["values"]}


def test_there_is_a_slider_for_each_index(live):
    found = sliders(live.good(GRAVITY))
    assert list(found) == ["i", "j", "trip"]
    assert [(s.min, s.max, s.value) for s in found.values()] == [(0, 7, 0), (0, 7, 1), (1, 1, 1)]
    assert found["trip"].layout.display == "none"


def test_moving_looks_into_another_iteration(live):
    ran = live.good(GRAVITY)
    x = live.names["x"].to_numpy()
    (report,) = moved(sliders(ran)["i"], 5)
    validated(report)
    r = x[5] - x[1]
    assert texts(report)[3, "r"].startswith(f"r = ({r[0]:.3g}, {r[1]:.3g})   ∂U/∂r = ")
    assert [i["value"] for i in report["probe"]["indices"]] == [5, 1]
    assert report["heat"] == ran.report["heat"]
    assert report["source"] == GRAVITY


def test_moving_leaves_no_trace(live):
    names = live.names
    ran = live.good(GRAVITY)
    before = {n: names[n].to_numpy().tobytes() for n in ("x", "v", "y", "U")}
    gradient = names["x"].grad.to_numpy().tobytes()
    moved(sliders(ran)["j"], 2)
    assert {n: names[n].to_numpy().tobytes() for n in before} == before
    assert names["x"].grad.to_numpy().tobytes() == gradient


def test_moving_in_another_context_leaves_the_gradients_of_the_cells(live):
    """A front end may call widgets in a task of their own."""
    ran = live.good(GRAVITY)
    gradient = live.names["x"].grad
    before = gradient.to_numpy()
    assert before.any()
    assert len(contextvars.Context().run(moved, sliders(ran)["i"], 5)) == 1
    assert np.array_equal(gradient.to_numpy(), before)


def test_the_run_that_was_reported_is_looked_into_whatever_became_of_the_fields(live):
    ran = live.good(GRAVITY)
    x = live.names["x"].to_numpy()
    live.good("x.fill(3.0)")
    (report,) = moved(sliders(ran)["i"], 5)
    r = x[5] - x[1]
    assert texts(report)[3, "r"].startswith(f"r = ({r[0]:.3g}, {r[1]:.3g})")
    assert (live.names["x"].to_numpy() == 3).all()


def test_trips_of_an_inner_loop(live):
    found = sliders(live.good(STEP))
    trip = found["trip"]
    assert trip.layout.display == ""
    assert (trip.min, trip.max, trip.value) == (1, 10, 10)
    (report,) = moved(trip, 1)
    p = live.names["x"].to_numpy()[3] * 0.9
    assert texts(report)[6, "p"].startswith(f"p = ({p[0]:.3g}, {p[1]:.3g})")
    assert report["probe"]["trip"] == {"value": 0, "count": 10}
    (report,) = moved(found["i"], 4)  # the trip stays the one that was chosen
    assert report["probe"]["trip"] == {"value": 0, "count": 10}


def test_the_slider_and_the_texts_count_trips_alike(live):
    trip = sliders(live.good(STEP))["trip"]
    for chosen in (10, 1, 4):
        (report,) = moved(trip, chosen) if trip.value != chosen else [live.good(STEP).report]
        assert f"trip {chosen} of 10" in text(report)
        assert f"trip {chosen} of 10" in page(report)


def test_an_iteration_with_fewer_trips_shows_its_last_one(live):
    cell = (
        "%%kernel rows --loss U --probe 7\nfor i in y:\n    s = 0.0\n"
        "    for j in range(i + 1):\n        s += y[j]\n    U[None] += s"
    )
    found = sliders(live.good(cell))
    assert found["trip"].max == 8
    moved(found["trip"], 6)
    (report,) = moved(found["i"], 2)
    assert report["probe"]["trip"] == {"value": 2, "count": 3}
    assert (found["trip"].max, found["trip"].value) == (3, 3)
    s = live.names["y"].to_numpy()[:3].sum()
    assert texts(report)[5, "s"].startswith(f"s = {s:.3g}")


def test_moves_in_quick_succession_count_as_one(live):
    found = sliders(live.good(GRAVITY))

    async def person():
        for n in (2, 3, 4, 5):
            assert moved(found["i"], n) == []
        with capture_output() as caught:
            await asyncio.sleep(0.2)
        return [copy.deepcopy(o.data[MIME]) for o in caught.outputs]  # a later move changes them in place

    (report,) = asyncio.run(person())
    assert report["probe"]["indices"][0]["value"] == 5


def test_an_interrupt_ends_a_move_and_not_the_loop_of_events(live, monkeypatch):
    ran = live.good(GRAVITY)
    row = registry._instances[ran.bundles[-1][VIEW]["model_id"]]
    found, x = sliders(ran), live.names["x"].to_numpy()
    calls = interrupting(monkeypatch, Watching, "__call__", 1)

    async def person():
        with capture_output() as caught:
            moved(found["i"], 4)
            await asyncio.sleep(0.2)
            assert (calls, caught.outputs) == (["__call__"], [])
            assert row.children[-1].value == "stopped: move a slider to continue"
            moved(found["i"], 5)
            await asyncio.sleep(0.2)
        return caught.outputs

    (shown,) = asyncio.run(person())
    assert shown.data[MIME]["probe"]["indices"][0]["value"] == 5
    assert row.children[-1].value == ""
    np.testing.assert_array_equal(live.names["x"].to_numpy(), x)


def test_what_cannot_be_looked_into_is_told_beside_the_sliders(live):
    report = live.good(GRAVITY).report
    shown = []

    def look(at, trip):
        if at[0] == 3:
            raise LaunchError(Diagnostic("assertion", "an assertion <failed>"))
        return report

    scrubber = Scrubber(report, look, shown.append)
    scrubber.indices[0].value = 3
    assert (shown, scrubber.said.value) == ([], "an assertion <failed>")
    scrubber.indices[0].value = 4
    assert (shown, scrubber.said.value) == ([report], "")


def test_running_the_cell_again_takes_the_old_sliders_away(live):
    first = live.good(GRAVITY).bundles[-1][VIEW]["model_id"]
    second = live.good(GRAVITY).bundles[-1][VIEW]["model_id"]
    assert first not in registry._instances
    assert second in registry._instances


def test_no_sliders_where_nothing_can_be_moved(live, notebook):
    assert VIEW not in live.good("%%kernel one --loss U\nU[None] = y[3] ** 2").bundles[-1]
    assert VIEW not in live.good("%%kernel fill\nfor i in y:\n    y[i] = 1.0").bundles[-1]
    del notebook.shell.kernel
    assert VIEW not in notebook.good(GRAVITY).bundles[-1]


def test_where_nothing_is_live_one_line_says_so(live):
    assert live.good(GRAVITY).bundles[-1]["text/plain"] == (
        "Run this cell to inspect other iterations with sliders."
    )


def test_forward_mode_can_be_looked_into(live):
    ran = live.good("%%kernel double --forward y\nfor i in y:\n    v[i][0] = y[i] ** 2")
    (report,) = moved(sliders(ran)["i"], 7)
    value = live.names["y"][7]
    assert texts(report)[3, "v[i][0]"] == f"v[i][0] = {value**2:.3g}   tangent of v[i][0] = {2 * value:.3g}"
    assert np.isfinite(value)
