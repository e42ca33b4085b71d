"""The code of the documentation's pages runs, and prints what the pages say that it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dsim as ds
from dsim.diagnostics import CODES
from tests.docs.programs import check

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python\n" in page.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ds.init()
    check(page.read_text(encoding="utf-8"), page.stem)


@pytest.mark.slow
def test_every_code_has_a_line():
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| \[`([a-z-]+)`\]\(#\1\) \| (\w+) \|", page, re.MULTILINE))
    assert table == {code: level.value for code, level in CODES.items()}
