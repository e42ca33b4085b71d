"""Kernels that run: from the cell to its marks, the sliders below it, and the saved file."""

import re

from nbformat import v4
from playwright.sync_api import expect

from tests.browser.server import START_SECONDS, TOKEN

SETUP = """\
import dsim as ds
%load_ext dsim
N = 16
x = ds.Vector.field(2, dtype=ds.f32, shape=N, needs_grad=True)
v = ds.Vector.field(2, dtype=ds.f32, shape=N, needs_grad=True)
U = ds.field(dtype=ds.f32, shape=(), needs_grad=True)
for n in range(N):
    x[n] = [n, 0.5 * n]"""

ENERGY = """\
%%kernel energy --loss U --wrt x
for i, j in ds.ndrange(N, N):
    r = x[i] - x[j]
    # the potential of a pair
    U[None] += -1 / r.norm(1.0)"""

STEP = """\
%%kernel step --loss U --wrt x
for i in x:
    v[i] = x[i] * 2.0
    x[i] = v[i] + 0.1
    U[None] += x[i].norm(1.0)"""

TYPE_ERROR = """\
%%kernel wrong
for i in x:
    a = "<img src=x onerror='document.title = 1'></script>"
    x[i] = a + x"""

NAN = """\
%%kernel root --loss U --wrt x
for i in x:
    a = ds.sqrt(x[i][0] - 100.0)
    U[None] += a"""


UNREACHED = """\
@ds.kernel
def above():
    for i in x:
        U[None] += 1.0 if x[i][0] > 0.0 else 0.0


with ds.Tape(U):
    above()
x.grad.to_numpy().any()"""


def cells(*sources: str) -> list:
    """Cells to run, also behind one that fails."""
    return [v4.new_code_cell(source, metadata={"tags": ["raises-exception"]}) for source in sources]


def test_a_click_below_a_warning_shows_what_its_code_means(lab):
    lab.open(*cells(SETUP, UNREACHED), kernel=True)
    lab.run_all()
    here = lab.cell(1)
    expect(here.get_by_text("GradientWarning: warning[unreached]")).to_be_visible(
        timeout=START_SECONDS * 1000
    )
    meaning = here.locator(".dsim-explained > p").first
    expect(meaning).to_be_hidden()
    here.get_by_text("What warning[unreached] means").click()
    expect(meaning).to_be_visible()
    lab.shoot("explained-warning")


def test_a_kernel_its_iterations_and_its_return_from_the_file(lab, server):
    name = lab.open(*cells(SETUP, ENERGY), kernel=True)
    lab.run_all()
    here = lab.cell(1)
    expect(here.locator(".dsim-heat")).to_have_count(2)
    r = here.locator(".dsim-eol").first
    expect(r).to_contain_text(re.compile(r"r = \(.*∂U/∂r = \("))
    expect(here.get_by_role("tab").first).to_have_text("Summary")
    # The slider looks into another iteration; the tab that a person chose stays.
    here.get_by_role("tab", name="Adjoint").click()
    before = r.text_content()
    slider = here.locator(".noUi-handle").first
    slider.focus()
    for _ in range(3):
        lab.page.keyboard.press("ArrowRight")
    expect(here.get_by_role("slider", name="iteration, i")).to_be_focused()
    expect(here.locator(".dsim-legend")).to_contain_text("i = 3")
    expect(r).not_to_have_text(before)
    expect(here.get_by_role("tab", selected=True)).to_have_text("Adjoint")
    expect(here.get_by_role("textbox", name="adjoint of energy")).to_contain_text("backward of line 5")
    lab.shoot("live")
    # Edited, it is grey; undone, it is not.
    here.locator(".cm-line").nth(2).click()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type("  # edited")
    expect(lab.page.locator(".cm-editor.dsim-stale")).to_have_count(1)
    for _ in range(3):
        lab.page.keyboard.press("Control+z")
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    # Changed and run again, it is fresh, and says something else.
    lab.page.keyboard.press("End")
    lab.page.keyboard.type(" * 2.0")
    expect(lab.page.locator(".cm-editor.dsim-stale")).to_have_count(1)
    before = r.text_content()
    lab.page.keyboard.press("Control+Enter")
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    expect(here.locator(".dsim-heat")).to_have_count(2)
    expect(r).not_to_have_text(before)
    expect(here.locator(".jp-InputPrompt")).to_have_text("[3]:")  # the sliders come last
    shown = here.locator(".dsim-eol").all_text_contents()
    lab.command("docmanager:save")
    lab.close()
    # Another page, no kernel: marks come back from the file.
    lab.page.goto(f"{server}/lab/tree/{name}?token={TOKEN}&reset")
    expect(lab.cell(1).locator(".dsim-heat")).to_have_count(2, timeout=START_SECONDS * 1000)
    assert lab.cell(1).locator(".dsim-eol").all_text_contents() == shown
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    # Its sliders live in the session that is gone: Lab says so once the new one has started.
    said = lab.cell(1).get_by_text("Run this cell to inspect other iterations with sliders.")
    expect(said).to_be_visible(timeout=START_SECONDS * 1000)
    expect(lab.cell(1)).not_to_contain_text("widget")


