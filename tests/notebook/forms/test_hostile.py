"""User text that looks like markup or terminal escapes is shown as text."""

import html.parser
import re

import pytest

from dsim.notebook.forms.page import page
from dsim.notebook.forms.plain import text
from dsim.notebook.report.locations import harmless
from dsim.notebook.report.report import empty

TAG = "<img src=x onerror=alert(1)>"
END = "</script></style></table><script>alert(2)</script>"
ESCAPE = "\x1b[31mred\x1b]0;title\x07\x9b2J"
TURN = "\u202e turned"


class Found(html.parser.HTMLParser):
    """Collects the tags, attributes and text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text.append(data)


def looked_at(markup):
    found = Found()
    found.feed(markup)
    found.close()
    allowed = {
        "div",
        "style",
        "p",
        "span",
        "table",
        "tr",
        "td",
        "th",
        "code",
        "details",
        "summary",
        "pre",
        "b",
        "i",
    }
    drawn = {"svg", "title", "text", "line", "rect", "circle", "path"}
    assert found.tags <= allowed | drawn
    assert not [a for a in found.attributes if a.startswith("on") or a in ("src", "href")]
    assert "\x1b" not in markup
    return "".join(found.text)


@pytest.mark.parametrize(
    "cell",
    [
        f"%%kernel shown --loss U\n# {TAG} {END}\nfor i in y:\n    U[None] += y[i]  # {TAG}",
        f"%%kernel shown --loss U\nfor i in range(1):\n    print('{TAG}{END}', i)\n    U[None] += y[i]",
        f"%%kernel shown --loss U\nassert y[0] > 9, '{TAG}{END}'\nU[None] += y[0]",
        f"%%kernel shown\nfor i in y:\n    y[i] = '{TAG}{END}' + nix  # {TAG}",
        f"%%kernel shown\nfor i in y  # {TAG} {END}",
    ],
)
def test_markup_in_a_cell_is_text(notebook, cell):
    ran = notebook.run(cell)
    shown = looked_at(ran.form("html"))
    assert TAG not in ran.form("html")
    assert "<script" not in ran.form("html")
    if ran.error is None:
        assert TAG in shown
        assert cell.split("\n")[1] in shown
    else:
        assert TAG in ran.stdout  # which is text


def test_commands_to_a_terminal_are_made_visible(notebook):
    cell = f"%%kernel shown\nfor i in y:\n    y[i] = '{ESCAPE}' + nix  # {ESCAPE} {TURN}"
    ran = notebook.run(cell)
    looked_at(ran.form("html"))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", ran.form("plain") + ran.form("html"))
    error = ran.stdout + "".join(str(d) for d in ran.error.diagnostics)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", str(ran.error))
    assert error


def test_a_command_to_a_terminal_in_a_message(notebook):
    ran = notebook.run("%%kernel shown\nfor i in y:\n    print(f'{y[i]:\x1b[31m}')")
    assert ran.error is not None
    assert "\x1b" not in ran.stdout.partition("Error:")[2] + ran.form("plain") + ran.form("html")
    assert "\x1b" not in str(ran.report["diagnostics"])


def test_a_string_in_a_message_and_in_listings(notebook):
    ran = notebook.good(f"%%kernel shown --show ir\nfor i in y:\n    print('{TAG}', '\\x1b[31m', y[i])")
    assert TAG in looked_at(ran.form("html"))
    assert "\x1b" not in ran.form("plain")


def test_every_text_of_a_report_is_escaped():
    report = hostile()
    shown = looked_at(page(report))
    assert shown.count(TAG) >= 15
    assert TAG not in page(report)
    assert "\x1b" not in text(report)


def hostile():
    """A report whose every text is hostile; no kernel makes such a one."""
    bad = f"{TAG}{ESCAPE}"
    report = empty("kernel", f"{bad}\n{bad}", bad)
    place = {"line": 2, "column": 0, "end_line": 2, "end_column": 5, "text": bad, "label": bad}
    here = {"name": bad, "here": True, "lines": []}
    report["origins"] = [here, {"name": bad, "here": False, "lines": [{"line": 2, "text": bad}]}]
    report["summary"] = {"text": bad, "rows": [{"kernel": bad, "label": bad, "value": bad}]}
    report["heat"] = {
        "loss": bad,
        "low": 1.0,
        "high": 2.0,
        "lines": [{"line": 2, "adjoint": 1.0, "level": 0.5}],
    }
    report["probe"] = {
        "kernel": bad,
        "indices": [{"name": bad, "value": 0, "low": 0, "high": 2}],
        "trip": None,
        "values": [{"line": 2, "name": bad, "value": 1.0, "gradient": None, "brief": "b" + bad, "text": bad}],
    }
    report["diagnostics"] = [
        {
            "level": level,
            "code": bad,
            "message": bad,
            "help": bad,
            **place,
            "origin": 0,
            "related": [{**place, "origin": 1}],
        }
        for level in ("error", "warning", "note")
    ]
    report["listings"] = [
        {"name": n, "kernel": f"{n}{bad}", "language": kind, "text": bad, "lines": [2], "origins": [origin]}
        for n, kind, origin in (("adjoint", "python", 1), ("ir", bad, 0), ("ir", bad, 1))
    ]
    return report


def test_harmless():
    assert harmless("a\tb\nc ∂ü漢") == "a\tb\nc ∂ü漢"
    assert harmless("\x1b[1m\r\u202e") == "�[1m��"
