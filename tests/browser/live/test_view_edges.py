"""Views in unusual places: zoomed pages, two outputs, two tabs, a restarted kernel, hostile names."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import dsim as ds
from dsim.live.scene.layers import Lines
from tests.browser.live.test_views import (
    LOSE,
    RECORD,
    SETUP,
    SOLID,
    a_ball,
    cells,
    on_the_circle,
    pixels,
    stage,
    wait_for,
)
from tests.browser.server import START_SECONDS, TOKEN
from tests.browser.views import WINDOW

SIZES = """e => {
    const { width, height } = e.querySelector('canvas');
    return [width / e.clientWidth, height / e.clientHeight];
}"""


@pytest.fixture
def zoomed(lab):
    """Sets how many pixels of the screen a pixel of the page has, as zooming does."""
    session = lab.page.context.new_cdp_session(lab.page)

    def set_ratio(ratio):
        width = WINDOW["width"] + int(10 * ratio)  # else Chromium without a window says nothing
        size = {**WINDOW, "width": width, "deviceScaleFactor": ratio, "mobile": False}
        session.send("Emulation.setDeviceMetricsOverride", size)

    yield set_ratio
    session.send("Emulation.clearDeviceMetricsOverride")
    session.detach()
    lab.page.set_viewport_size(WINDOW)


def test_a_zoomed_page_has_a_sharp_picture(lab, zoomed):
    lab.open(*cells(SETUP, "view"), kernel=True)
    lab.run_all()
    drawn = stage(lab)
    wait_for(drawn, on_the_circle, "a circle")
    for ratio in (2, 1.5, 1):
        zoomed(ratio)
        near = f"e => ({SIZES})(e).every(each => Math.abs(each - {ratio}) < 0.01)"
        lab.page.wait_for_function(near, arg=drawn.element_handle())
    wait_for(drawn, on_the_circle, "a circle again")


def test_a_window_of_another_size_has_a_picture_of_another_size(lab):
    lab.open(*cells(SETUP, "view"), kernel=True)
    lab.run_all()
    drawn = stage(lab)
    wait_for(drawn, on_the_circle, "a circle")
    try:
        lab.page.set_viewport_size({"width": 700, "height": 800})
        lab.page.wait_for_function("e => e.clientWidth < 350", arg=drawn.element_handle())
        wait_for(drawn, red_ring, "a smaller circle")
        assert drawn.evaluate(SIZES) == pytest.approx([1, 1], abs=0.02)
    finally:
        lab.page.set_viewport_size(WINDOW)
    wait_for(drawn, on_the_circle, "a circle again")


def red_ring(picture):
    """A circle of points, which are larger in comparison."""
    height, width = picture.shape[:2]
    return width < 350 and abs(height - width) < 20 and (picture[..., 0] - picture[..., 1]).max() > 100


def test_a_context_that_comes_back_draws_again(lab):
    lab.open(*cells(SOLID), kernel=True)
    lab.run_all()
    drawn = stage(lab)
    first = wait_for(drawn, a_ball, "a ball")
    drawn.evaluate(
        """async e => {
            const lost = e.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context');
            lost.loseContext();
            await new Promise(done => setTimeout(done, 50));
            lost.restoreContext();
        }"""
    )
    second = wait_for(drawn, lambda p: a_ball(p) and abs(p - first).max() < 30, "the same ball")
    expect(drawn).to_have_attribute("data-painter", "webgl")
    assert second.shape == first.shape
    drawn.evaluate(LOSE)
    expect(drawn).to_have_attribute("data-painter", "canvas")


def test_a_view_in_two_outputs(lab):
    lab.open(*cells(SETUP, "view", "view", RECORD), kernel=True)
    lab.run_all()
    for index in (1, 2):
        drawn = stage(lab, index)
        wait_for(drawn, on_the_circle, "the last frame")
    stage(lab, 1).focus()
    lab.page.keyboard.press("Home")
    for index in (1, 2):
        expect(lab.cell(index).locator(".dsim-view-text")).to_have_text("step 0")
    lab.command("notebook:move-cursor-up")
    lab.page.evaluate(
        """() => {
            const { shell, commands } = window.jupyterapp;
            shell.currentWidget.content.activeCellIndex = 1;
            return commands.execute('notebook:delete-cell').then(() => null);
        }"""
    )
    stage(lab, 1).focus()
    lab.page.keyboard.press("End")
    wait_for(stage(lab, 1), on_the_circle, "the last frame in the output that is left")


def test_a_notebook_that_is_open_in_two_tabs(lab, server, browser):
    name = lab.open(*cells(SETUP, "view", RECORD, "view.update(100)"), kernel=True)
    lab.run_all()
    wait_for(stage(lab, 1), on_the_circle, "the last frame")
    lab.command("docmanager:save")
    page = browser.new_page(viewport=WINDOW)
    page.goto(f"{server}/lab/workspaces/two/tree/{name}?token={TOKEN}")
    there = page.locator(".jp-Notebook:visible .jp-Cell").nth(1)
    expect(there.locator("canvas")).to_be_visible(timeout=START_SECONDS * 1000)
    text = there.locator(".dsim-view-text")
    expect(text).to_have_text("step 100")
    there.locator(".dsim-view-stage").focus()
    page.keyboard.press("Home")
    expect(text).to_have_text("step 0")
    expect(lab.cell(1).locator(".dsim-view-text")).to_have_text("step 100")
    page.close()
    lab.cell(3).locator(".cm-content").click()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type("; print('done')")
    lab.page.keyboard.press("Control+Home")
    lab.page.keyboard.press("Control+Enter")
    expect(lab.cell(3)).to_contain_text("done", timeout=START_SECONDS * 1000)
    expect(stage(lab, 1).locator("canvas")).to_be_visible()


def test_a_view_outlives_the_restart_of_its_kernel(lab):
    lab.open(*cells(SETUP, "view", RECORD), kernel=True)
    lab.run_all()
    here, drawn = lab.cell(1), stage(lab, 1)
    text = here.locator(".dsim-view-text")
    wait_for(drawn, on_the_circle, "the last frame")
    drawn.focus()
    for key, step in (("Home", 0), ("ArrowRight", 1), ("End", 59)):
        lab.page.keyboard.press(key)
        expect(text).to_have_text(f"step {step}")
    lab.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()"
    )
    lost = here.locator(".dsim-view-lost")
    drawn.focus()
    lab.page.keyboard.press("Home")
    expect(lost).to_have_text(re.compile("no kernel any more"))
    expect(text).to_have_text("step 0")
    assert not on_the_circle(pixels(drawn))
    lab.page.keyboard.press("End")
    expect(text).to_have_text("step 59")
    lab.shoot("view-without-kernel")
    lab.run_all()
    wait_for(stage(lab, 1), on_the_circle, "the last frame")
    expect(here.locator(".dsim-view-lost")).to_have_text("")


HOSTILE = """\
import dsim as ds
import numpy as np
from dsim.live.scene.layers import GridLayer, Points
BAD = "<img src=x onerror='document.title = 1'>&amp;"
bad = ds.field(ds.f64, shape=(), needs_grad=True, name=BAD)
loss = ds.field(ds.f64, shape=(), needs_grad=True, name=BAD + "2")

