"""Which lines of a cell the HTML form of a report lists."""

import re
from html import unescape

from dsim.notebook.forms.page import _underlined
from tests.notebook.cells import GRAVITY


def listing(ran) -> list[tuple[str, str]]:
    """The rows of the listing that stands open: the number, or ⋮, and the text without its markup."""
    table = re.search(r'<table class="dsim-listing">(.*?)</table>', ran.form("html"), re.DOTALL)
    if table is None:
        return []
    cells = r"<td class=dsim-number[^>]*>([^<]*)</td><td(?: class=dsim-code[^>]*)?>(.*?)</td>"
    rows = re.findall(cells, table[1], re.DOTALL)
    return [(n, unescape(re.sub(r"<[^>]*>", "", text))) for n, text in rows]


def test_a_kernel_that_was_looked_into_is_listed_whole(notebook):
    rows = listing(notebook.good(GRAVITY))
    assert [text for _, text in rows] == GRAVITY.split("\n")


def test_a_kernel_of_which_there_is_nothing_to_say_is_not_listed(notebook):
    ran = notebook.good("%%kernel rest\nfor i in y:\n    y[i] = 0.0")
    assert listing(ran) == []
    assert "<summary>Adjoint</summary>" in ran.form("html"), "its adjoint and the rest still are"


OVERWRITING = """%%kernel push
for i in v:
    v[i] = [0.0, 0.0]

for i in y:
    b = y[i]
    U[None] += b * b
    c = b + 1.0
    d = 2.0 * c
    y[i] = d * y[i]"""


def test_of_a_kernel_that_did_not_run_the_lines_are_listed_that_are_spoken_of(notebook):
    ran = notebook.good(OVERWRITING)
    (d,) = ran.report["diagnostics"]
    read = [r["line"] for r in d["related"]]
    assert (d["line"], read) == (10, [6])
    numbers = [n for n, _ in listing(ran)]
    assert numbers == ["⋮", "5", "6", "7", "⋮", "9", "10"]
    assert ("10", "    y[i] = d * y[i]") in listing(ran)


def test_where_diagnostics_overlap_the_most_serious_one_shows():
    def d(level, start, end):
        return {
            "level": level,
            "line": 1,
            "column": start,
            "end_line": 1,
            "end_column": end,
            "text": "ab<defghi",
        }

    def under(level, text):
        return f'<span class="dsim-under dsim-{level}">{text}</span>'

    found = [d("error", 2, 3), d("note", 0, 5), d("warning", 7, 99), d("note", 8, 8)]
    line = [("name", "ab<"), ("", "de"), ("word", "fgh"), ("", "i")]
    assert _underlined(line, found) == (
        under("note", "<span class=name>ab</span>")
        + under("error", "<span class=name>&lt;</span>")
        + under("note", "de")
        + "<span class=word>fg</span>"
        + under("warning", "<span class=word>h</span>i")
    )
    assert _underlined([], [d("note", 0, 0)]) == ""
    assert _underlined([("", "a & b")], []) == "a &amp; b"


def test_a_cell_that_failed_says_what_became_of_it_and_leaves_the_rest_to_the_error(notebook):
    ran = notebook.run(OVERWRITING.replace("2.0 * c", "2.0 * absent"))
    assert listing(ran) == []
    assert "not compiled: the names that this cell defines are unchanged" in ran.form("html")
    assert "absent" not in ran.form("html")
    assert ran.stdout.count("`absent` is not defined") == 1


def test_a_kernel_that_cannot_be_compiled_and_was_asked_about_is_told_of_in_full(notebook):
    """There is no error below."""
    notebook.good("@ds.kernel\ndef wrong():\n    for i in y:\n        y[i] = absent")
    shown = notebook.good("%check wrong")
    for form in ("plain", "html"):
        assert "wrong: cannot be compiled" in shown.form(form)
        assert "`absent` is not defined" in unescape(shown.form(form))
