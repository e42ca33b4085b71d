"""A tape as HTML: well-formed SVG, no scripts, and user text escaped."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import dsim as ti
from dsim.notebook.tape import measured, svg, tape_html, tape_json
from dsim.notebook.tape.charts import usual
from dsim.notebook.tape.widget import TapeView
from tests.notebook.tape.tapes import HOSTILE, particles

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def pictures(html):
    return [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def words(picture):
    return [t.text for t in picture.iter(f"{SVG}text")]


def test_the_calls_and_fields_as_a_drawing():
    score, saved = pictures(tape_html(particles(700)))
    shown = words(score)
    assert shown[:4] == ["x", "v", "grid", "loss"]
    assert shown[4:8] == ["clear", "scatter", "gather", "total"]
    assert "700 ×" in shown
    assert len(list(score.iter(f"{SVG}rect"))) == 2  # what `clear` stores to, and the legend's
    assert words(saved)[0] == "bytes saved up to each call"


def test_charts_of_a_profile():
    titles = [words(p)[0] for p in pictures(tape_html(measured(particles(700))))[1:]]
    assert titles == [
        "norm of the gradient with respect to what each call wrote",
        "bytes saved up to each call",
    ]
    titles = [words(p)[0] for p in pictures(tape_html(particles(700, profile=True)))]
    assert "time of each call, forward" in titles


def test_a_look_changes_no_gradient():
    tape = particles()
    gradients = [f.grad.require() for f in tape.calls.facts(2).fields]
    before = [g.tobytes() for g in gradients]
    assert "norm of the gradient" in tape_html(measured(tape))
    assert [g.tobytes() for g in gradients] == before


def test_a_tape_that_cannot_be_measured_any_more():
    tape = particles()
    tape.calls.facts(1).reads[0].fill(3.0)
    assert measured(tape).profiled is None
    assert "3 ×" in tape_html(tape)


def test_a_tape_whose_fields_were_dropped():
    tape = particles()
    ti.reset()
    assert measured(tape).profiled is None
    assert "3 ×" in tape_html(tape)
    assert tape_json(tape)["fields"][0]["bytes"] == 0
    assert "dropped by `reset()`" in TapeView(tape).widget.children[1].children[2].value


def test_the_table():
    html = tape_html(particles(700))
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]
    assert cells[0] == ["call", "", "kernel", "line", "reads", "stores", "adds to", "saved"]
    assert cells[3][:3] == ["2", "└", "gather"]
    assert cells[3][-1] == "22,400"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_persons_text_is_text(name):
    html = tape_html(particles(names=(name, "v", "grid"), profile=True))
    assert "<img" not in html
    assert "<script" not in html
    assert "\x1b" not in html
    assert "onerror=alert(1)>" not in html
    shown = name.replace("\x1b", "�")
    drawing = pictures(html)[0]
    assert words(drawing)[0] in (shown, shown[:13] + "…")
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {
        "div",
        "style",
        "p",
        "b",
        "svg",
        "title",
        "text",
        "line",
        "path",
        "circle",
        "rect",
        "details",
        "summary",
        "table",
        "tr",
        "th",
        "td",
    }
    assert not re.search(r"\son\w+=", re.sub(r">[^<]*<", "><", html))


def test_a_gradient_that_is_not_finite():
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in ("x", "<b>"))

    @ti.kernel
    def root():
        loss[None] += ti.sqrt(x[None])

    with ti.Tape(loss) as tape:
        root()
        root()
    html = tape_html(measured(tape))
    assert "the gradient is not finite before root, call 1" in html
    assert "not finite" in words(pictures(html)[1])
    assert "tape of &lt;b&gt;" in html

    def record():
        with tape:
            root()

    tape = ti.Tape(loss, find_nan=True)
    with pytest.raises(ti.NonFiniteError):
        record()
    assert "x.grad[None] becomes inf in root, call 0" in tape_html(tape)


def test_many_rows_and_fields_are_cut():
    fields = [ti.field(ti.f64, shape=(), needs_grad=True, name=f"f{n}") for n in range(130)]
    with ti.Tape(fields[0]) as tape:
        for f in fields:
            f[None] = 1.0
    html = tape_html(tape)
    assert "… 82 rows more, 106 fields more" in html
    names = words(pictures(html)[0])[:24]
    assert names == [*(f"f{n}" for n in range(1, 24)), "f0"]  # the loss is there
    assert "… and 30 lines more" in html


# -- charts by themselves


def test_a_chart_of_what_has_gaps():
    y = np.array([1.0, 10.0, np.nan, 100.0, 0.0, 5.0])
    (drawn,) = pictures(svg.chart("t", [svg.Series("s", np.arange(6), y, svg.BLUE)], 5, True))
    assert len(list(drawn.iter(f"{SVG}path"))) == 1
    assert len(list(drawn.iter(f"{SVG}circle"))) == 2


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("values", [[], [0.0], [5.0], [5.0, 5.0], [-1.0, 1.0], [1e-300, 1e300], [np.inf]])
def test_charts_of_odd_numbers(values, log):
    y = np.array(values)
    made = svg.chart("t", [svg.Series("s", np.arange(len(y)), y, svg.BLUE)], len(y), log)
    (drawn,) = pictures(made)
    assert "nan" not in made
    assert "inf" not in made
    for mark in drawn.iter():
        for name in ("x", "y", "cx", "cy", "x1", "y1"):
            if name in mark.attrib:
                assert -1 <= float(mark.attrib[name]) <= 700


def test_times_are_shown_by_their_medians():
    x, y = np.arange(1000), np.full(1000, 2.0)
    y[::50] = 1000.0
    shown = usual(x, y)
    assert set(shown[1].tolist()) == {2.0}
    assert len(shown[0]) == 80
    assert usual(x[:10], y[:10])[1].tolist() == y[:10].tolist()


def test_charts_have_a_title_for_who_cannot_see_them():
    for picture in pictures(tape_html(particles(profile=True))):
        assert picture.attrib["role"] == "img"
        assert picture.find(f"{SVG}title").text
