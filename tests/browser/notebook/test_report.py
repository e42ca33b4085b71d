"""The report drawn under a cell."""

import shutil

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.reports import (
    GRAVITY,
    HOSTILE,
    MIME,
    OVERWRITING,
    broken,
    diagnostic,
    gravity,
    listing,
    report,
    row,
    simulation,
)
from tests.browser.server import CHECKOUT, START_SECONDS
from tests.browser.views import cell


def test_summary(lab):
    lab.open(cell(GRAVITY, gravity()))
    drawn = lab.cell(0).get_by_role("region", name="Report on energy")
    expect(drawn.locator(".dsim-headline")).to_have_text("energy: reads x, accumulates into U; nothing saved")
    row = drawn.get_by_role("row").filter(has_text="accumulates")
    expect(row.get_by_role("rowheader")).to_have_text("accumulates")
    expect(row.get_by_role("cell")).to_have_text("U")
    expect(drawn).to_contain_text(
        "100 ms in all: compiled in 31 ms · launch 12 µs · gradient 21 µs · values and heat of lines 50 ms"
        " · everything else 19 ms"
    )
    expect(drawn.locator(".dsim-legend")).to_contain_text("how U reacts to a line: 0.05")
    expect(drawn.locator(".dsim-legend")).to_contain_text("values at i = 3, j = 0")
    drawn.get_by_text("Line by line").click()
    row = drawn.get_by_role("row").filter(has_text="line 4")
    expect(row).to_contain_text("d = 0.418   ∂U/∂d = 5.73")
    expect(row.get_by_role("cell").last).to_have_text("3.2")


def test_tabs_by_keyboard(lab):
    lab.open(cell(GRAVITY, gravity()))
    tabs = lab.cell(0).get_by_role("tab")
    expect(tabs).to_have_text(["Summary", "Tape", "Adjoint", "IR"])
    tabs.first.focus()
    for key, name in [
        ("ArrowRight", "Tape"),
        ("End", "IR"),
        ("ArrowRight", "Summary"),
        ("ArrowLeft", "IR"),
        ("Home", "Summary"),
    ]:
        lab.page.keyboard.press(key)
        selected = lab.cell(0).get_by_role("tab", selected=True)
        expect(selected).to_have_text(name)
        expect(selected).to_be_focused()
        expect(lab.cell(0).get_by_role("tabpanel")).to_have_count(1)
        expect(lab.cell(0).get_by_role("tabpanel", name=name)).to_be_visible()
    lab.page.keyboard.press("Enter")
    expect(lab.page.locator(".jp-StatusBar-Widget"), "Enter was not the notebook's").to_contain_text(
        "Mode: Command"
    )
    expect(tabs.first).to_be_focused()
    outline = tabs.first.evaluate("each => getComputedStyle(each).outlineStyle")
    assert outline == "solid", "the focus is seen"


@pytest.mark.parametrize("name", ["summary", "tape", "adjoint", "ir"])
def test_the_report_says_which_tab_is_open(lab, name):
    lab.open(cell(GRAVITY, {**gravity(), "open": name}))
    expect(lab.cell(0).get_by_role("tab", selected=True)).to_have_attribute("data-tab", name)


def test_a_line_of_a_listing_leads_to_the_cell(lab):
    lab.open(cell(GRAVITY, {**gravity(), "open": "adjoint"}))
    editor = lab.cell(0).locator(".jp-InputArea-editor")
    listing = lab.cell(0).get_by_role("textbox", name="adjoint of energy")
    line = listing.get_by_text("d_bar = U_bar[()]")
    line.hover()
    expect(editor.locator(".dsim-linked")).to_contain_text("U[None] += -1 / d")
    lab.shoot("listing")
    line.click()
    expect(editor.locator(".dsim-flash")).to_contain_text("U[None] += -1 / d")
    expect(editor.locator(".cm-content")).to_be_focused()
    lab.cell(0).get_by_text("r_y = x[i, 1]").hover()
    expect(editor.locator(".dsim-linked")).to_contain_text("r = x[i] - x[j]")
    # By keyboard: the cursor in the listing, and Enter.
    listing.focus()
    lab.page.keyboard.press("Control+Home")
    for _ in range(7):
        lab.page.keyboard.press("ArrowDown")
    lab.page.keyboard.press("Enter")
    expect(editor.locator(".dsim-flash")).to_contain_text("d = r.norm(1e-3)")
    expect(editor.locator(".cm-content")).to_be_focused()


