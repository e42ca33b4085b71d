"""Kinks in a report: the reason, dsim's choice and the advice, in all forms."""

import re

import numpy as np
import pytest

from tests.notebook.forms.test_page import listing
from tests.notebook.report.test_reports import validated

pytestmark = pytest.mark.slow

SIZE = """%%kernel size --loss U
for i in y:
    a = abs(y[i] - 1.0)
    U[None] += 2.0 * a"""


def kinks(ran):
    return [d for d in validated(ran.report)["diagnostics"] if d["code"] == "kink"]


@pytest.fixture
def notebook(notebook):
    """Of the eight numbers `y` the third and the fourth are 1."""
    notebook.good("y.from_numpy(np.array([0.5, 0.75, 1.0, 1.0, 1.25, 1.5, 1.75, 2.0]))")
    return notebook


def test_json(notebook):
    ran = notebook.good(SIZE)
    (d,) = kinks(ran)
    assert d == {
        "level": "note",
        "code": "kink",
        "message": "`abs(y[i] - 1.0)` has no derivative at 0, and is there 2 of 8 times, first at i = 2",
        "help": "start elsewhere, or smooth it: `ds.sqrt(x * x + eps)` with a small `eps`",
        "line": 3,
        "column": 8,
        "end_line": 3,
        "end_column": 23,
        "origin": 0,
        "text": "    a = abs(y[i] - 1.0)",
        "label": "it is -1 below and 1 above; dsim takes 0; ∂U/∂ of it is 2 there",
        "related": [],
    }
    gradient = notebook.names["y"].grad.to_numpy()
    np.testing.assert_array_equal(gradient, [-2, -2, 0, 0, 2, 2, 2, 2])


def test_text_and_html(notebook):
    ran = notebook.good(SIZE)
    lines = ran.form("plain").split("\n")
    (at,) = [n for n, line in enumerate(lines) if "note[kink]" in line]
    assert lines[at - 1].endswith(
        "│         ^^^^^^^^^^^^^^^ it is -1 below and 1 above; dsim takes 0; ∂U/∂ of it is 2 there"
    )
    assert "line 3, column 9: note[kink]: `abs(y[i] - 1.0)` has no derivative at 0" in lines[at]
    assert lines[at + 1].endswith(
        "help: start elsewhere, or smooth it: `ds.sqrt(x * x + eps)` with a small `eps`"
    )
    page = ran.form("html")
    assert "`abs(y[i] - 1.0)` has no derivative at 0, and is there 2 of 8 times, first at i = 2" in page
    assert "dsim-note" in page
    assert [text for _, text in listing(ran)] == SIZE.split("\n")


def test_all_of_a_line_are_underlined(notebook):
    ran = notebook.good("%%kernel k --loss U\nfor i in y:\n    U[None] += abs(y[i] - 1.0) + max(1.0, y[i])")
    assert len(kinks(ran)) == 2
    under = re.findall(
        r'<span class="dsim-under dsim-note">((?:<span.*?</span>|[^<])*)</span>', ran.form("html")
    )
    assert [re.sub(r"<[^>]*>", "", text) for text in under] == ["abs(y[i] - 1.0)", "max(1.0, y[i])"]


def test_forward_mode(notebook):
    (d,) = kinks(notebook.good(SIZE.replace("--loss U", "--forward y")))
    assert (d["message"][-14:], d["label"]) == ("first at i = 2", "it is -1 below and 1 above; dsim takes 0")


def test_off_the_kink_there_is_nothing_to_say(notebook):
    notebook.good("y.from_numpy(np.linspace(1.5, 2.5, N))")
    assert kinks(notebook.good(SIZE)) == []


def test_without_a_run_there_is_nothing_to_say(notebook):
    assert kinks(notebook.good(SIZE.replace(" --loss U", ""))) == []


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ("max(y[i], 1.0)", "dsim takes that of the right operand, `1.0`"),
        ("ds.min(1.0, y[i])", "dsim takes that of the right operand, `y[i]`"),
        ("ds.math.clamp(y[i], 0.0, 1.0)", "dsim takes that of `y[i]`, as between the bounds"),
        ("ds.max(0.0, y[i], 1.0)", "dsim takes that of the later one"),
        ("ds.Vector([1.0, y[i]]).max()", "dsim takes that of the later one"),
        ("ds.floor(y[i])", "the value jumps there; dsim takes 0"),
        ("y[i] % 1.0", "dsim takes that of the period that begins there"),
        (
            "ds.Vector([y[i] - 1.0, 0.0]).norm()",
            "the value grows in every direction from there; dsim takes 0",
        ),
    ],
)
def test_what_is_taken(notebook, expression, taken):
    before = "%%kernel k --loss U\nfor i in y:\n    U[None] += 3.0 * ("
    (d,) = kinks(notebook.good(f"{before}{expression})"))
    assert (d["line"], d["column"], d["end_column"]) == (3, 22, 22 + len(expression))
    assert taken in d["label"]
    assert d["label"].endswith("∂U/∂ of it is 3 there")


