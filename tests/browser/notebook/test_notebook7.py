"""The same in Notebook 7, and after a reload."""

from playwright.sync_api import expect

from tests.browser.reports import GRAVITY, OVERWRITING, broken, gravity, simulation
from tests.browser.views import cell


def test_marks_hover_tabs_and_tape(notebook7):
    notebook7.open(cell(GRAVITY, gravity()), cell(OVERWRITING, broken()), cell("ds.tape", simulation()))
    expect(notebook7.cell(0).locator(".dsim-heat")).to_have_count(3)
    expect(notebook7.cell(0).locator(".dsim-eol")).to_have_count(3)
    notebook7.cell(1).locator(".dsim-squiggle.dsim-note").hover()
    expect(notebook7.page.locator(".dsim-hover")).to_contain_text("is overwritten after it was read")
    notebook7.shoot("notebook7")
    notebook7.cell(0).get_by_role("tab", name="Adjoint").click()
    notebook7.cell(0).get_by_text("d_bar = U_bar[()]").click()
    expect(notebook7.cell(0).locator(".dsim-flash")).to_contain_text("U[None] += -1 / d")
    notebook7.page.keyboard.press("End")
    notebook7.page.keyboard.type("# edited")
    expect(notebook7.page.locator(".cm-editor.dsim-stale")).to_have_count(1)
    expect(notebook7.cell(2).locator(".dsim-calls tbody tr")).to_have_count(6)
