"""A view as one file: the page's module, the scene and the frames, without a kernel and without a network."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

from dsim.diagnostics import Diagnostic
from dsim.live.files.embedding import Embedded, embedded
from dsim.live.scene.scene import ViewFrame
from dsim.live.widget import page_module, page_style
from dsim.runtime.state.notices import warn

# No network: not for pictures, styles, scripts, nor for what a script would fetch.
_ALLOWED = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

_ALONE = """
:root { color-scheme: light dark; }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
#dsim-view .dsim-view-title { display: none; }
"""
# Pages of notebooks are light, whatever the system prefers: `data-jp-theme-light` turns the dark colours off.
_FRAMED = """
:root { color-scheme: light; }
body { margin: 0; font: 13px/1.4 system-ui, sans-serif; }
p { margin: 0 4px; }
.dsim-view-title { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
"""
# Pixels. No script of the page around it can ask the frame for its height, so it is computed.
_TALLEST = 480  # the picture, as in `page/picture.js`
_AROUND = 100  # for title, text and player
_ROW, _LETTER = 24, 7  # a line of text, and what is in it
_BAR, _SWATCH = 220, 40  # what an entry of the legend has beside its name
_WIDE, _NARROW = 640, 320  # of the frame
_CHART = 176 / 640  # the height of a chart as a multiple of its width, as in `page/playing/norm_chart.js`

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{allowed}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body{light}>
<main>
{heading}{note}<div id="dsim-view"></div>
<noscript>This page plays a recording by JavaScript, which is off.</noscript>
</main>
<script type="application/json" id="dsim-recording">{recording}</script>
<script type="module">
{module}
</script>
</body>
</html>
"""


def page(scene: dict[str, Any], frames: Sequence[ViewFrame], budget: int) -> str:
    """The page as HTML; warns of frames that the budget had no room for.

    Parameters
    ----------
    scene : dict
        What a page is told once.
    frames : sequence of ViewFrame
        The recording, at least one frame.
    budget : int
        How many bytes the frames may take.
    """
    found = embedded(frames, budget)
    if found.left_out:
        message = f"the page has {found.note}: all take more than the {budget:,} bytes that it has for them"
        warn([Diagnostic("thinned", message, help="pass a larger `budget=` to `save`")])
    return _document(scene, found, alone=True)


def player(scene: dict[str, Any], found: Embedded) -> str:
    """The same as an element of another page; neither of the two can reach into the other."""
    looks = f"border: 0; color-scheme: light; width: 100%; height: calc({_height(scene, found)})"
    title, document = escape(scene["title"]), escape(_document(scene, found, alone=False))
    frame = f'<iframe title="{title}" sandbox="allow-scripts" style="{looks}" srcdoc="{document}"></iframe>'
    return f'<div style="container-type: inline-size">{frame}</div>'


def unplayed(title: str, picture: str, why: str) -> str:
    """A PNG, in base64, in the place of a player."""
    image = f'<img alt="{escape(title)}" src="data:image/png;base64,{picture}">'
    return f"<figure>{image}<figcaption>Without its frames: {escape(why)}.</figcaption></figure>"


def _aspect(scene: dict[str, Any]) -> float:
    """The width of the picture as a multiple of its height, as in `page/picture.js`."""
    if scene["dimensions"] == 3:
        return 4 / 3
    across, upwards = (high - low for low, high in scene["bounds"])
    return min(max(across / upwards, 0.5), 3.0)


def _height(scene: dict[str, Any], found: Embedded) -> str:
    """The height of a frame, in CSS: picture, chart and lines, of which a narrow frame has more."""
    layers, chart = scene["layers"], scene.get("chart")
    legend = layers if len(layers) > 1 else [layer for layer in layers if layer["map"]]
    named = sum(_LETTER * len(layer["label"]) + (_BAR if layer["map"] else _SWATCH) for layer in legend)
    lengths = [named, _LETTER * len(found.note), _LETTER * len(chart["told"]) if chart else 0]
    lines = _AROUND + _ROW * sum(math.ceil(length / _WIDE) for length in lengths)
    # The number of lines is convex in the width: a straight line from wide to narrow is above it.
    more = _ROW * (sum(lengths) + _WIDE / 2) / _WIDE / (_WIDE - _NARROW)
    parts = [
        f"min({_TALLEST}px, 100cqw / {_aspect(scene):.4f})",
        f"{lines}px",
        f"max(0px, {_WIDE}px - 100cqw) * {more:.4f}",
        *([f"min({_WIDE}px, 100cqw) * {_CHART:.4f}"] if chart else []),
    ]
    return " + ".join(parts)


def _document(scene: dict[str, Any], found: Embedded, *, alone: bool) -> str:
    title = escape(scene["title"])
    recording = f'{{"scene":{json.dumps(scene)},"frames":[{",".join(found.frames)}]}}'
    return _PAGE.format(
        allowed=escape(_ALLOWED),
        title=title,
        light="" if alone else ' data-jp-theme-light="true"',
        style=page_style() + (_ALONE if alone else _FRAMED),
        heading=f"<h1>{title}</h1>\n" if alone else "",
        note=f"<p>This page has {escape(found.note)}.</p>\n" if found.note else "",
        recording=in_script(recording),
        module=page_module("standalone.js"),
    )


def in_script(text: str) -> str:
    """JSON that ends no script: `<` as an escape, which stands in its strings alone."""
    return text.replace("<", "\\u003c")