def test_the_gradient_is_what_is_said(notebook):
    """At a tie of `clamp` the value between the bounds gets it, at one of `max` the right operand."""
    for expression, there in (
        ("ds.math.clamp(y[i], 0.0, 1.0)", 1),
        ("max(y[i], 1.0)", 0),
        ("max(1.0, y[i])", 1),
    ):
        notebook.good(f"%%kernel k --loss U\nfor i in y:\n    U[None] += {expression}")
        assert notebook.names["y"].grad[2] == there


def test_a_maximum_over_iterations(notebook):
    (d,) = kinks(
        notebook.good("%%kernel k --loss U\nfor i in y:\n    ds.atomic_min(U[None], -abs(y[i] - 1.25))")
    )
    assert d["message"] == (
        "`ds.atomic_min(U[None], -abs(y[i] - 1.25))` has no derivative at a tie, and is there 1 of 8 times, "
        "first at i = 7"
    )
    assert d["label"] == (
        "on each side it is that of another value; dsim takes that of the last one; ∂U/∂ of it is 1 there"
    )
    assert notebook.names["y"].grad[7] == -1


RAMP = "@ds.func\ndef ramp(a):\n    return max(a, 0.0)"


def test_a_func_of_another_cell(notebook):
    notebook.good(RAMP)
    ran = notebook.good("%%kernel k --loss U\nfor i in y:\n    U[None] += ramp(y[i] - 1.0)")
    (d,) = kinks(ran)
    assert (d["line"], d["column"]) == (3, 15)
    assert d["message"].startswith("`max(a, 0.0)` has no derivative at a tie, and is there 2 of 8 times")
    (r,) = d["related"]
    assert (r["text"].strip(), r["line"]) == ("return max(a, 0.0)", 3)
    assert (d["label"], r["label"].partition(";")[0]) == (
        "called here",
        "on each side it is that of another value",
    )
    assert not ran.report["origins"][r["origin"]]["here"]


def test_a_func_of_the_cell_and_its_calls(notebook):
    (d,) = kinks(
        notebook.good(
            f"%%kernel --loss U\n{RAMP}\ndef k():\n    for i in y:\n        p = ramp(y[i] - 1.0)\n"
            "        q = ramp(1.5 - y[i])\n        U[None] += p + 2.0 * q + ramp(y[i])"
        )
    )
    assert (d["line"], d["column"]) == (4, 11)
    assert "3 of 16 times, first at i = 2" in d["message"]
    assert d["label"].endswith("∂U/∂ of it is 1.41 there")
    assert [(r["line"], r["label"]) for r in d["related"]] == [(7, "called here"), (8, "called here")]


def test_two_loops_with_names_of_their_own(notebook):
    found = kinks(
        notebook.good(
            "%%kernel k --loss U\nfor i in y:\n    U[None] += abs(y[i] - 1.0)\n"
            "for p, q in ds.ndrange(N, 2):\n    U[None] += abs(y[p] - 1.5 - q)"
        )
    )
    first, second = (d["message"] for d in found)
    assert first.endswith("first at i = 2")
    assert second.endswith("1 of 16 times, first at p = 5, q = 0")


def test_what_makes_nan_is_told_once(notebook):
    ran = notebook.good(
        "%%kernel k --loss U\nfor i in y:\n    r = ds.Vector([y[i] - 1.0, 0.0])\n"
        "    U[None] += 1.0 / r.norm()"
    )
    assert [d["code"] for d in ran.report["diagnostics"]] == ["nan"]


def test_hostile_text(notebook):
    hostile = (
        "%%kernel k --loss U\nfor i in y:\n    U[None] += abs(  # <img src=x>\x1b[31m\n        y[i] - 1.0)"
    )
    (d,) = kinks(notebook.good(hostile))
    assert (d["line"], d["end_line"]) == (3, 4)
    assert d["message"].startswith("`abs(  # <img src=x>\N{REPLACEMENT CHARACTER}[31m …` has")
    assert "<img" not in notebook.good(hostile).form("html")


def test_two_runs_say_the_same(notebook):
    assert kinks(notebook.good(SIZE)) == kinks(notebook.good(SIZE))