def test_broken_rules_type_errors_and_nans(lab):
    lab.open(*cells(SETUP, STEP, TYPE_ERROR, NAN), kernel=True)
    lab.run_all()
    rule, error, nan = (lab.cell(index).locator(".dsim-squiggle") for index in (1, 2, 3))
    expect(rule.and_(lab.page.locator(".dsim-note"))).to_have_text("x[i]")
    rule.hover()
    hover = lab.page.locator(".dsim-hover")
    expect(hover).to_contain_text("overwritten")
    expect(hover.get_by_role("listitem").filter(has_text="line 4")).to_contain_text("x[i] = v[i] + 0.1")
    expect(hover.get_by_role("listitem").filter(has_text="line 3")).to_contain_text("v[i] = x[i] * 2.0")
    expect(hover.locator(".dsim-help")).to_be_visible()
    lab.shoot("live-overwritten")
    expect(error.and_(lab.page.locator(".dsim-error")).first).to_be_visible()
    error.first.hover()
    expect(hover.locator(".dsim-level-error").first).to_be_visible()
    expect(hover).to_contain_text("<img src=x onerror=")
    outputs = lab.cell(2).locator(".jp-OutputArea-output")  # the report, the error, and what it means
    expect(outputs).to_have_count(3)
    expect(outputs.nth(1)).to_contain_text("KernelTypeError: error[type]")
    expect(outputs.nth(1)).to_contain_text("<img src=x onerror=")
    meaning = outputs.nth(2).get_by_text("A value of a type that does not fit")
    expect(meaning).to_be_hidden()
    outputs.nth(2).get_by_text("What error[type] means").click()
    expect(meaning).to_be_visible()
    expect(lab.cell(2).locator(".dsim-report")).not_to_contain_text("<img")
    expect(lab.cell(2).locator("img:not(.cm-widgetBuffer), script")).to_have_count(0)
    expect(nan.first).to_have_text("ds.sqrt(x[i][0] - 100.0)")
    nan.first.hover()
    expect(hover).to_contain_text("not finite")
    expect(lab.cell(3).locator(".dsim-eol").first).to_contain_text("a = nan")
    lab.shoot("live-errors")


KINK = """\
%%kernel corners --loss U --wrt x
for i in x:
    a = abs(x[i][0] - 3.0)
    U[None] += 2.0 * a + x[i].norm(1.0)"""


