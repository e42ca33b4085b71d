"""The view of a tape."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.reports import GRAVITY, call, field, gravity, group, report, simulation, tape
from tests.browser.views import cell

P2G = """\
%%kernel p2g
for p in x:
    grid_v[p] += v[p]
    grid_m[p] += 1.0"""


def test_ten_thousand_calls_are_a_few_rows(lab):
    lab.open(cell(P2G), cell("ds.tape", simulation()))
    view = lab.cell(1).locator(".dsim-tape-tab")
    expect(view.locator(".dsim-totals")).to_have_text("loss U · 10,002 calls · 3.2 MB saved")
    rows = view.locator(".dsim-calls tbody tr")
    expect(rows).to_have_count(6)
    expect(rows.nth(1)).to_contain_text("1 – 10,000× 2,500clear_grid")
    expect(rows.nth(4)).to_have_text("g2pgrid_vx, v, Cx, v1.92 MB300 ms600 ms")
    assert view.locator("*").count() < 1500


def test_a_click_on_a_call_reveals_its_lines(lab):
    lab.open(cell(P2G), cell("x = 1\n" * 60), cell("ds.tape", simulation()))
    editor = lab.cell(0).locator(".jp-InputArea-editor")
    lab.cell(2).get_by_role("button", name="p2g", exact=True).click()
    expect(editor.locator(".dsim-flash")).to_have_count(3)
    expect(editor.locator(".cm-content")).to_be_focused()
    expect(editor.locator(".dsim-flash").first).to_be_in_viewport()
    assert lab.page.evaluate("window.getSelection().toString()").startswith("%%kernel p2g\nfor p in x:")


def test_a_call_in_the_graph_and_the_first_nan_reveal_lines_too(lab):
    lab.open(cell(P2G), cell("ds.tape", simulation()))
    editor = lab.cell(0).locator(".jp-InputArea-editor")
    born = lab.cell(1).locator(".dsim-message")
    expect(born).to_contain_text("The first value that is not finite was born in call 202 (p2g), in x.grad.")
    born.get_by_role("button").click()
    expect(editor.locator(".dsim-flash").first).to_contain_text("%%kernel p2g")
    expect(editor.locator(".dsim-flash")).to_have_count(0)
    lab.cell(1).locator(".dsim-call").filter(has_text="p2g").locator("text").click()
    expect(editor.locator(".dsim-flash").first).to_contain_text("%%kernel p2g")


def test_calls_of_the_cell_itself(lab):
    lab.open(cell(GRAVITY, {**gravity(), "open": "tape"}))
    lab.cell(0).get_by_role("button", name="energy").click()
    expect(lab.cell(0).locator(".jp-InputArea-editor .dsim-flash")).to_have_count(6)


def test_a_call_whose_cell_is_gone_says_so(lab):
    lab.open(cell("ds.tape", simulation()))
    lab.cell(0).get_by_role("button", name="g2p", exact=True).click()
    expect(lab.cell(0).locator(".dsim-tape-tab").get_by_role("status")).to_have_text(
        "There is no cell in this notebook with the lines of g2p."
    )


@pytest.fixture
def far(lab) -> Locator:
    """A button for the lines of the first cell, which is out of sight and taken off the page.

    It is pressed by keyboard: cells above may still move it from under the pointer.
    """
    lab.open(cell(P2G), *[cell("x = 1\n" * 20) for _ in range(40)], cell("ds.tape", simulation()))
    expect(lab.cell(0)).to_contain_text("%%kernel p2g")
    lab.page.evaluate(
        """() => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.notebookConfig = { ...notebook.notebookConfig, windowingMode: 'full' };
        }"""
    )
    # The height of cells becomes known as they come into sight: the end moves on while one goes there.
    lab.page.wait_for_function(
        """async () => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = notebook.widgets.length - 1;
            await notebook.scrollToItem(notebook.activeCellIndex);
            const calls = notebook.node.querySelector('.dsim-calls');
            const { top, bottom } = calls?.getBoundingClientRect() ?? { top: 1, bottom: 0 };
            return 0 < top && top < bottom && bottom < window.innerHeight;
        }"""
    )
    expect(lab.page.get_by_text("%%kernel p2g")).to_have_count(0)
    return lab.page.locator(".dsim-calls").get_by_role("button", name="p2g", exact=True)


def test_cells_that_are_not_on_the_page_are_found_too(lab, far):
    lab.note_flashes()
    far.press("Enter")
    lab.expect_flash("%%kernel p2g")
    expect(lab.page.get_by_text("%%kernel p2g")).to_be_in_viewport()


def test_so_are_they_when_the_notebook_scrolls_elsewhere_meanwhile(lab, far):
    """As it does when the cell that has the focus leaves the page."""
    lab.page.evaluate(
        """() => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.scrollToItem = (...to) => {
                delete notebook.scrollToItem;
                const ended = notebook.scrollToItem(...to);
                notebook.scrollToItem(notebook.widgets.length - 1).catch(() => null);
                return ended;
            };
        }"""
    )
    lab.note_flashes()
    far.press("Enter")
    lab.expect_flash("%%kernel p2g")
    expect(lab.page.get_by_text("%%kernel p2g")).to_be_in_viewport()


def test_curves_are_read_by_keyboard(lab):
    lab.open(cell(P2G), cell("ds.tape", simulation()))
    slider = lab.cell(1).get_by_role("slider", name="Step of the tape")
    expect(slider.locator("*"), "what is in a slider is not read").to_have_count(0)
    pictures = lab.cell(1).locator(".dsim-plots")
    expect(pictures.get_by_role("img")).to_have_count(4)
    assert pictures.locator("svg").first.locator(".dsim-curve").count() == 5, (
        "a line for each kernel but loss"
    )
    expect(pictures.locator(".dsim-nonfinite")).to_have_count(3)
    gradient = pictures.get_by_role("img").first
    expect(gradient).to_have_attribute(
        "aria-label",
        "gradient norm against the step: smallest 0.01047 at step 9975, largest 1e6 at step 0; "
        "not finite at 3 of 400 points, first at step 500",
    )
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "25")
    expect(slider).to_have_attribute(
        "aria-valuetext",
        "step 25 · clear_grid · gradient norm 9.55e5 · saved 0 B · time 20.3 µs · time backward 40.3 µs",
    )
    lab.page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuenow", "9975")
    lab.page.keyboard.press("Home")
    lab.page.keyboard.press("PageDown")
    expect(slider).to_have_attribute("aria-valuenow", "0")
    outline = slider.evaluate("each => getComputedStyle(each).outlineStyle")
    assert outline == "solid", "the focus is seen"
    pictures.locator("svg").first.hover(position={"x": 245, "y": 40})
    expect(lab.cell(1).locator(".dsim-readout")).to_contain_text("gradient norm 1")


def test_groups_that_are_many_are_shown_bit_by_bit(lab):
    groups = [group(index, 1, call(f"k{index}", reads=[f"f{index % 40}"])) for index in range(130)]
    fields = [field(f"f{index}") for index in range(40)]
    lab.open(
        cell("ds.tape", report(None, kind="tape", kernel=None, open="tape", tape=tape(groups, fields=fields)))
    )
    rows = lab.cell(0).locator(".dsim-calls tbody")
    expect(rows).to_have_count(50)
    lab.cell(0).get_by_role("button", name="Show 50 more of 80").click()
    lab.cell(0).get_by_role("button", name="Show 30 more of 30").click()
    expect(rows).to_have_count(130)
    expect(lab.cell(0).locator(".dsim-more")).to_be_hidden()
    expect(lab.cell(0).locator(".dsim-call")).to_have_count(60)
    expect(lab.cell(0).locator(".dsim-graph")).to_contain_text("and 70 calls more, in the table")


def test_repeats_inside_of_repeats(lab):
    inner = {"count": 50, "repeats": [50]}
    calls = [
        {**call("push", reads=["x"], accumulates=["v"]), **inner, "begins": 1},
        {**call("move", reads=["v"], accumulates=["x"]), **inner, "begins": 0},
        call("keep", reads=["x"], stores=["seen"]),
    ]
    groups = [group(0, 20, *calls), group(2020, 1, call("loss", reads=["x"], accumulates=["U"]))]
    fields = [field(name, 8) for name in ("x", "v", "seen", "U")]
    # In the order of the program after `push` comes `move`.
    series = {"step": [0, 1, 2, 3, 100, 2020], "gradient_norm": [1.0] * 6, "saved_bytes": [0] * 6}
    made = tape(groups, fields=fields, series=series)
    lab.open(cell("ds.tape", report(None, kind="tape", kernel=None, open="tape", tape=made)))
    view = lab.cell(0).locator(".dsim-tape-tab")
    expect(view.locator(".dsim-totals")).to_contain_text("2,021 calls")
    rows = view.locator(".dsim-calls tbody tr")
    expect(rows).to_have_text(
        ["0 – 2,019× 20× 50pushxv", "movevx", "keepxseen", "2,020lossxU"], use_inner_text=False
    )
    assert rows.nth(0).locator(".dsim-count").evaluate_all("all => all.map(each => each.rowSpan)") == [3, 2]
    expect(view.locator(".dsim-lanes .dsim-count")).to_have_text(["× 20", "× 50"])
    expect(view.locator(".dsim-repeat")).to_have_count(2)
    outer, inner = (view.locator(".dsim-repeat").nth(k).bounding_box() for k in (0, 1))
    assert outer["x"] < inner["x"]
    assert outer["x"] + outer["width"] > inner["x"] + inner["width"]
    assert outer["y"] + outer["height"] > inner["y"] + inner["height"]
    slider = lab.cell(0).get_by_role("slider", name="Step of the tape")
    slider.focus()
    for step, kernel in [(1, "move"), (2, "push"), (3, "move"), (100, "keep"), (2020, "loss")]:
        lab.page.keyboard.press("ArrowRight")
        expect(slider).to_have_attribute("aria-valuetext", re.compile(f"^step {step} · {kernel} "))
    lab.shoot("tape-nested")
