"""The page of measured tables has a place for each, and keeps what is not measured anew."""

from tests.bench.__main__ import MARKED, PAGE, written
from tests.bench.tables import TABLES


def test_every_table_has_a_place():
    found = [m[2] for m in MARKED.finditer(PAGE.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(TABLES)


def test_only_what_was_measured_changes():
    page = "a\n<!-- table: one -->\n1\n<!-- end -->\nb\n<!-- table: two -->\n<!-- end -->\nc"
    head = "| n |\n| :-- |"
    filled = written(page, {"two": f"{head}\n| 3 |"})
    assert filled == page.replace("two -->\n", f"two -->\n{head}\n| 3 |\n")
    assert written(filled, {"two": f"{head}\n| 4 |"}) == filled.replace("3", "4")


def test_a_table_without_rows_keeps_those_that_it_has():
    page = "<!-- table: one -->\n| n |\n| :-- |\n| 1 |\n<!-- end -->\n"
    assert written(page, {"one": "| n |\n| :-- |"}) == page


def test_the_page_has_numbers_in_every_table():
    for m in MARKED.finditer(PAGE.read_text(encoding="utf-8")):
        assert sum(line.startswith("|") for line in m[0].splitlines()) > 2, m[2]
