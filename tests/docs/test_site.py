"""The documentation builds without a warning: links lead somewhere, and what the reference names exists.

Its pages load nothing from other places.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ELSEWHERE = re.compile(r"(?:[a-z]+:)?//")
FORMULAS = r"""
formulas
========

Of a :math:`\frac{a}{b}` and

.. math:: \begin{cases} 1 \\ 2 \end{cases}
"""


class Loaded(HTMLParser):
    """Collects the addresses of what a page loads by itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        loads = [named.get("src"), named.get("data"), named.get("href") if tag == "link" else None]
        self.addresses += [address for address in loads if address]
        self.addresses += re.findall(r"url\(['\"]?([^'\")]+)", named.get("style") or "")


def build(source, site, *options):
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "--fresh-env", "--keep-going", "--quiet", *options, source, site],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, with the committed outputs of the notebooks."""
    folder = tmp_path_factory.mktemp("site") / "site"
    built = build(ROOT / "docs", folder, "--fail-on-warning", "-D", "dsim_play=0")
    assert (built.returncode, built.stderr) == (0, "")
    return folder


@pytest.mark.slow
def test_the_site_builds_without_a_warning(site):
    assert (site / "reference" / "fields.html").is_file()
    assert (site / "search.html").is_file()


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere(site):
    pages = {str(path.relative_to(site)): path.read_text("utf-8") for path in site.rglob("*.html")}
    found = {page: Loaded(text).addresses for page, text in pages.items()}
    assert sum(map(len, found.values())) > len(pages)
    assert not [(page, a) for page, asked in found.items() for a in asked if ELSEWHERE.match(a)]
    styles = [path.read_text("utf-8") for path in site.rglob("*.css")]
    assert not re.findall(r"(?:@import|url\()\s*['\"]?(?:url\(['\"]?)?(?:https?:)?//", "".join(styles))


@pytest.mark.slow
def test_formulas_are_pictures(site):
    page = (site / "notebooks" / "fem_neo_hookean.html").read_text("utf-8")
    formulas = re.findall(r"class=\"math[^>]*>(.{14})", page)
    assert len(formulas) > 10
    assert set(formulas) == {'<svg role="img'}


@pytest.mark.slow
def test_a_formula_that_cannot_be_drawn_is_a_warning(tmp_path):
    settings = f"import sys; sys.path.insert(0, {str(ROOT / 'docs')!r})\n"
    settings += "extensions, html_math_renderer = ['formulas'], 'drawn'\n"
    (tmp_path / "conf.py").write_text(settings)
    (tmp_path / "index.rst").write_text(FORMULAS)
    built = build(tmp_path, tmp_path / "site")
    assert "index.rst:7: WARNING: this formula cannot be drawn" in built.stderr
    assert built.stderr.count("WARNING") == 1
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert '<span class="math notranslate nohighlight"><svg' in page
    assert r"\begin{cases}" in page
