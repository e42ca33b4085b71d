"""A view as one file: the page's module, the scene and the frames, without a kernel and without a network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from dsim.diagnostics import Diagnostic
from dsim.live.embedding import embedded
from dsim.live.scene import ViewFrame
from dsim.live.widget import page_module, page_style
from dsim.runtime.state.notices import warn

# No network: not for pictures, styles, scripts, nor for what a script would fetch.
_ALLOWED = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{allowed}">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
{style}
#dsim-view .dsim-view-title {{ display: none; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{note}<div id="dsim-view"></div>
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
        message = f"the page has {found.note}: all take more than its budget of {budget:,} bytes"
        warn([Diagnostic("thinned", message, help="pass a larger `budget=` to `save`")])
    recording = f'{{"scene":{json.dumps(scene)},"frames":[{",".join(found.frames)}]}}'
    return _PAGE.format(
        allowed=escape(_ALLOWED),
        title=escape(scene["title"]),
        style=page_style(),
        note=f"<p>This page has {escape(found.note)}.</p>\n" if found.note else "",
        recording=in_script(recording),
        module=page_module("standalone.js"),
    )


def in_script(text: str) -> str:
    """JSON that ends no script: `<` as an escape, which stands in its strings alone."""
    return text.replace("<", "\\u003c")