def test_a_listing_of_a_kernel_of_another_cell_leads_there(lab):
    func = "@ds.func\ndef f(a):\n    return a * a"
    there = [
        {"name": "cell In[2]", "here": False, "lines": [{"line": 3, "text": "    r = x[i] - x[j]"}]},
        {"name": "cell In[1]", "here": False, "lines": [{"line": 3, "text": "    return a * a"}]},
        {"name": "gone.py", "here": False, "lines": [{"line": 3, "text": "    return b"}]},
    ]
    asked = listing("adjoint", "python", "def energy():\n    r = 1\n    s = 2\n    t = 3", [None, 3, 3, 3])
    asked["origins"] = [None, 0, 1, 2]
    note = diagnostic(
        "note", "x", "something", 3, 8, 12, "    return a * a", origin=1, label="here", related=[]
    )
    shown = report(None, kind="check", open="adjoint", origins=there, listings=[asked], diagnostics=[note])
    lab.open(
        cell(func), cell("x = 1\ny = 2\nz = 3"), cell(GRAVITY, gravity()), cell("%adjoint energy", shown)
    )
    margin = lab.cell(3).locator(".dsim-origin .cm-gutterElement span")
    expect(margin).to_have_text(["3", "In[1]:3", "gone.py:3"])
    expect(margin.nth(1)).to_have_attribute("title", "return a * a")
    expect(lab.cell(3).locator(".dsim-hint").first).to_contain_text("On the left, lines of cell In[2]")
    lab.cell(3).get_by_text("r = 1").hover()
    expect(lab.cell(2).locator(".dsim-linked")).to_contain_text("r = x[i] - x[j]")
    lab.cell(3).get_by_text("s = 2").hover()
    expect(lab.cell(0).locator(".dsim-linked")).to_contain_text("return a * a")
    expect(lab.page.locator(".dsim-linked")).to_have_count(1)
    lab.cell(3).get_by_text("t = 3").click()
    expect(lab.page.locator(".dsim-linked, .dsim-flash")).to_have_count(0)
    lab.cell(3).get_by_text("s = 2").click()
    expect(lab.cell(0).locator(".dsim-flash")).to_contain_text("return a * a")
    lab.cell(3).get_by_role("button", name="cell In[1], line 3").click()
    expect(lab.cell(0).locator(".dsim-flash")).to_contain_text("return a * a")
    # The lines have moved from the report's places, and cannot be located.
    lab.cell(0).locator(".cm-line").first.click()
    lab.page.keyboard.press("Home")
    lab.page.keyboard.type("# more\n")
    lab.cell(3).get_by_text("s = 2").click()
    expect(lab.page.locator(".dsim-flash")).to_have_count(0)


