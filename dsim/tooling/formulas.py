r"""Renders LaTeX formulas in a notebook's text with matplotlib as SVG, which needs no network.

matplotlib supports a subset of LaTeX's mathematics. Other formulas are kept as text, for MathJax.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

from dsim.tooling.extras import require

# Matches code too, so that a dollar sign in code does not start a formula.
_PARTS = re.compile(
    r"(?P<code>(?P<ticks>`+).+?(?P=ticks))"
    r"|\$\$(?P<block>.+?)\$\$"
    r"|(?<![\\$])\$(?P<inline>[^\s$](?:[^$`]*[^\s$])?)\$(?![\d$])",
    re.DOTALL,
)
_UNITS = 160  # per em; coordinates are whole units
_EM = 1.15  # relative to the surrounding text; Computer Modern's letters are small
_MARGIN = 6
_LETTERS = {1: "M", 2: "L", 3: "Q", 4: "C"}  # SVG's commands by matplotlib's path codes
_CLOSE = 79


def drawn(markdown: str, place: Callable[[str], str] = str) -> str:
    r"""The text with its formulas replaced by SVG, where matplotlib can draw them.

    Parameters
    ----------
    markdown : str
        The text of a cell.
    place : callable, optional
        What stands in the text for an SVG; by default the SVG itself.

    Examples
    --------
    >>> drawn("costs $5")
    'costs $5'
    >>> drawn("force $F = m a$")[:34]
    'force <svg role="img" aria-label="'
    """
    return _PARTS.sub(lambda found: _replaced(found, place), markdown)


def _replaced(found: re.Match[str], place: Callable[[str], str]) -> str:
    latex = found["block"] or found["inline"]
    picture = None if latex is None else svg(latex)
    if picture is None:
        return found[0]
    if found["block"]:
        picture = f'<span style="display: block; text-align: center">{picture}</span>'
    return place(picture)


def svg(latex: str) -> str | None:
    """One formula as an SVG element, in the colour of the surrounding text; None if it cannot be drawn."""
    purpose = "to draw formulas"
    fonts = require("matplotlib.font_manager", extra="lab", purpose=purpose)
    paths = require("matplotlib.textpath", extra="lab", purpose=purpose).TextToPath()
    text = "$" + " ".join(latex.split()) + "$"
    font = fonts.FontProperties(size=_UNITS, math_fontfamily="cm")
    try:
        width, height, depth = paths.get_text_width_height_descent(text, font, ismath=True)
        vertices, codes = paths.get_text_path(font, text, ismath=True)
    except ValueError:
        return None
    left, top = -_MARGIN, depth - height - _MARGIN
    width, height = width + 2 * _MARGIN, height + 2 * _MARGIN
    place = f"vertical-align: {_em(-depth - _MARGIN)}; overflow: visible"
    size = f"width: {_em(width)}; height: {_em(height)}; {place}"
    outline = _path(vertices, codes, _UNITS / paths.FONT_SCALE)
    return (
        f'<svg role="img" aria-label="{html.escape(text[1:-1])}" style="{size}" fill="currentColor" '
        f'viewBox="{left} {top:.0f} {width:.0f} {height:.0f}"><path d="{outline}"/></svg>'
    )


def _em(units: float) -> str:
    return f"{_EM * units / _UNITS:.3f}em"


def _path(vertices: Any, codes: Any, scale: float) -> str:
    """The outline as an SVG path; in SVG, y points down."""
    words: list[str] = []
    before = None
    for (x, y), code in zip(vertices, codes, strict=True):
        if code == _CLOSE:
            words.append("Z")
            before = None
            continue
        # matplotlib repeats a curve's code at each of its points; SVG has one letter before the first.
        if code in (1, 2) or code != before:
            words.append(_LETTERS[int(code)])
        words.append(f"{scale * x:.0f} {-scale * y:.0f}")
        before = code
    return " ".join(words)
