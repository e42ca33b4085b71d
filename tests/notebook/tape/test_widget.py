"""The widget of a tape, with a simulated browser."""

import re

import pytest

import dsim as ti
from dsim.notebook.tape.widget import TapeView, view
from tests.notebook.tape.tapes import HOSTILE, particles


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def frontend(widget, **state):
    """What the browser sends when a person has changed something."""
    widget._handle_msg(
        {"content": {"data": {"method": "update", "state": state, "buffer_paths": []}}, "buffers": []}
    )


def click(button):
    button._handle_msg(
        {"content": {"data": {"method": "custom", "content": {"event": "click"}}}, "buffers": []}
    )


def parts(shown):
    """The drawing, the chart and the details."""
    drawing, _, picture, _, details, _ = shown.widget.children
    return drawing.value, picture.value, details.value


def test_what_it_shows():
    shown = TapeView(particles(700, profile=True))
    drawing, picture, details = parts(shown)
    assert "700 ×" in drawing
    assert "norm of the gradient" in picture
    assert "0: clear" in details
    assert shown.chart.options == ("gradient", "time forward", "time backward", "saved bytes")
    assert (shown.call.min, shown.call.max) == (0, 2100)


def test_the_slider_goes_through_the_calls():
    shown = TapeView(particles(700))
    frontend(shown.call, value=2)
    _, picture, details = parts(shown)
    assert re.search(r">gather</text>", picture)
    assert "<b>2: gather</b>(dt=0.1)" in details
    assert "32 bytes of x" in details
    assert "def gather(dt: float):" in details
    assert "gradient before" in details
    frontend(shown.call, value=2100)
    assert "total" in parts(shown)[2]


def test_another_chart():
    shown = TapeView(particles(20))
    frontend(shown.chart, index=2)
    assert shown.chart.value == "saved bytes"
    assert "bytes saved up to each call" in parts(shown)[1]
    click(shown.measure)
    assert shown.chart.value == "saved bytes"


def test_measuring_again_when_values_have_changed():
    tape = particles(20)
    shown = TapeView(tape)
    tape.profiled.backward_seconds[:] = -1.0
    click(shown.measure)
    assert (tape.profiled.backward_seconds >= 0).all()
    tape.calls.facts(1).reads[0].fill(1.0)
    click(shown.measure)
    said = shown.widget.children[1].children[2].value
    assert said.startswith("Not measured: `x` was changed from Python")
    assert "norm of the gradient" in parts(shown)[1]


def test_a_tape_that_cannot_be_measured():
    tape = particles(20)
    tape.calls.facts(1).reads[0].fill(1.0)
    shown = TapeView(tape)
    assert shown.measure.disabled
    assert shown.chart.options == ("saved bytes",)
    assert "bytes saved" in parts(shown)[1]


def test_an_empty_tape():
    loss = ti.field(ti.f64, shape=(), needs_grad=True, name="loss")
    tape = ti.Tape(loss)
    with pytest.warns(ti.GradientWarning, match="no call inside the tape wrote the loss"), tape:
        pass
    assert "0 calls" in parts(TapeView(tape))[0]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_persons_text_is_text(name):
    shown = TapeView(particles(names=(name, "v", "grid")))
    frontend(shown.call, value=1)
    for html in parts(shown):
        assert "<img" not in html
        assert "<script" not in html
        assert "\x1b" not in html


def test_without_live_widgets_it_is_text():
    tape = particles(700)
    data = view(tape)._repr_mimebundle_()
    assert data["text/plain"].startswith("tape of `loss`: 2,101 calls")
    assert "application/vnd.jupyter.widget-view+json" in data
