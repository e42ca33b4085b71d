"""What a person does in a view: drags by the keyboard, picks, and executes its cell again."""

import re

import numpy as np
from playwright.sync_api import expect

from tests.browser.live.test_views import DRAG, SETUP, cells, pixels, red, stage, wait_for
from tests.browser.server import START_SECONDS


def test_points_are_moved_and_cells_painted_by_keyboard(lab):
    lab.open(*cells(DRAG), kernel=True)
    lab.run_all()
    drawn, text = stage(lab), lab.cell(0).locator(".dsim-view-text")
    wait_for(drawn, lambda p: red(p).any() and p[5, 5].max() < 30, "a handle on black")
    said = lab.cell(0).locator(".dsim-view-said")
    expect(drawn).to_have_attribute("role", "application")
    drawn.focus()
    lab.page.keyboard.press("Enter")
    expect(said).to_have_text("cell 4, 4 of cells")
    lab.page.keyboard.press("ArrowLeft")
    lab.page.keyboard.press("ArrowUp")
    expect(said).to_have_text("cell 3, 5 of cells")
    lab.page.keyboard.press("Space")
    expect(text).to_have_text("paint [3, 5]")
    height = pixels(drawn).shape[0]
    at = int(height * 3.2 / 8), int(height * 2.2 / 8)
    wait_for(drawn, lambda p: p[at[1], at[0]].min() > 225, "a painted cell")
    lab.page.keyboard.press("Enter")
    expect(said).to_have_text("point 0 of handle at 2.5, 2.5")
    lab.shoot("view-selected")
    before = np.nonzero(red(pixels(drawn)))[1].mean()
    for _ in range(5):
        lab.page.keyboard.press("ArrowRight")
    expect(text).to_have_text("drag end")
    expect(said).to_have_text(re.compile(r"point 0 of handle at 3\.\d+, 2\.5"))
    wait_for(drawn, lambda p: abs(np.nonzero(red(p))[1].mean() - before - 40) < 4, "a moved handle")
    lab.page.keyboard.press("Escape")
    expect(said).to_have_text("")
    expect(lab.cell(0).locator(".dsim-view-mark")).to_be_hidden()


PICK = """\
import dsim as ds
import numpy as np
some = ds.view(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), size=12)
some.on("pick", lambda message: some.update(text=f"point {message['index']}"))
grid = ds.view(np.arange(20.0).reshape(5, 4))
grid.on("pick", lambda message: grid.update(text=f"cell {message['index']}"))
display(some, grid)"""


def test_points_and_cells_are_picked(lab):
    lab.open(*cells(PICK), kernel=True)
    lab.run_all()
    both, texts = lab.cell(0).locator(".dsim-view-stage"), lab.cell(0).locator(".dsim-view-text")
    for view, across, up, told in (
        (0, 1 / 22, 1 / 22, "point 0"),
        (0, 21 / 22, 21 / 22, "point 2"),
        (1, 1 / 2, 1 / 8, "cell 8"),
    ):
        both.nth(view).scroll_into_view_if_needed()
        wait_for(both.nth(view), lambda p: np.ptp(p) > 50, "anything")
        box = both.nth(view).bounding_box()
        place = {"x": box["width"] * across, "y": box["height"] * (1 - up)}
        both.nth(view).click(position=place)
        expect(texts.nth(view)).to_have_text(told)
    both.nth(0).click(position={"x": 100, "y": 10})
    expect(texts.nth(0)).to_have_text("point 2")


COUNT = """\
from ipywidgets.widgets.widget import _instances
print(len(_instances), "widgets")"""


def test_a_cell_that_is_executed_again_and_again_leaves_no_widgets(lab):
    lab.open(*cells(SETUP, "ds.view(x)", COUNT), kernel=True)
    lab.run_all()
    again = """async times => {
        const { commands, shell } = window.jupyterapp;
        for (let time = 0; time < times; time++) {
            shell.currentWidget.content.activeCellIndex = 1;
            await commands.execute('notebook:run-cell');
            await new Promise(done => setTimeout(done, 30));
        }
        shell.currentWidget.content.activeCellIndex = 2;
        await commands.execute('notebook:run-cell');
    }"""
    lab.page.evaluate(again, 30)
    # Ten views with their layouts, those of the display, and what else there was.
    expect(lab.cell(2)).to_contain_text(re.compile(r"\b([12]?\d) widgets"), timeout=START_SECONDS * 1000)
    expect(lab.cell(1).locator("canvas")).to_be_visible()
