"""`ds.report` in JupyterLab: drawn under its cell, with links to the cell of the kernel and no marks."""

from playwright.sync_api import expect

from tests.browser.views import cell

SETUP = """\
import dsim as ds
ds.init(default_fp=ds.f64)
x = ds.field(ds.f64, shape=4, needs_grad=True)
U = ds.field(ds.f64, shape=(), needs_grad=True)
x.from_numpy([1.0, 2.0, 3.0, 4.0])"""
KERNEL = """\
# energy of a spring
@ds.kernel
def energy():
    for i in x:
        a = abs(x[i] - 2)
        U[None] += a ** 2 + a"""


def test_it_is_drawn_and_leads_to_the_cell_of_the_kernel(lab):
    lab.open(cell(SETUP), cell(KERNEL), cell("ds.report(energy, loss=U, probe=1)"), kernel=True)
    lab.run_all()
    drawn = lab.cell(2).get_by_role("region", name="Report on energy")
    expect(drawn.locator(".dsim-headline")).to_contain_text("energy: reads x, accumulates into U; U = 10")
    expect(drawn.get_by_role("tab")).to_have_text(["Summary", "Tape", "Adjoint", "IR", "Python"])
    expect(drawn.locator(".dsim-diagnostics")).to_contain_text("`abs(x[i] - 2)` has no derivative at 0")
    expect(drawn.locator(".dsim-hint, .dsim-edited")).to_have_count(0)
    expect(lab.page.locator(".jp-InputArea-editor").locator(".dsim-heat, .dsim-squiggle")).to_have_count(0)
    lab.shoot("function-report")
    lab.note_flashes()
    drawn.get_by_text("Line by line").click()
    drawn.get_by_role("button", name="line 6", exact=True).click()
    lab.expect_flash("        U[None] += a ** 2 + a")
    drawn.get_by_role("button", name="cell In[2], line 5").first.click()
    lab.expect_flash("        a = abs(x[i] - 2)")