@ds.kernel
def square():
    loss[None] = bad[None] ** 2

def run(wrong=0):
    square()
    if wrong:
        raise ValueError(BAD)

grid, points = GridLayer(name=BAD + "g", values=np.eye(4)), Points(name=BAD + "p", at=np.eye(2))
view = ds.view(np.zeros((3, 2)), grid, points, title=BAD)
seen = ds.explore(run, loss=loss, controls=[bad], picture=view)
seen"""
FAIL = """\
seen._panel.sliders["wrong"].value = 1
import asyncio
await asyncio.sleep(0.3)"""


def test_names_of_all_kinds_are_text(lab):
    lab.open(*cells(HOSTILE, FAIL), kernel=True)
    lab.run_all()
    here = lab.cell(0)
    bad = "<img src=x onerror='document.title = 1'>&amp;"
    expect(here.locator(".dsim-view-title")).to_have_text(bad)
    expect(here.locator(".dsim-view-legend")).to_contain_text(f"{bad}p (points)")
    expect(here.locator(".dsim-explorer .widget-label", has_text=bad)).to_be_visible()
    expect(here.get_by_text(f"ValueError: {bad}").first).to_be_visible(timeout=START_SECONDS * 1000)
    expect(here.locator(".dsim-view-text")).to_contain_text(f"ValueError: {bad}")
    expect(here.locator("img[src=x]")).to_have_count(0)
    assert lab.page.title() != "1"
    lab.shoot("view-hostile")


def test_a_page_without_a_kernel_follows_the_colours_of_the_system(browser, tmp_path):
    view = ds.view(
        np.array([[0.0, 0.0], [1.0, 1.0]]), Lines(name="edge", at=np.array([[0.0, 0.0], [1.0, 1.0]]))
    )
    view.record()
    view.save(tmp_path / "page.html")
    page = browser.new_page(viewport=WINDOW, device_scale_factor=2, color_scheme="light")
    page.goto((tmp_path / "page.html").as_uri())
    drawn = page.locator(".dsim-view-stage")

    def middle(picture):
        y, x = (size // 2 for size in picture.shape[:2])
        return picture[y - 4 : y + 4, x - 4 : x + 4].mean(axis=2)

    wait_for(drawn, lambda p: p[5, 5].min() > 240 and middle(p).min() < 100, "a dark line on white")
    assert drawn.evaluate(SIZES) == pytest.approx([2, 2], abs=0.02)
    page.emulate_media(color_scheme="dark")
    wait_for(drawn, lambda p: p[5, 5].max() < 60 and middle(p).max() > 150, "a light line on black")
    page.emulate_media(color_scheme="light")
    wait_for(drawn, lambda p: p[5, 5].min() > 240 and middle(p).min() < 100, "a dark line again")
    page.close()
