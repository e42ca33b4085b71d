"""The pages of `dsim run`, where a report is HTML under nbconvert's style sheet for tables and code."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbformat import v4
from playwright.sync_api import Browser, expect

from tests.browser.server import CHECKOUT

FIELDS = """\
import dsim as ds
%load_ext dsim
x = ds.field(ds.f64, shape=3, needs_grad=True)
loss = ds.field(ds.f64, shape=(), needs_grad=True)
x.fill(2.0)"""
KERNEL = """\
%%kernel squares --loss loss --wrt x --probe 1
for i in x:
    a_name_so_long_that_the_line_would_wrap_if_it_could = x[i] ** 2
    loss[None] += a_name_so_long_that_the_line_would_wrap_if_it_could
    x[i] = 0.0"""
LINES = len(KERNEL.splitlines())


@pytest.fixture(scope="module")
def listing(browser: Browser, tmp_path_factory):
    """The rows of the listing of a report in a page."""
    folder = tmp_path_factory.mktemp("pages")
    cells = [v4.new_code_cell(FIELDS), v4.new_code_cell(KERNEL)]
    nbformat.write(v4.new_notebook(cells=cells), folder / "squares.ipynb")
    command = [sys.executable, "-m", "dsim", "run", "squares.ipynb", "--output", "."]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    page = browser.new_page(viewport={"width": 800, "height": 800})
    page.goto((folder / "squares.html").as_uri())
    yield page.locator(".dsim-page table:has(.dsim-end) tr:has(> .dsim-code)")
    page.close()


def test_code_is_aligned_left_on_one_line_each(listing):
    expect(listing).to_have_count(LINES)
    code = listing.locator("td.dsim-code > pre")
    edges = {round(code.nth(k).bounding_box()["x"]) for k in range(LINES)}
    assert len(edges) == 1, "all lines begin at the same column"
    assert len({round(code.nth(k).bounding_box()["height"]) for k in range(LINES)}) == 1
    for css, value in (
        ("white-space", "pre"),
        ("background-color", "rgba(0, 0, 0, 0)"),
        ("padding-left", "0px"),
    ):
        expect(code.nth(2)).to_have_css(css, value)


def test_a_line_with_a_diagnostic_keeps_its_indentation(listing):
    assert listing.nth(LINES - 1).locator("pre").text_content() == "    x[i] = 0.0"


def test_a_line_that_begins_with_what_is_underlined_is_drawn_behind_its_indentation(listing):
    begin = "e => { const range = document.createRange(); range.selectNodeContents(e); return range; }"
    underlined = listing.nth(LINES - 1).locator(".dsim-under")
    edge = listing.nth(LINES - 1).locator("pre").evaluate(f"e => ({begin})(e).getBoundingClientRect().left")
    letter = underlined.evaluate("e => e.getBoundingClientRect().width / e.textContent.length")
    assert underlined.evaluate("e => e.getBoundingClientRect().left") == pytest.approx(
        edge + 4 * letter, abs=1
    )


def test_without_the_styles_of_a_report_its_code_is_still_aligned_left(listing):
    """As in a notebook that nobody has trusted yet, and in front ends that let no page bring styles along."""
    page = listing.page
    page.evaluate("document.querySelectorAll('.dsim-page style').forEach(each => each.disabled = true)")
    try:
        page.add_style_tag(content="td { text-align: right }")
        for k in range(LINES):
            expect(listing.nth(k).locator("td.dsim-code")).to_have_css("text-align", "left")
        code = listing.locator("td.dsim-code > pre")
        expect(code.nth(LINES - 1)).to_have_css("white-space", re.compile("^pre"))
    finally:
        page.evaluate("document.querySelectorAll('.dsim-page style').forEach(each => each.disabled = false)")
        page.evaluate("document.head.lastElementChild.remove()")


def test_only_heat_colours_a_row(listing):
    for k in range(LINES):
        expect(listing.nth(k)).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    cold, hot = listing.nth(1).locator(".dsim-code"), listing.nth(2).locator(".dsim-code")
    expect(cold).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    assert hot.evaluate("e => getComputedStyle(e).backgroundColor").startswith("rgba(255, 99, 20")


def test_numbers_of_lines_stand_right_and_ends_of_lines_apart(listing):
    expect(listing.nth(2).locator(".dsim-number")).to_have_css("text-align", "right")
    end = listing.nth(2).locator(".dsim-end")
    name = "a_name_so_long_that_the_line_would_wrap_if_it_could"
    assert end.text_content() == "a_name_so_long_that_the… = 4   ∂loss/∂… = 1"
    expect(end).to_have_attribute("title", f"{name} = 4   ∂loss/∂{name} = 1")
    expect(end).to_have_css("text-align", "left")
    assert end.evaluate("e => parseFloat(getComputedStyle(e).paddingLeft)") > 6


# The least contrast of text with what is behind it, by WCAG: colours as they come out when they are painted.
CONTRAST = """() => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
    const context = canvas.getContext('2d', { willReadFrequently: true });
    const linear = v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const paint = color => {
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
        const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
        return 0.2126 * linear(red / 255) + 0.7152 * linear(green / 255) + 0.0722 * linear(blue / 255);
    };
    const written = [...document.querySelectorAll('.dsim-page :not(style):not(svg *)')].filter(element =>
        [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.textContent.trim())
    );
    return written.map(element => {
        let behind = paint('white');
        const around = [];
        for (let at = element; at !== null; at = at.parentElement) around.unshift(at);
        for (const at of around) behind = paint(getComputedStyle(at).backgroundColor);
        const front = paint(getComputedStyle(element).color);
        return (Math.max(front, behind) + 0.05) / (Math.min(front, behind) + 0.05);
    });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("back", "text"), [("#ffffff", "#1b1b1b"), ("#1e1e1e", "#d4d4d4")])
def test_a_report_is_read_on_light_and_dark_pages_whatever_the_system_prefers(
    browser, listing, scheme, back, text
):
    report = listing.page.locator(".dsim-page").first.evaluate("report => report.outerHTML")
    page = browser.new_page(color_scheme=scheme)
    page.set_content(f"<body style='background: {back}; color: {text}'>{report}</body>")
    found = page.evaluate(CONTRAST)
    page.close()
    assert len(found) > 20
    assert min(found) >= 4.5