def test_each_kernel_of_a_cell_has_its_rows_and_listings(lab):
    two = report(
        "%%kernel\ndef one():\n    x[0] = 1\ndef two():\n    x[1] = 2",
        kernel="two",
        summary={
            "text": "one: stores x; two: stores y",
            "rows": [row("stores", "x", "one"), row("stores", "y", "two")],
        },
        listings=[
            listing(name, "python", f"def {kernel}():\n    {name}", [None, line], kernel)
            for kernel, line in (("one", 3), ("two", 5))
            for name in ("adjoint", "python")
        ],
    )
    lab.open(cell(two["source"], two))
    tabs = lab.cell(0).get_by_role("tab")
    expect(tabs).to_have_text(["Summary", "Adjoint", "Python"])
    for kernel, field in (("one", "x"), ("two", "y")):
        table = lab.cell(0).get_by_role("table", name=f"Summary of {kernel}")
        expect(table.get_by_role("row").nth(1)).to_have_text(f"stores{field}")
    expect(lab.cell(0).get_by_text("compiled in")).to_have_count(1)
    tabs.nth(1).click()
    expect(lab.cell(0).locator(".dsim-kernel:visible")).to_have_text(["one", "two"])
    expect(lab.cell(0).get_by_role("textbox", name="adjoint of one")).to_contain_text("def one")
    lab.cell(0).get_by_role("textbox", name="adjoint of two").get_by_text("adjoint").click()
    expect(lab.cell(0).locator(".dsim-flash")).to_contain_text("x[1] = 2")


def test_a_cell_that_failed_leads_to_its_lines_and_leaves_the_rest_to_its_error(lab):
    lab.open(cell(OVERWRITING, broken()))
    drawn = lab.cell(0).locator(".dsim-report")
    expect(drawn).to_contain_text("not compiled: the names that this cell defines are unchanged")
    expect(drawn).not_to_contain_text("`undefined` is not defined")
    expect(drawn.get_by_role("button")).to_have_text(["line 6", "line 5", "line 4"])
    drawn.get_by_role("button", name="line 6").click()
    expect(lab.cell(0).locator(".dsim-flash")).to_contain_text("undefined")


def test_diagnostics_lead_to_their_lines(lab):
    lab.open(cell(OVERWRITING, {**broken(), "kind": "check"}))
    listed = lab.cell(0).get_by_role("list", name="Diagnostics").locator(":scope > li")
    expect(listed).to_have_count(3)
    expect(listed.nth(0)).to_contain_text("✖error[name]`undefined` is not defined")
    expect(listed.nth(2)).to_contain_text("▲warning[serial]")
    listed.nth(0).get_by_role("button", name="line 6").click()
    editor = lab.cell(0).locator(".jp-InputArea-editor")
    expect(editor.locator(".dsim-flash")).to_contain_text("undefined")
    expect(editor.locator(".cm-content")).to_be_focused()
    expect(lab.page.locator(".jp-StatusBar-Widget")).to_contain_text("Ln 6, Col 1")
    listed.nth(1).get_by_role("button", name="line 4").focus()
    lab.page.keyboard.press("Enter")
    expect(editor.locator(".dsim-flash")).to_contain_text("x[i] * 2.0")


MEANING = {
    "level": "error",
    "code": "name",
    "parts": [
        {"block": False, "text": "There is <b>no</b> such name."},
        {"block": True, "text": "x = nix\ny = 1"},
    ],
}


def test_a_click_on_a_message_shows_what_its_code_means(lab):
    address = "https://docs.example.org/errors.html#name"
    explained = {**broken(), "kind": "check", "explanations": [{**MEANING, "address": address}]}
    lab.open(cell(OVERWRITING, explained))
    listed = lab.cell(0).get_by_role("list", name="Diagnostics").locator(":scope > li")
    meaning = listed.nth(0).get_by_text("There is <b>no</b> such name.")
    expect(meaning).to_be_hidden()
    listed.nth(0).get_by_text("error[name]").click()
    expect(meaning).to_be_visible()
    expect(listed.nth(0).locator("pre")).to_have_text("x = nix\ny = 1")
    expect(listed.nth(0).get_by_role("link")).to_have_attribute("href", address)
    lab.shoot("explained")
    expect(listed.nth(2).locator("details")).to_have_count(0)  # a code that the report does not explain


def test_the_same_in_the_hover(lab):
    lab.open(cell(OVERWRITING, {**broken(), "explanations": [MEANING]}))
    lab.cell(0).locator(".dsim-squiggle").last.hover()
    lab.page.locator(".dsim-hover").get_by_text("error[name]").click()
    expect(lab.page.locator(".dsim-hover").get_by_text("There is <b>no</b> such name.")).to_be_visible()