def test_kinks_have_a_squiggle_and_a_hover(lab):
    lab.open(*cells(SETUP, KINK), kernel=True)
    lab.run_all()
    kink = lab.cell(1).locator(".dsim-squiggle")
    expect(kink.first).to_be_visible()
    assert "".join(kink.and_(lab.page.locator(".dsim-note")).all_text_contents()) == "abs(x[i][0] - 3.0)"
    kink.first.hover()
    hover = lab.page.locator(".dsim-hover")
    expect(hover).to_contain_text("note[kink]")
    expect(hover).to_contain_text("is there 1 of 16 times, first at i = 3")
    expect(hover).to_contain_text("∂U/∂ of it is 2 there")
    expect(hover.locator(".dsim-help")).to_contain_text("start elsewhere, or smooth it")
    lab.shoot("live-kink")
    # Off the kink there is nothing to say.
    lab.page.keyboard.press("Escape")
    lab.cell(1).locator(".cm-line").nth(2).click()
    lab.page.keyboard.press("End")
    for _ in range(2):
        lab.page.keyboard.press("Backspace")
    lab.page.keyboard.type("5)")
    lab.page.keyboard.press("Control+Enter")
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    expect(kink).to_have_count(0)


EVIL = """\
name = "<img src=x onerror='document.title = 1'>\\x1b[31m"
evil = ds.field(dtype=ds.f32, shape=N, needs_grad=True, name=name)"""

HOSTILE_KERNEL = """\
%%kernel hostile --loss U --show adjoint
for i in evil:
    a = evil[i] + 1.0  # </script><img src=x onerror="document.title = 'broken into'">
    evil[i] = a * a  # \x1b[31m
    U[None] += evil[i]"""


def test_hostile_names_and_comments_are_text(lab):
    lab.open(*cells(SETUP, EVIL, HOSTILE_KERNEL), kernel=True)
    lab.run_all()
    here = lab.cell(2)
    expect(here.locator(".dsim-heat")).to_have_count(3)
    expect(here.get_by_role("tab", selected=True)).to_have_text("Adjoint")
    for tab in here.get_by_role("tab").all():
        tab.click()
        expect(here.get_by_role("tabpanel")).to_be_visible()
        assert here.locator("img:not(.cm-widgetBuffer), script").count() == 0
    here.get_by_role("tab", name="Tape").click()
    expect(here.locator(".dsim-calls")).to_contain_text("<img src=x onerror=")
    here.locator(".dsim-squiggle").first.hover()
    expect(lab.page.locator(".dsim-hover")).to_contain_text("</script><img src=x onerror=")
    expect(lab.page.locator(".dsim-hover img")).to_have_count(0)
    assert "\x1b" not in here.inner_text()
    assert lab.page.title().startswith("notebook")
    lab.shoot("live-hostile")


PUSH = """\
%%kernel push
for i in x:
    v[i] = 0.999 * v[i]
    x[i] += 0.001 * v[i]"""

TAPE = """\
with ds.Tape(U, profile=True) as tape:
    for t in range(9999):
        push()
    energy()
%tape tape"""


def test_a_tape_of_ten_thousand_calls(lab):
    lab.open(*cells(SETUP, PUSH, ENERGY, TAPE), kernel=True)
    lab.run_all()
    view = lab.cell(3).locator(".dsim-tape-tab")
    expect(view.locator(".dsim-totals")).to_contain_text("10,000 calls")
    rows = view.locator(".dsim-calls tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("0 – 9,998× 9,999push")
    expect(view.get_by_role("img", name="gradient norm against the step")).to_be_visible()
    expect(view.get_by_role("img", name=re.compile("^time against the step"))).to_be_visible()
    view.get_by_role("button", name="push").click()
    flashed = lab.cell(1).locator(".jp-InputArea-editor .dsim-flash")
    expect(flashed.first).to_contain_text("%%kernel push")
    expect(flashed.last).to_contain_text("x[i] += 0.001 * v[i]")
    view.scroll_into_view_if_needed()
    lab.shoot("live-tape")


def test_notebook_7(notebook7):
    notebook7.open(*cells(SETUP, ENERGY))
    notebook7.run_all()
    here = notebook7.cell(1)
    expect(here.locator(".dsim-heat")).to_have_count(2)
    r = here.locator(".dsim-eol").first
    before = r.text_content()
    here.locator(".noUi-handle").first.focus()
    notebook7.page.keyboard.press("ArrowRight")
    expect(r).not_to_have_text(before)
    notebook7.shoot("live-notebook7")
