"""Formulas in the text of a page, rendered as SVG."""

import re
import xml.etree.ElementTree as ET

import pytest

from dsim.tooling.formulas import drawn, svg


def shape(latex):
    """Width, height and depth below the line of a formula, in em."""
    style = ET.fromstring(svg(latex)).get("style")
    width, height, align = (float(n) for n in re.findall(r"(-?[\d.]+)em", style))
    return width, height, -align


def test_a_picture_is_told_in_words_and_has_the_colour_of_the_text():
    picture = ET.fromstring(svg("a < b"))
    assert picture.get("aria-label") == "a < b"
    assert picture.get("fill") == "currentColor"
    (path,) = picture
    assert re.fullmatch(r"[MLQCZ\d\s-]+", path.get("d"))


def test_every_part_of_a_path_has_its_points():
    (path,) = ET.fromstring(svg(r"\sqrt{x^2} + \int_0^1 f"))
    for letter, numbers in re.findall(r"([MLQC])([-\d ]*)", path.get("d")):
        per_part = {"M": 2, "L": 2, "Q": 4, "C": 6}[letter]
        assert len(numbers.split()) % per_part == 0
    assert {"M", "L", "Z"} < set(path.get("d"))


@pytest.mark.parametrize("latex", ["(128,190)", r"\dfrac{a}{b}", "M"])
def test_the_outline_fills_the_picture(latex):
    picture = ET.fromstring(svg(latex))
    left, top, width, height = map(float, picture.get("viewBox").split())
    points = [float(n) for n in re.findall(r"-?[\d.]+", picture[0].get("d"))]
    for low, size, found in ((left, width, points[::2]), (top, height, points[1::2])):
        # A slanted letter may lean out of its place a little.
        assert low - 0.05 * size <= min(found) < low + 0.2 * size
        assert low + 0.8 * size < max(found) <= low + 1.05 * size


def test_sizes():
    x, xx, fraction, deep = shape("x"), shape("xx"), shape(r"\dfrac{x}{x}"), shape("x_y")
    assert xx[0] > 1.6 * x[0]
    assert fraction[1] > 2 * x[1]
    assert deep[2] > x[2] + 0.1


@pytest.mark.parametrize(
    "text",
    [
        "costs $5 or $6",
        "a `$x$` of code",
        "```\n$x$\n```",
        r"\$x$",
        "$ x $",
        r"$\begin{matrix} a \end{matrix}$",
        "$$no } brace$$",
    ],
)
def test_what_is_no_formula_or_cannot_be_drawn_stays(text):
    assert drawn(text) == text


def test_text_around_formulas_stays():
    text = drawn("before $x$, `$code$` and\n\n$$y$$\n\nafter")
    assert re.sub(r"<svg.*?</svg>", "#", text) == (
        'before #, `$code$` and\n\n<span style="display: block; text-align: center">#</span>\n\nafter'
    )
