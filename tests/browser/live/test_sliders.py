"""The sliders below a report: their names, and their text where no kernel listens."""

from playwright.sync_api import expect

from tests.browser.live.test_live import SETUP, cells
from tests.browser.notebook.test_outdated import ENERGY, WELL, edit
from tests.browser.server import START_SECONDS, TOKEN

DEAD = "Run this cell to inspect other iterations with sliders."
SESSION = "window.jupyterapp.shell.currentWidget.context.sessionContext"


def handles(view, cell):
    return view.cell(cell).locator(".dsim-scrubber .noUi-handle:visible")


def move(view, cell, times):
    """Move the first slider of a cell to the right."""
    handles(view, cell).first.focus()
    for _ in range(times):
        view.page.keyboard.press("ArrowRight")


def shows(view, cell, at):
    """Whether a report shows the values of this iteration."""
    expect(view.cell(cell).locator(".dsim-legend")).to_contain_text(f"values at i = {at},")


def test_a_copied_cell_gets_sliders_of_its_own(lab):
    lab.open(*cells(SETUP, WELL, ENERGY), kernel=True)
    lab.run_all()
    expect(handles(lab, 2)).to_have_count(2)
    lab.cell(2).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("c")
    lab.page.keyboard.press("v")
    # Its outputs came along. Sliders in them would be those of the first one.
    expect(lab.cell(3).get_by_text(DEAD)).to_be_visible()
    expect(handles(lab, 3)).to_have_count(0)
    expect(handles(lab, 2)).to_have_count(2)
    lab.shoot("live-copy")
    lab.cell(3).locator(".cm-line").first.click()
    lab.page.keyboard.press("Control+Enter")
    expect(handles(lab, 3)).to_have_count(2)
    expect(lab.cell(2).locator(".dsim-heat")).to_have_count(2)
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    move(lab, 3, 3)
    shows(lab, 3, 3)
    shows(lab, 2, 0)
    move(lab, 2, 5)
    shows(lab, 2, 5)
    shows(lab, 3, 3)


def test_a_page_that_is_loaded_again_follows_the_session(lab, server):
    name = lab.open(*cells(SETUP, WELL, ENERGY), kernel=True)
    lab.run_all()
    expect(handles(lab, 2)).to_have_count(2)
    lab.command("docmanager:save")
    lab.page.goto(f"{server}/lab/tree/{name}?token={TOKEN}&reset")
    expect(handles(lab, 2)).to_have_count(2, timeout=START_SECONDS * 1000)
    r = lab.cell(2).locator(".dsim-eol").first
    before = r.text_content()
    move(lab, 2, 3)
    shows(lab, 2, 3)
    expect(r).not_to_have_text(before)
    edit(lab, 1, "*2")
    said = lab.cell(2).get_by_role("status").filter(has_text="Out of date: `well` was redefined")
    expect(said).to_be_visible()
    expect(lab.page.locator(".cm-editor.dsim-stale")).to_have_count(1)


def test_after_a_restart_they_say_what_to_do(lab):
    lab.open(*cells(SETUP, WELL, ENERGY), kernel=True)
    lab.run_all()
    expect(handles(lab, 2)).to_have_count(2)
    dead = lab.cell(2).get_by_text(DEAD)
    for end in ("restartKernel", "shutdown"):
        lab.page.evaluate(f"() => {SESSION}.{end}().then(() => null)")
        expect(dead).to_be_visible()
        expect(handles(lab, 2)).to_have_count(0)
        expect(lab.cell(2).locator(".dsim-heat")).to_have_count(2)
        if end == "restartKernel":
            lab.shoot("live-restarted")
            lab.run_all()
            expect(handles(lab, 2)).to_have_count(2)
            expect(dead).to_have_count(0)
            move(lab, 2, 3)
            shows(lab, 2, 3)


def test_they_have_names_before_anybody_goes_to_them(lab):
    lab.open(*cells(SETUP, WELL, ENERGY), kernel=True)
    lab.run_all()
    here = lab.cell(2)
    for name in "ij":
        expect(here.get_by_role("slider", name=f"iteration, {name}")).to_be_enabled()
    edit(lab, 1, "*2")
    for name in "ij":
        expect(here.get_by_role("slider", name=f"iteration, {name}")).to_be_disabled()
    said = here.locator(".dsim-scrubber").get_by_role("status")
    expect(said).to_have_text("`well` was redefined: run this cell again")


def test_in_notebook_7(notebook7):
    notebook7.open(*cells(SETUP, WELL, ENERGY))
    notebook7.run_all()
    expect(handles(notebook7, 2)).to_have_count(2)
    edit(notebook7, 1, "*2")
    said = notebook7.cell(2).get_by_role("status").filter(has_text="Out of date: `well` was redefined")
    expect(said).to_be_visible()
    expect(notebook7.page.locator(".cm-editor.dsim-stale")).to_have_count(1)
    notebook7.shoot("live-outdated-notebook7")
    notebook7.page.evaluate(f"() => {SESSION}.restartKernel().then(() => null)")
    expect(notebook7.cell(2).get_by_text(DEAD)).to_be_visible()
    expect(handles(notebook7, 2)).to_have_count(0)
    notebook7.shoot("live-restarted-notebook7")
