"""Diagnostics as text: lines, carets, labels, help."""

from __future__ import annotations

import pytest

from dsim.diagnostics import CODES, Diagnostic, DsimError, Label, Level, Source, Span, render
from dsim.diagnostics.messages import REMEDIES

SOURCE = Source("cell [3]", "def k():\n    v = x[i] * 2.0\n    x[i] = v + dt\n", first_line=4)


def span(line: int, text: str) -> Span:
    column = SOURCE.line(line).index(text)
    return Span(SOURCE, line, column, line, column + len(text))


def test_both_places_of_an_overwritten_value():
    d = Diagnostic(
        "overwritten",
        "`x[i]` is overwritten after it was read",
        span(6, "x[i]"),
        "overwritten here",
        (Label(span(5, "x[i]"), "read here"),),
        "write to a second field",
    )
    assert render([d]) == (
        "error[overwritten]: `x[i]` is overwritten after it was read\n"
        "  --> cell [3]:6:5\n"
        "5 │     v = x[i] * 2.0\n"
        "  │         ---- read here\n"
        "6 │     x[i] = v + dt\n"
        "  │     ^^^^ overwritten here\n"
        "help: write to a second field"
    )


def test_two_marks_on_one_line_show_it_once():
    d = Diagnostic("type", "no", span(6, "v"), labels=(Label(span(6, "dt"), "this"),))
    lines = render([d]).split("\n")
    assert [line for line in lines if "x[i] = v + dt" in line] == ["6 │     x[i] = v + dt"]
    assert lines[3:5] == ["  │            ^", "  │                -- this"]


def test_a_span_over_several_lines_underlines_the_first_to_its_end():
    whole = Span(SOURCE, 5, 4, 6, 17)
    assert whole.text == "v = x[i] * 2.0"
    assert "  │     ^^^^^^^^^^^^^^" in render([Diagnostic("syntax", "no", whole)]).split("\n")


def test_control_characters_of_a_program_are_shown_harmlessly():
    source = Source("f.py", "x = '\x1b[31m'\t# tab")
    text = render([Diagnostic("syntax", "no", Span(source, 1, 0, 1, 1))])
    assert "\x1b" not in text
    assert "\t" not in text


def test_a_line_outside_the_source_is_empty():
    assert SOURCE.line(3) == SOURCE.line(99) == ""


def test_several_diagnostics_stand_apart():
    two = render([Diagnostic("type", "one"), Diagnostic("serial", "two", help="three")])
    first, second = two.split("\n\n")
    assert first.startswith("error[type]: one\nhelp: ")
    assert second == "warning[serial]: two\nhelp: three"


@pytest.mark.parametrize("code", [c for c, level in CODES.items() if level is Level.ERROR])
def test_every_error_ends_with_help_or_brings_its_own(code):
    always_their_own = {"recursion", "unplaced", "missing-gradient", "overwritten", "graph"}
    assert (code in REMEDIES) != (code in always_their_own)


def test_the_traceback_in_a_notebook_is_the_text_alone():
    error = DsimError(Diagnostic("type", "no", help="yes"))
    assert error._render_traceback_() == ["DsimError:", "error[type]: no", "help: yes"]
    assert str(error) == "error[type]: no\nhelp: yes"


def test_commands_to_a_terminal_are_not_obeyed_wherever_they_stand():
    source = Source("a\x1b.py", "x = '\x1b[31m'\ty")
    span = Span(source, 1, 0, 1, 1)
    d = Diagnostic("type", "\x1b[2J is no format", span, "\x9b1m", (Label(span, "\x07"),), "not \u202e so")
    shown = render([d])
    assert not any(not c.isprintable() and c != "\n" for c in shown)
    assert "1 │ x = '\N{REPLACEMENT CHARACTER}[31m' y" in shown
