"""The pages of `dsim run`: there a report is HTML, among the rules of nbconvert for tables and code."""

import os
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