def test_only_addresses_of_the_web_are_links(lab):
    explained = {**broken(), "kind": "check", "explanations": [{**MEANING, "address": "javascript:alert(1)"}]}
    lab.open(cell(OVERWRITING, explained))
    lab.cell(0).get_by_text("error[name]").click()
    expect(lab.cell(0).get_by_text("There is <b>no</b> such name.")).to_be_visible()
    expect(lab.cell(0).locator(".dsim-diagnostic a")).to_have_count(0)


def test_lines_are_found_after_an_edit(lab):
    lab.open(cell(OVERWRITING, broken()))
    expect(lab.cell(0).locator(".dsim-squiggle")).to_have_count(3)
    lab.cell(0).locator(".cm-line").nth(1).click()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type("\npass")
    lab.cell(0).get_by_role("button", name="line 6").click()
    expect(lab.page.locator(".jp-StatusBar-Widget")).to_contain_text("Ln 7, Col 1")


def test_a_line_whose_code_is_hidden_is_shown(lab):
    lab.open(cell(OVERWRITING, broken()))
    expect(lab.cell(0).locator(".dsim-squiggle")).to_have_count(3)
    lab.cell(0).locator(".jp-InputPrompt").click()
    lab.command("notebook:hide-cell-code")
    editor = lab.cell(0).locator(".jp-InputArea-editor")
    expect(editor).to_be_hidden()
    lab.cell(0).get_by_role("button", name="line 6").click()
    expect(editor.locator(".dsim-flash")).to_contain_text("y[i] = undefined")
    expect(editor).to_be_visible()


def test_a_line_that_is_gone_says_so(lab):
    lab.open(cell(OVERWRITING, broken()))
    expect(lab.cell(0).get_by_text("F8 in the cell goes from one to the next.")).to_be_visible()
    lab.cell(0).locator(".cm-line").nth(5).click()
    lab.page.keyboard.press("Control+Shift+k")
    lab.cell(0).get_by_role("button", name="line 6").click()
    said = lab.cell(0).get_by_role("status").filter(has_text="no cell here any more with this line 6.")
    expect(said).to_be_visible()
    expect(lab.cell(0).locator(".dsim-flash")).to_have_count(0)


@pytest.mark.parametrize(
    "data",
    [{"of": "the future"}, {**gravity(), "version": 3}, {**gravity(), "diagnostics": [{"line": 1}]}, {}],
)
def test_what_cannot_be_drawn_is_plain_text(lab, data):
    lab.open(cell(GRAVITY, data))
    expect(lab.cell(0).locator(".dsim-report")).to_have_text("the plain form")
    expect(lab.cell(0).locator(".dsim-heat, .dsim-stale")).to_have_count(0)


def test_hostile_text_is_text(lab):
    hostile = report(
        summary={"text": HOSTILE, "rows": [row(HOSTILE, HOSTILE, HOSTILE)]},
        kernel=HOSTILE,
        listings=[listing("adjoint", HOSTILE, HOSTILE, [1], HOSTILE)],
        tape={**simulation()["tape"], "loss": HOSTILE, "nonfinite": None},
    )
    for call in hostile["tape"]["groups"][1]["calls"]:
        call.update(kernel=HOSTILE, reads=[HOSTILE], stores=[HOSTILE])
    lab.open(cell(GRAVITY, hostile))
    drawn = lab.cell(0).locator(".dsim-report")
    shown = HOSTILE.replace("\x1b", "␛").replace("\u202e", "\ufffd")
    for tab in ("Summary", "Tape", "Adjoint"):
        lab.cell(0).get_by_role("tab", name=tab).click()
        expect(lab.cell(0).get_by_role("tabpanel")).to_contain_text(shown[:40])
    expect(drawn.locator("img:not(.cm-widgetBuffer), script")).to_have_count(0)
    assert "broken into" not in lab.page.title()


