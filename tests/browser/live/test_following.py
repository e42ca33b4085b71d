"""The marks of a `%%kernel --live` cell follow sliders and drags of other cells."""

import re

from playwright.sync_api import expect

from tests.browser.live.test_live import cells
from tests.browser.server import START_SECONDS

# U = ½ k Σ |x|² = ½ k · 10, with Σ |x|² = 10; e = ½ k |x[i]|², ∂U/∂e = 1 and ∂U/∂s = ½ k.
SETUP = """\
import dsim as ds
%load_ext dsim
ds.init(default_fp=ds.f64)
x = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True, name="x")
k = ds.field(ds.f64, shape=(), needs_grad=True, name="k")
U = ds.field(ds.f64, shape=(), needs_grad=True, name="U")
x.from_numpy([[-1.0, -2.0], [1.0, 2.0], [0.0, 0.0]])
k[None] = 1.0"""

ENERGY = """\
%%kernel energy --loss U --wrt x,k --probe 0 --live
for i in x:
    s = x[i].norm_sqr()
    assert k[None] < 8.0
    e = 0.5 * k[None] * s
    U[None] += e"""

EXPLORE = """\
seen = ds.explore(energy, wrt=x, loss=U, controls={k: (0, 10, 1)})
seen"""

SLIDER = """\
import ipywidgets
slider = ipywidgets.FloatSlider(value=1, min=0, max=10, step=1, description="plain")
def write(change):
    k[None] = change["new"]
slider.observe(write, "value")
slider"""


def shows(here, s, k):
    """Waits for the closed forms in the cell's marks: ``s`` of the first point, and the heat's place."""
    ends = here.locator(".dsim-eol")
    expect(ends.filter(has_text="s = ").first).to_have_text(re.compile(rf"s = {s:.3g}\s+∂U/∂s = {k / 2:.3g}"))
    expect(ends.filter(has_text="e = ").first).to_have_text(re.compile(rf"e = {k * s / 2:.3g}\s+∂U/∂e = 1"))


def opened(view, *others, **options):
    view.open(*cells(SETUP, ENERGY, *others), **options)
    view.run_all()
    here = view.cell(1)
    expect(here.locator(".dsim-heat")).to_have_count(3, timeout=START_SECONDS * 1000)
    return here


def pressed(view, index, times, key="ArrowRight"):
    view.cell(index).locator(".noUi-handle").first.focus()
    for _ in range(times):
        view.page.keyboard.press(key)


def follows_an_explorer(view, name, **options):
    here = opened(view, EXPLORE, **options)
    shows(here, 5.0, 1.0)
    expect(view.cell(2).locator(".dsim-explorer canvas").first).to_be_visible(timeout=START_SECONDS * 1000)
    pressed(view, 2, 3)
    view.shoot("debug")
    shows(here, 5.0, 4.0)
    expect(view.cell(2).locator(".dsim-explorer [role=status]").last).to_contain_text("U = 20")
    expect(here).to_contain_text("U = 20")
    here.scroll_into_view_if_needed()
    view.shoot(name)
    return here


def test_marks_follow_a_slider_of_an_explorer(lab):
    here = follows_an_explorer(lab, "following", kernel=True)
    # What fails says so, with the error at its line; the old marks are out of date.
    pressed(lab, 2, 3)
    shows(here, 5.0, 7.0)
    pressed(lab, 2, 2)
    expect(lab.page.locator(".cm-editor.dsim-stale")).to_have_count(1)
    said = here.get_by_role("status").filter(has_text="Out of date")
    reason = "with the present numbers, the run fails: an assertion failed"
    expect(said).to_have_text(f"Out of date: {reason}. It follows the next change.")
    expect(here.locator(".dsim-scrubber")).to_contain_text(reason)
    expect(here.locator(".dsim-squiggle").and_(lab.page.locator(".dsim-error")).first).to_be_visible()
    shows(here, 5.0, 7.0)
    here.scroll_into_view_if_needed()
    lab.shoot("following-failed")
    pressed(lab, 2, 6, "ArrowLeft")
    shows(here, 5.0, 3.0)
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    lab.theme("JupyterLab Dark")
    expect(lab.page.locator("#jupyterlab-splash")).to_have_count(0)
    lab.shoot("following-dark")
    lab.theme("JupyterLab Light")


def test_marks_follow_in_notebook_7(notebook7):
    follows_an_explorer(notebook7, "following-notebook7")


def test_marks_follow_a_dragged_point(lab):
    lab.open(*cells(SETUP, ENERGY.replace("--probe 0", "--probe 2"), EXPLORE), kernel=True)
    lab.run_all()
    here, canvas = lab.cell(1), lab.cell(2).locator(".dsim-explorer canvas").first
    shows(here, 0.0, 1.0)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()  # the third point is in its middle
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    lab.page.mouse.move(x, y)
    lab.page.mouse.down()
    lab.page.mouse.move(x + 40, y, steps=4)
    lab.page.mouse.up()
    marks = [here.locator(".dsim-eol").filter(has_text=f"{name} = ").first for name in "se"]
    expect(marks[0]).to_have_text(re.compile(r"s = 0\.2\d+"))  # all 40 pixels
    expect(marks[1]).to_have_text(re.compile(r"e = 0\.1\d+"))
    s, e = (float(mark.text_content().split()[2]) for mark in marks)
    loss = lab.cell(2).locator(".dsim-explorer [role=status]").last
    assert abs(e - s / 2) < 1e-3
    assert abs(float(loss.text_content().removeprefix("U = ")) - (5.0 + s / 2)) < 1e-3


def test_marks_follow_a_slider_that_writes_a_field(lab):
    here = opened(lab, SLIDER, kernel=True)
    pressed(lab, 2, 4)
    shows(here, 5.0, 5.0)
