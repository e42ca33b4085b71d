"""Reports whose kernel has ended, and copies of reports: they are not updated, and are marked so."""

import pytest
from playwright.sync_api import expect

from tests.browser.live.test_live import SETUP, cells
from tests.browser.live.test_sliders import SESSION
from tests.browser.reports import report
from tests.browser.server import START_SECONDS, TOKEN
from tests.browser.views import cell

ENDED = "Out of date: its kernel was restarted or shut down. Run this cell again."
COPIED = "Copied from another cell. Run this one for a report of its own."
HALVE = "%%kernel halve\nfor i in x:\n    x[i] = 0.5 * x[i]"
LOSS = "%%kernel loss --loss U --wrt x\nU[None] += x[3].norm(1.0)"


def said(view, cell):
    """What the report of a cell says of being out of date."""
    return view.cell(cell).locator(".dsim-outdated")


def grey(view, cell):
    """Whether the marks of a cell are grey: red, green and blue alike."""
    heat = view.cell(cell).locator(".cm-line.dsim-heat").first
    color = heat.evaluate("line => getComputedStyle(line).backgroundColor")
    red, green, blue = color.removeprefix("rgba(").removeprefix("rgb(").split(",")[:3]
    return red.strip() == green.strip() == blue.strip()


def start(lab):
    name = lab.open(*cells(SETUP, HALVE, LOSS), kernel=True)
    lab.run_all()
    expect(lab.cell(2).locator(".dsim-heat")).to_have_count(1)
    for index in (1, 2):
        expect(said(lab, index)).to_be_empty()
    assert not grey(lab, 2)
    return name


@pytest.mark.parametrize("end", ["restartKernel", "shutdown"])
def test_a_report_without_sliders_says_that_its_kernel_has_ended(lab, end):
    start(lab)
    lab.page.evaluate(f"() => {SESSION}.{end}().then(() => null)")
    for index in (1, 2):
        expect(said(lab, index)).to_have_text(ENDED)
    assert grey(lab, 2)
    lab.shoot(f"ended-{end}")
    if end == "restartKernel":
        lab.run_all()
        for index in (1, 2):
            expect(said(lab, index)).to_be_empty()
        assert not grey(lab, 2)


def test_a_page_that_is_loaded_again_knows_whether_the_kernel_is_the_same(lab, server):
    name = start(lab)
    lab.command("docmanager:save")
    lab.page.goto(f"{server}/lab/tree/{name}?token={TOKEN}&reset")
    expect(lab.cell(2).locator(".dsim-heat")).to_have_count(1, timeout=START_SECONDS * 1000)
    lab.page.wait_for_function(f"{SESSION}?.kernelDisplayStatus === 'idle'", timeout=START_SECONDS * 1000)
    expect(said(lab, 2)).to_be_empty()
    assert not grey(lab, 2)
    lab.page.evaluate(f"() => {SESSION}.restartKernel().then(() => null)")
    expect(said(lab, 2)).to_have_text(ENDED)
    lab.page.goto(f"{server}/lab/tree/{name}?token={TOKEN}&reset")
    expect(said(lab, 2)).to_have_text(ENDED, timeout=START_SECONDS * 1000)
    assert grey(lab, 2)
    lab.shoot("ended-reloaded")


def test_a_copied_report_says_that_it_is_one(lab):
    start(lab)
    lab.cell(2).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("c")
    lab.page.keyboard.press("v")
    expect(said(lab, 3)).to_have_text(COPIED)
    expect(said(lab, 2)).to_be_empty()
    assert grey(lab, 3)
    assert not grey(lab, 2)
    lab.shoot("copied")
    lab.cell(3).locator(".cm-line").first.click()
    lab.page.keyboard.press("Control+Enter")
    expect(said(lab, 3)).to_be_empty()
    assert not grey(lab, 3)


def test_a_saved_report_that_no_page_has_signed_is_shown_as_it_is(lab):
    lab.open(cell("%%kernel energy", report("%%kernel energy")), kernel=True)
    lab.page.wait_for_function(f"{SESSION}?.kernelDisplayStatus === 'idle'", timeout=START_SECONDS * 1000)
    expect(lab.cell(0).locator(".dsim-report")).to_be_visible()
    expect(said(lab, 0)).to_be_empty()


def test_in_notebook_7(notebook7):
    notebook7.open(*cells(SETUP, HALVE, LOSS))
    notebook7.run_all()
    expect(notebook7.cell(2).locator(".dsim-heat")).to_have_count(1)
    expect(said(notebook7, 2)).to_be_empty()
    notebook7.page.evaluate(f"() => {SESSION}.restartKernel().then(() => null)")
    expect(said(notebook7, 2)).to_have_text(ENDED)
    assert grey(notebook7, 2)
    notebook7.shoot("ended-notebook7")
