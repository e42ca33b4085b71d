"""The display of an optimisation, with a simulated browser."""

import re
import sys

import ipywidgets
import numpy as np
import pytest

import dsim as ds
from dsim.optimization import widget
from dsim.optimization.methods import method_named
from dsim.optimization.optimize import _with_panel
from dsim.optimization.plan import OptimizationPlan
from tests.live.front_end import shown_by
from tests.optimization.programs import Steps, quadratic, until
from tests.stopping import watched


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)
    with watched():
        yield


def displayed(run, x, y, steps=12, **given):
    """An optimisation by Adam with its display, not yet begun."""
    f = ds.objective(run, wrt=x, loss=y)
    made = _with_panel(OptimizationPlan(f, method_named("Adam", {}, False), steps, **given))
    return made, made._progress


def click(button):
    button._handle_msg(
        {"content": {"data": {"method": "custom", "content": {"event": "click"}}}, "buffers": []}
    )


def enabled(panel):
    return [b.description for b in (panel.pause, panel.stop, panel.resume) if not b.disabled]


def test_the_buttons():
    x, y, run = quadratic()
    held = Steps(5)
    made, panel = displayed(run, x, y, callback=held)
    assert enabled(panel) == []
    made.start()
    assert held.there.wait(60)
    until(lambda: enabled(panel) == ["Pause", "Stop"])
    click(panel.pause)
    assert "running, pausing" in panel.state.value
    held.go_on.set()
    until(lambda: panel.state.value == '<span role="status">paused</span>')
    assert enabled(panel) == ["Stop", "Resume"]
    assert (panel.bar.value, panel.bar.max) == (5, 12)
    click(panel.stop)
    made.wait()
    assert (made.status, enabled(panel)) == ("stopped", ["Resume"])
    click(panel.resume)
    made.wait()
    assert "finished: all 12 steps are done" in panel.state.value
    assert panel.bar.value == 12
    click(panel.resume)
    until(lambda: made.status == "finished" and made.done == 24)
    loss = made.history["loss"][-1]
    until(lambda: f"24 of 24 steps, loss {loss:.6g}" in panel.said.value)
    assert panel.curves.value.count("<path") == 2
    assert "loss and gradient norm of each step" in panel.curves.value


def test_errors_and_warnings_are_shown_and_escaped():
    x, y, run = quadratic()
    z = ds.field(ds.f64, shape=2, name="<b>z")

    def failing():
        run()
        if made.done == 2:
            raise ValueError("<img src=x>\x1b[2J")

    made, panel = displayed(failing, [x, z], y)
    made.start()
    until(made._ended.is_set)
    assert "role='alert'>ValueError: &lt;img src=x&gt;" in panel.notes.value
    assert re.search(r"raised in +\S+test_widget.py:\d+: raise ValueError", panel.notes.value)
    assert "the gradient of `&lt;b&gt;z` is 0" in panel.notes.value
    assert "\x1b" not in panel.notes.value + panel.state.value
    assert "failed: ValueError: &lt;img" in panel.state.value
    with pytest.warns(ds.GradientWarning, match="is 0"), pytest.raises(ValueError, match="img"):
        made.wait()


def test_a_loss_below_zero_has_an_axis_of_its_own():
    x, y = ds.field(ds.f64, shape=(), name="x"), ds.field(ds.f64, shape=(), name="y")

    @ds.kernel
    def run():
        y[None] = x[None] ** 2 - 3 * x[None]

    made, panel = displayed(run, x, y)
    made.start()
    made.wait()
    assert "<title>loss of each step</title>" in panel.curves.value
    assert "<title>gradient norm of each step</title>" in panel.curves.value


@pytest.mark.parametrize("bars", [True, False])
def test_progress_in_a_script(bars, capsys, monkeypatch):
    if not bars:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    x, y, run = quadratic(1)
    found = ds.optimize(run, x, y, method="descent", rate=0.5, steps=3)
    said = capsys.readouterr().err
    assert "loss 0.0078125, gradient 0.125" in said
    assert ("3/3" if bars else "optimize: 3 of 3 steps") in said
    np.testing.assert_allclose(found.best.loss, 0.0078125)


