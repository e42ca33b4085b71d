"""Reports whose program has changed since: greyed, with the reason."""

from playwright.sync_api import expect

from tests.browser.live.test_live import SETUP, cells

WELL = """\
@ds.func
def well(a):
    return -1 / a"""

ENERGY = """\
%%kernel energy --loss U --wrt x
for i, j in ds.ndrange(N, N):
    r = x[i] - x[j]
    U[None] += well(r.norm(1.0))"""


def edit(view, cell, keys):
    """Type at the end of the last line of a cell, and run it."""
    view.cell(cell).locator(".cm-line").last.click()
    view.page.keyboard.press("End")
    for key in keys:
        view.page.keyboard.press(key)
    view.page.keyboard.press("Control+Enter")


def test_a_redefined_func_greys_the_report_and_stops_its_sliders(lab):
    lab.open(*cells(SETUP, WELL, ENERGY), kernel=True)
    lab.run_all()
    here = lab.cell(2)
    expect(here.locator(".dsim-heat")).to_have_count(2)
    shown = here.locator(".dsim-eol").all_text_contents()
    edit(lab, 1, "*2")
    said = here.get_by_role("status").filter(has_text="Out of date")
    expect(said).to_have_text("Out of date: `well` was redefined. Run this cell again.")
    expect(here.locator(".cm-editor.dsim-stale")).to_have_count(1)
    expect(here.locator(".dsim-edited")).to_be_hidden()
    slider = here.locator(".dsim-scrubber .noUi-handle").first
    expect(here.locator(".dsim-scrubber")).to_contain_text("`well` was redefined: run this cell again")
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    assert here.locator(".dsim-eol").all_text_contents() == shown
    lab.shoot("live-outdated")
    lab.theme("JupyterLab Dark")
    lab.shoot("live-outdated-dark")
    lab.theme("JupyterLab Light")
    # With the old value it is current again; and it is current after a run.
    edit(lab, 1, ["Backspace", "Backspace"])
    expect(said).to_have_count(0)
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    edit(lab, 1, "+1")
    expect(said).to_be_visible()
    here.locator(".cm-line").first.click()
    lab.page.keyboard.press("Control+Enter")
    expect(said).to_have_count(0)
    expect(here.locator(".dsim-heat")).to_have_count(2)
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    assert here.locator(".dsim-eol").all_text_contents() != shown
