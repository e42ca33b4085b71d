"""Rules of the house: names, sizes, and what each package and each decision says of itself."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import dsim

HOUSE = Path(dsim.__file__).parent
CHECKOUT = HOUSE.parent
MOST_LINES, MOST_FILES = 399, 22


def test_public_classes_have_names_of_their_own():
    """A name that is searched for leads to one class."""
    names: Counter[str] = Counter()
    for file in HOUSE.rglob("*.py"):
        body = ast.parse(file.read_text()).body
        names.update(s.name for s in body if isinstance(s, ast.ClassDef) and s.name[0] != "_")
    assert not [name for name, count in names.items() if count > 1]


def test_packages_say_what_they_are_for_what_they_import_and_where_to_begin():
    for file in HOUSE.rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(file.read_text())) or ""
        if file.parent != HOUSE:  # what `help(dsim)` shows is for users
            assert len(re.findall(r"[.:](?:\s|$)", said)) >= 3, file


def test_no_file_is_long_and_no_folder_is_full():
    for folder in (HOUSE, CHECKOUT / "tests", CHECKOUT / "extension" / "src"):
        for file in (*folder.rglob("*.py"), *folder.rglob("*.ts")):
            assert len(file.read_text().splitlines()) <= MOST_LINES, file
    for folder in (f for top in (HOUSE, CHECKOUT / "tests") for f in (top, *top.rglob("*")) if f.is_dir()):
        assert sum(file.suffix == ".py" for file in folder.iterdir()) <= MOST_FILES, folder


def test_where_the_glossary_says_there_is_a_file_or_folder():
    """A name without a folder is in that of the last one before it."""
    rows = [row for row in (CHECKOUT / "docs/glossary.md").read_text().splitlines() if row.startswith("| ")]
    named = 0
    for row in rows:
        folder = HOUSE
        for place in re.findall(r"`([^`]+(?:\.py|/))`", row.rpartition(" | ")[2]):
            folder = (HOUSE / place).parent if "/" in place else folder
            assert (folder / Path(place).name).exists(), f"{row[:40]} {place}"
            named += 1
    assert named > 60


def test_decisions_have_a_date_and_a_status():
    for decision in (CHECKOUT / "docs" / "decisions").glob("0*.md"):
        third = decision.read_text().splitlines()[2]
        assert re.fullmatch(r"Date: \d{4}-\d\d-\d\d\. Status: \w.*", third), decision
