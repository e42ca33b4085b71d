"""Formulas of the site, drawn while it is built: pages need no script and no network for them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.util import logging

from dsim.tooling.formulas import svg

_log = logging.getLogger(__name__)


def setup(app: Any) -> None:
    """Makes `html_math_renderer = "drawn"` known to Sphinx."""
    app.add_html_math_renderer("drawn", (_inline, None), (_block, None))


def _inline(page: Any, node: nodes.math) -> None:
    page.body.append(f'<span class="math notranslate nohighlight">{_drawn(page, node)}</span>')
    raise nodes.SkipNode


def _block(page: Any, node: nodes.math_block) -> None:
    style = "text-align: center; overflow-x: auto; overflow-y: hidden; padding: 0.25em 0"
    attributes = {"CLASS": "math notranslate nohighlight", "STYLE": style}
    page.body.append(page.starttag(node, "div", "", **attributes) + _drawn(page, node) + "</div>\n")
    raise nodes.SkipNode


def _drawn(page: Any, node: nodes.Element) -> str:
    """The formula as SVG; one that cannot be drawn is a warning, which ends the build, and text."""
    found = svg(node.astext())
    if found is None:
        _log.warning("this formula cannot be drawn: %s", node.astext(), location=node)
        return page.encode(node.astext())
    return found
