"""The view of a trajectory: a slider over the steps, the chart of norms, and an element that is followed."""

import re

import pytest
from nbformat import v4
from playwright.sync_api import expect

SETUP = """\
%load_ext dsim
import dsim as ds
import numpy as np
n = 60
x = ds.Vector.field(2, ds.f32, shape=n, needs_grad=True, name="x")
v = ds.Vector.field(2, ds.f32, shape=n, needs_grad=True, name="v")
L = ds.field(ds.f32, shape=(), needs_grad=True, name="<b>L</b>")
@ds.kernel
def step():
    for i in x:
        v[i] += 0.05 * ds.Vector([4 * x[i].y, 3 * x[i].x])
    for i in x:
        x[i] += 0.05 * v[i]
@ds.kernel
def end():
    for i in x:
        L[None] += x[i].norm_sqr()
x.from_numpy((np.random.default_rng(0).random((n, 2)) - 0.5).astype(np.float32))
with ds.Tape(L) as tape:
    found = tape.trajectory(x)
    for t in tape.steps(range(120)):
        step()
    end()
found"""

GRID = """\
import dsim as ds
import numpy as np
u, w = (ds.field(ds.f64, shape=(48, 32), needs_grad=True, name=name) for name in "uw")
L = ds.field(ds.f64, shape=(), needs_grad=True, name="L")
@ds.kernel
def diffuse():
    for i, j in u:
        w[i, j] = u[i, j]
    for i, j in ds.ndrange((1, 47), (1, 31)):
        u[i, j] += 0.2 * (w[i - 1, j] + w[i + 1, j] + w[i, j - 1] + w[i, j + 1] - 4 * w[i, j])
@ds.kernel
def probe():
    L[None] = u[30, 18]
start = np.zeros((48, 32))
start[5:16, 5:16] = 1
u.from_numpy(start)
with ds.Tape(L) as tape:
    found = tape.trajectory(u)
    for t in range(60):
        diffuse()
    probe()
ds.adjoint_view(found)"""


@pytest.fixture(params=["JupyterLab Light", "JupyterLab Dark"])
def theme(request, lab):
    lab.theme(request.param)
    yield request.param.split()[-1].lower()
    lab.theme("JupyterLab Light")


def opened(lab, source):
    lab.open(v4.new_code_cell(source), kernel=True)
    lab.run_all()
    here = lab.cell(0)
    here.locator(".dsim-view-chart-told").scroll_into_view_if_needed()
    return here


def test_the_slider_the_chart_and_a_click_go_through_the_steps(lab, theme):
    here = opened(lab, SETUP)
    text, slider = here.locator(".dsim-view-text"), here.get_by_role("slider", name="recorded frame")
    expect(text).to_have_text(re.compile(r"^step 0 · ‖∂<b>L</b>/∂x‖ = "))
    expect(slider).to_have_attribute("aria-valuetext", "1 of 122")
    expect(here.locator(".dsim-view-chart-told")).to_contain_text("exploding")
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    expect(text).to_have_text(re.compile("^step 1 · "))
    marker = here.locator(".dsim-view-chart-marker")
    chart = here.locator(".dsim-view-chart-lines")
    box = chart.bounding_box()
    at = 62 + (640 - 62 - 8) * 61 / 121  # the middle, in units of the drawing
    lab.page.mouse.click(box["x"] + box["width"] * at / 640, box["y"] + box["height"] * 0.5)
    expect(text).to_have_text(re.compile("^step 61 · "))
    assert float(marker.get_attribute("x1")) == pytest.approx(at, abs=1)
    expect(here.locator(".dsim-view-chart-name")).to_have_count(1)
    stage = here.locator(".dsim-view-stage")
    stage.focus()
    lab.page.keyboard.press("Home")
    expect(text).to_have_text(re.compile("^step 0 · "))
    box = stage.bounding_box()
    lab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    followed = here.locator(".dsim-view-chart-name").nth(1)
    expect(followed).to_have_text(re.compile(r"x\[\d+\]$"))
    expect(text).to_have_text(re.compile(r"^step 0 · .* · x\[\d+\]: ∂<b>L</b>/∂x = \(.*\)"))
    expect(here.locator(".dsim-view b")).to_have_count(0)
    lab.shoot(f"adjoint-points-{theme}")


def test_play_goes_forwards_and_comes_back_with_the_adjoints(lab):
    here = opened(lab, SETUP)
    text, stage = here.locator(".dsim-view-text"), here.locator(".dsim-view-stage")
    expect(text).to_have_text(re.compile("^step 0 · "))
    lab.page.evaluate(
        """() => {
            const text = document.querySelector('.jp-Notebook:not(.lm-mod-hidden) .dsim-view-text');
            window.steps = [];
            new MutationObserver(() => window.steps.push(Number(text.textContent.match(/\\d+/)[0])))
                .observe(text, { childList: true, characterData: true, subtree: true });
        }"""
    )
    here.get_by_label("speed").select_option("4")
    stage.focus()
    lab.page.keyboard.press("Space")
    expect(here.get_by_role("button", name="pause")).to_be_visible()
    expect(here.get_by_role("button", name="play")).to_be_visible()
    expect(text).to_have_text(re.compile("^step 0 · "))
    steps = lab.page.evaluate("window.steps")
    top = steps.index(max(steps))
    assert max(steps) > 90
    assert steps[: top + 1] == sorted(steps[: top + 1])
    assert steps[top:] == sorted(steps[top:], reverse=True)


def test_a_grid_is_beside_its_heat_and_a_cell_is_followed(lab, theme):
    here = opened(lab, GRID)
    text, stage = here.locator(".dsim-view-text"), here.locator(".dsim-view-stage")
    expect(text).to_have_text(re.compile("^call 0 · "))
    stage.focus()
    for _ in range(4):
        lab.page.keyboard.press("PageUp")
    expect(text).to_have_text(re.compile("^call 40 · "))
    box = stage.bounding_box()
    unit = box["width"] / (48 * 2.06)
    lab.page.mouse.click(box["x"] + unit * (48 * 1.06 + 20.5), box["y"] + box["height"] * (1 - 10.5 / 32))
    expect(text).to_have_text(re.compile(r"^call 40 · .* · u\[20, 10\]: ∂L/∂u = "))
    lab.shoot(f"adjoint-grid-{theme}")


def test_in_notebook_7(notebook7):
    notebook7.open(v4.new_code_cell(SETUP))
    notebook7.run_all()
    here = notebook7.cell(0)
    text = here.locator(".dsim-view-text")
    expect(text).to_have_text(re.compile("^step 0 · "))
    here.get_by_role("slider", name="recorded frame").focus()
    notebook7.page.keyboard.press("End")
    expect(text).to_have_text(re.compile(r"^step 121 · .* = 0$"))