def test_all_is_sent_again_after_a_snapshot_may_have_been_older(monkeypatch):
    monkeypatch.setattr(widget, "_AGAIN", (0.05, 0.05))
    sent = []
    send_state = ipywidgets.HTML.send_state

    def noted(self, key=None):
        if key is None and self in texts:
            sent.append(self)
        return send_state(self, key)

    x, y, run = quadratic()
    made, panel = displayed(run, x, y)
    texts = [panel.state, panel.said, panel.curves, panel.notes]
    made.start()
    made.wait()
    monkeypatch.setattr(ipywidgets.HTML, "send_state", noted)
    until(lambda: panel._again is None)
    del sent[:]
    panel.end()
    until(lambda: panel._again is None)
    assert sent == 2 * texts


def test_what_is_due_later_survives_an_older_one_that_fired_meanwhile(monkeypatch):
    monkeypatch.setattr(widget, "_AGAIN", (60.0, 60.0))
    x, y, run = quadratic()
    _, panel = displayed(run, x, y)
    panel.end()
    older = panel._again
    panel.end()
    newer = panel._again
    older.function(*older.args)
    assert panel._again is newer is not older
    newer.cancel()


def test_another_one_of_the_same_fields_and_both_say_so():
    x, y, run = quadratic()
    held = Steps(5)
    first, panel = displayed(run, x, y, callback=held)
    first.start()
    assert held.there.wait(60)
    click(panel.pause)
    held.go_on.set()
    until(lambda: first.status == "paused")
    second, panel2 = displayed(run, x, y)
    second.start()
    second.wait()
    assert "stopped: another optimisation of its fields has begun" in panel.state.value
    assert enabled(panel) == ["Resume"]
    assert "stopped another optimisation of these fields: Adam, 5 of 12 steps</pre>" in panel2.notes.value


@pytest.mark.parametrize("paused", [False, True])
def test_an_output_that_is_removed_stops_the_work(paused, monkeypatch):
    monkeypatch.setattr(widget, "_GONE", 0.01)
    x, y, run = quadratic()
    made, panel = displayed(run, x, y, steps=10**8)
    made.start()
    shown_by(panel.widget, 1)
    until(lambda: made.done > 2)
    if paused:
        made.pause()
        until(lambda: made.status == "paused")
    shown_by(panel.widget, 0)
    until(made._ended.is_set)
    assert (made.status, made.message) == ("stopped", "its output has been removed")
    np.testing.assert_array_equal(x.to_numpy(), made.best.parameters)
    shown_by(panel.widget, 1)
    assert "stopped: its output has been removed" in panel.state.value
    assert enabled(panel) == ["Resume"]


def test_a_page_that_takes_long_to_show_the_output_stops_nothing(monkeypatch):
    monkeypatch.setattr(widget, "_GONE", 0.0)
    x, y, run = quadratic()
    made, panel = displayed(run, x, y, steps=10**8)
    made.start()
    shown_by(panel.widget, 1)
    shown_by(panel.widget, 0)
    until(made._ended.is_set)
    made, panel = displayed(run, x, y, steps=10**8)
    made.start()
    panel.widget.notify_change(
        {"name": "_view_count", "type": "change", "old": None, "new": 0, "owner": panel.widget}
    )
    assert panel._leaving is None
    done = made.done
    until(lambda: made.done > done + 2)
    assert made.status == "running"
    made.stop()


def test_widgets_that_are_closed_stop_the_work(monkeypatch):
    monkeypatch.setattr(widget, "_GONE", 0.01)
    x, y, run = quadratic()
    made, panel = displayed(run, x, y, steps=10**8)
    made.start()
    shown_by(panel.widget, 1)
    panel.widget.close()
    until(made._ended.is_set)
    assert made.status == "stopped"


def test_a_cell_that_is_moved_or_shown_twice_goes_on(monkeypatch):
    waits = []
    monkeypatch.setattr(widget.threading, "Timer", lambda *given: waits.append(Waits(given)) or waits[-1])
    x, y, run = quadratic()
    made, panel = displayed(run, x, y, steps=10**8)
    made.start()
    for outputs in (1, 2, 1):
        shown_by(panel.widget, outputs)
    assert leaving(waits) == []
    shown_by(panel.widget, 0)
    shown_by(panel.widget, 1)
    assert [each.cancelled for each in leaving(waits)] == [True]
    assert made.status == "running"
    made.stop()


class Waits:
    """A timer whose time never comes."""

    def __init__(self, given):
        self.seconds, self.act, self.cancelled = given[0], given[1], False

    def start(self):
        pass

    def cancel(self):
        self.cancelled = True


def leaving(waits):
    return [each for each in waits if each.seconds == widget._GONE]