# Of each kind of word that the editor colours, at least one.
ALL_COLOURS = """\
%%kernel colours --loss U
@ds.func
def square(a: ds.f32) -> ds.f32:  # a comment
    if a is not None and True:
        return ds.sqrt(abs(a[0])) + 1.5e3 - "text" % a.b
    class A: pass
    lambda q: {1: [2, (3)]}"""

RATIO = """element => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d');
    const channels = colour => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return canvas.getImageData(0, 0, 1, 1).data;
    };
    // Paint the backgrounds from the outside to the inside, then the text.
    const around = [];
    for (let each = element; each; each = each.parentElement) { around.unshift(each); }
    let ground;
    for (const each of around) { ground = channels(getComputedStyle(each).backgroundColor); }
    ground = Array.from(ground);
    const ink = channels(getComputedStyle(element).color);
    const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255)
        .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const [low, high] = [luminance(ground), luminance(ink)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_themes(lab, theme):
    lab.theme(theme)
    hot = [{"line": line, "adjoint": 1.0, "level": 1} for line in range(1, 8)]
    heat = {"loss": "U", "low": 1, "high": 2, "lines": hot}
    lab.open(
        cell(GRAVITY, gravity()),
        cell(OVERWRITING, broken()),
        cell("ds.tape", simulation()),
        cell(ALL_COLOURS, report(ALL_COLOURS, heat=heat)),
    )
    expect(lab.cell(0).locator(".dsim-heat")).to_have_count(3)
    expect(lab.cell(3).locator(".dsim-heat")).to_have_count(7)
    expect(lab.cell(3).locator(".cm-line span").nth(20)).to_be_attached()  # coloured
    expect(lab.cell(1).locator(".dsim-squiggle")).to_have_count(3)
    name = theme.rpartition(" ")[2].lower()
    lab.shoot(f"report-{name}")
    for what in (
        ".dsim-eol",
        ".dsim-headline",
        ".dsim-message",
        ".dsim-link",
        ".dsim-tablist [role=tab]",
        ".cm-line.dsim-heat",
        ".cm-line.dsim-heat span",
    ):
        for element in lab.page.locator(f".jp-Notebook:visible {what}").all():
            assert element.evaluate(RATIO) > 4.5, f"{what} is hard to read: {element.text_content()}"
    lab.cell(2).locator(".dsim-calls").scroll_into_view_if_needed()
    lab.shoot(f"tape-{name}")


def expect_heat(cell, lines):
    """So many lines of a cell are marked as hot.

    An editor draws the lines that are in sight and some around: the middle of a long one has to be there. The
    cells above may still grow, and move it out of sight again.
    """
    editor, heat = cell.locator(".jp-InputArea .cm-editor"), cell.locator(".dsim-heat")
    for _ in range(50):
        editor.evaluate("editor => editor.scrollIntoView({ block: 'center' })")
        if heat.count() == lines:
            break
        cell.page.wait_for_timeout(200)
    expect(heat).to_have_count(lines)


def test_the_notebooks_that_come_with_dsim(lab):
    """As they are committed: with marks, none of them stale, and with nothing to fall back from."""
    for notebook in sorted((CHECKOUT / "notebooks").glob("*.ipynb")):
        shutil.copy(notebook, lab.folder)
        outputs = [output for each in nbformat.read(notebook, 4).cells for output in each.get("outputs", [])]
        reports = [output.data[MIME] for output in outputs if MIME in output.get("data", {})]
        lab.open_file(notebook.name)
        headlines = lab.page.locator(".jp-Notebook:visible .dsim-headline")
        expect(headlines).to_have_count(len(reports), timeout=START_SECONDS * 1000)
        reported = lab.page.locator(".jp-Notebook:visible .jp-CodeCell:has(.dsim-headline)")
        for number, each in enumerate(reports):
            hot = len(each["heat"]["lines"]) if each["heat"] else 0
            expect_heat(reported.nth(number), hot)
        expect(lab.page.locator(".dsim-stale")).to_have_count(0)
        lab.close()
