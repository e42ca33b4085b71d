"""The editor's decorations from the cell's report."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.reports import (
    GRAVITY,
    HOSTILE,
    OVERWRITING,
    broken,
    diagnostic,
    gravity,
    report,
    simulation,
    value,
)
from tests.browser.views import WINDOW, cell


def lines(marks: Locator) -> list[int]:
    """The lines of the editor that these elements are in or are, from 1."""
    return marks.evaluate_all(
        "all => all.map(each => 1 + [...each.closest('.cm-content').querySelectorAll('.cm-line')]"
        ".indexOf(each.closest('.cm-line')))"
    )


def test_heat_and_values(lab):
    lab.open(cell(GRAVITY, gravity()))
    editor = lab.cell(0).locator(".cm-editor").first
    expect(editor.locator(".dsim-heat")).to_have_count(3)
    assert lines(editor.locator(".dsim-heat")) == [3, 4, 6]
    levels = editor.locator(".dsim-heat").evaluate_all(
        "all => all.map(each => each.style.getPropertyValue('--dsim-level').trim())"
    )
    assert levels == ["1", "0.75", "0"]
    assert lines(editor.locator(".dsim-eol")) == [3, 4, 6]
    expect(editor.locator(".dsim-eol").first).to_have_text("r = (0.12, -0.43)   ∂U/∂r = (3.1, -10.4)")
    expect(editor.locator(".dsim-squiggle")).to_have_count(0)
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)


def test_values_of_one_line_are_joined_and_long_ones_cut(lab):
    long = f"d = ({', '.join(map(str, range(100)))})"
    values = [value(3, "r", "r = 1"), value(3, "s", "s = 2"), value(4, "d", long)]
    probe = {"kernel": "energy", "indices": [], "trip": None, "values": values}
    lab.open(cell(GRAVITY, report(probe=probe)))
    ends = lab.cell(0).locator(".dsim-eol")
    expect(ends).to_have_count(2)
    expect(ends.nth(0)).to_have_text("r = 1  ·  s = 2")
    expect(ends.nth(1)).to_contain_text(re.compile(r"^d = \(0, 1, 2, [\d, ]+, …$"))
    expect(ends.nth(1)).to_have_attribute("title", long)


MATRIX = "((1.02, 0.0345, -0.211), (0.173, 0.951, 0.0212), (-0.0333, 0.172, 1.06))"


def test_what_stands_at_the_ends_of_lines_needs_no_scrolling(lab):
    values = [value(line, "F", f"F = {MATRIX}   ∂U/∂F = {MATRIX}") for line in (3, 4, 6)]
    probe = {"kernel": "energy", "indices": [], "trip": None, "values": values}
    lab.open(cell(GRAVITY, report(probe=probe)))
    ends = lab.cell(0).locator(".dsim-eol")
    scroller = lab.cell(0).locator(".cm-scroller").first
    expect(ends.first).to_contain_text("…")
    wide = len(ends.first.text_content())
    try:
        lab.page.set_viewport_size({**WINDOW, "width": 950})
        expect(ends.first).not_to_have_text(re.compile(f"^.{{{wide}}}$"))
        assert 0 < len(ends.first.text_content()) < wide
        assert scroller.evaluate("each => each.scrollWidth <= each.clientWidth")
        # Both are there, each cut behind a whole number.
        for end in ends.all_text_contents():
            assert re.fullmatch(r"F = \(\((1.02, )?.*…   ∂U/∂F = \(\(.*…", end)
            assert set(re.findall(r"-?\d[\d.]*", end)) <= set(re.findall(r"-?\d[\d.]*", MATRIX))
    finally:
        lab.page.set_viewport_size(WINDOW)
    expect(ends.first).to_have_text(re.compile(f"^.{{{wide}}}$"))


def test_names_that_are_written_from_right_to_left_move_nothing(lab):
    probe = {
        "kernel": "energy",
        "indices": [],
        "trip": None,
        "values": [value(3, "שלום", "שלום = 1   ∂U/∂שלום = 3")],
    }
    lab.open(cell(GRAVITY, report(probe=probe)))
    end = lab.cell(0).locator(".dsim-eol")
    expect(end).to_have_text("שלום = 1   ∂U/∂שלום = 3")
    left = end.evaluate(
        """each => [...each.childNodes].map(node => {
            const range = document.createRange();
            range.selectNodeContents(node);
            return range.getBoundingClientRect().left;
        })"""
    )
    assert len(left) == 4, "the two names and what follows each"
    assert left == sorted(left), "they stand in the order of the text"


def test_squiggles_count_characters(lab):
    lab.open(cell(OVERWRITING, broken()))
    marks = lab.cell(0).locator(".dsim-squiggle")
    expect(marks).to_have_count(3)
    assert marks.all_text_contents() == ["x[i]", "x[i]", "undefined"]
    assert lines(marks) == [4, 5, 6]
    for level, text in (("warning", "x[i]"), ("note", "x[i]"), ("error", "undefined")):
        expect(lab.cell(0).locator(f".dsim-squiggle.dsim-{level}")).to_have_text(text)


@pytest.mark.parametrize("place", [(2, 99, 99), (3, 0, 0), (5, 200, 300)])
def test_a_range_with_nothing_in_it_still_marks_its_line(lab, place):
    line, column, end = place
    lab.open(cell(GRAVITY, report(diagnostics=[diagnostic("error", "x", "wrong", line, column, end)])))
    marks = lab.cell(0).locator(".dsim-squiggle")
    expect(marks.first).to_be_visible()
    assert set(lines(marks)) == {line}


def test_hover_tells_all(lab):
    lab.open(cell(OVERWRITING, broken()))
    lab.cell(0).locator(".dsim-squiggle.dsim-note").hover()
    hover = lab.page.locator(".dsim-hover")
    expect(hover).to_contain_text("`x[i]` is overwritten after it was read")
    expect(hover).to_contain_text("note[overwritten]")
    expect(hover.get_by_role("listitem").nth(0)).to_have_text(
        "line 5x[i] = v + dt^^^^overwritten here; the backward pass needs the old value"
    )
    expect(hover.get_by_role("listitem").nth(1)).to_have_text(
        f'line 4v["🌊é"] = x[i] * 2.0{"-" * 20}read here'
    )
    expect(hover).to_contain_text("nothing has to be done: its values are saved")
    lab.shoot("hover")


def test_keyboard_goes_from_one_diagnostic_to_the_next(lab):
    lab.open(cell(OVERWRITING, broken()))
    expect(lab.cell(0).locator(".dsim-squiggle")).to_have_count(3)
    lab.cell(0).locator(".cm-line").first.click()
    announced = noted(lab.cell(0).locator(".cm-announced").first)
    hover = lab.page.locator(".dsim-hover")
    for key, line, text in [
        ("F8", 4, "the loop runs on one thread"),
        ("F8", 5, "is overwritten after it was read"),
        ("F8", 6, "`undefined` is not defined"),
        ("F8", 4, "the loop runs on one thread"),
        ("Shift+F8", 6, "`undefined` is not defined"),
    ]:
        lab.page.keyboard.press(key)
        expect(hover).to_contain_text(text)
        expect(lab.cell(0).locator(".cm-activeLine, .cm-line").nth(line - 1)).to_be_visible()
    overwritten, undefined = (f"{n} of 3. {kind} in line" for n, kind in ((2, "note"), (3, "error")))
    said = announced()
    assert len(said) == 5
    assert "the loop runs on one thread" in said[0]
    assert (
        f"{overwritten} 5: `x[i]` is overwritten after it was read. overwritten here; "
        "the backward pass needs the old value. line 4: read here. help: nothing has to be done"
    ) in said[1]
    assert said[3] == said[0]
    for each in (said[2], said[4]):
        assert f"{undefined} 6: `undefined` is not defined" in each
        assert "help: define it above the kernel" in each
    lab.page.keyboard.press("Escape")
    expect(hover).to_have_count(0)


def noted(region: Locator):
    """What is announced in a live region from here on: the editor takes it back after 200 ms."""
    noted = region.evaluate_handle(
        """region => {
            const said = [];
            const note = changes => said.push(...changes.flatMap(each =>
                [...each.addedNodes].filter(node => node.nodeName === 'DIV').map(node => node.textContent)));
            new MutationObserver(note).observe(region, { childList: true });
            return said;
        }"""
    )
    return noted.json_value


def test_an_edit_makes_marks_stale_and_undo_makes_them_fresh(lab):
    lab.open(cell(GRAVITY, gravity()))
    heat = lab.cell(0).locator(".dsim-heat")
    expect(heat).to_have_count(3)
    note = lab.page.get_by_text("edited since: run it again")
    expect(note).to_be_hidden()
    tabs = lab.cell(0).get_by_role("tablist").bounding_box()
    line = lab.cell(0).locator(".cm-line").first.bounding_box()["height"]
    lab.cell(0).locator(".cm-line").nth(2).click()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type("  # edited\n")
    expect(lab.page.locator(".cm-editor.dsim-stale")).to_have_count(1)
    expect(note).to_be_visible()
    assert lines(heat) == [3, 5, 7], "marks move with their lines"
    assert lines(lab.cell(0).locator(".dsim-eol")) == [3, 5, 7]
    assert lab.cell(0).get_by_role("tablist").bounding_box()["y"] == tabs["y"] + line, (
        "only the new line moves it"
    )
    lab.shoot("stale")
    for _ in range(8):
        lab.page.keyboard.press("Control+z")
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)
    assert lines(heat) == [3, 4, 6]
    expect(note).to_be_hidden()
    # Undo restores a removed text with its marks.
    lab.page.keyboard.press("Control+a")
    lab.page.keyboard.press("Delete")
    expect(heat).to_have_count(0)
    lab.page.keyboard.press("Control+z")
    expect(heat).to_have_count(3)
    assert lines(heat) == [3, 4, 6]
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)


def test_a_line_that_is_removed_takes_its_marks_along(lab):
    lab.open(cell(GRAVITY, gravity()))
    heat, values = lab.cell(0).locator(".dsim-heat"), lab.cell(0).locator(".dsim-eol")
    expect(heat).to_have_count(3)
    lab.cell(0).locator(".cm-line").nth(3).click()
    lab.page.keyboard.press("Control+Shift+k")  # the editor's own: the whole line
    expect(heat).to_have_count(2)
    assert [lines(heat), lines(values)] == [[3, 5], [3, 5]]
    lab.cell(0).locator(".cm-line").nth(2).click()
    lab.page.keyboard.press("Home")
    lab.page.keyboard.press("Home")
    lab.page.keyboard.press("Enter")
    assert [lines(heat), lines(values)] == [[4, 6], [4, 6]]


def test_a_text_that_is_replaced_as_a_whole_keeps_the_marks_of_equal_lines(lab):
    """Formatters and "Replace All" put a new text in the place of the old one."""
    lab.open(cell(GRAVITY, gravity()))
    heat = lab.cell(0).locator(".dsim-heat")
    expect(heat).to_have_count(3)
    changed = GRAVITY.replace("r.norm", "r.length")
    replace = (
        "text => window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(text)"
    )
    lab.page.evaluate(replace, changed)
    expect(lab.page.locator(".cm-editor.dsim-stale")).to_have_count(1)
    expect(heat).to_have_count(2)
    assert lines(heat) == [3, 6]
    lab.page.evaluate(replace, GRAVITY)
    expect(heat).to_have_count(3)
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)


def test_a_saved_edit_stays_stale(lab):
    """A notebook whose cell was edited after its run: marks stand only where the text is the same."""
    lab.open(cell(GRAVITY.replace("    d = r.norm(1e-3)\n", "    d = r.norm(2e-3)\n    d += 1\n"), gravity()))
    expect(lab.page.locator(".cm-editor.dsim-stale")).to_have_count(1)
    assert lines(lab.cell(0).locator(".dsim-heat")) == [3, 7]


def test_the_last_report_with_a_source_marks(lab):
    first = report(
        heat={"loss": "U", "low": 1, "high": 1, "lines": [{"line": 2, "adjoint": 1.0, "level": 1}]}
    )
    lab.open(cell(GRAVITY, first, gravity(), simulation()), cell("ds.tape", simulation()))
    expect(lab.cell(0).locator(".dsim-heat")).to_have_count(3)
    expect(lab.cell(1).locator(".dsim-tape-tab")).to_be_visible()
    expect(lab.cell(1).locator(".dsim-heat, .dsim-eol, .dsim-squiggle")).to_have_count(0)
    expect(lab.page.locator(".dsim-stale")).to_have_count(0)


def test_hostile_text_is_text(lab):
    probe = {"kernel": HOSTILE, "indices": [], "trip": None, "values": [value(3, HOSTILE, HOSTILE)]}
    wrong = diagnostic("error", HOSTILE, HOSTILE, 4, 4, 9, help=HOSTILE)
    hostile = report(probe=probe, diagnostics=[wrong], heat={**gravity()["heat"], "loss": HOSTILE})
    lab.open(cell(GRAVITY, hostile))
    shown = HOSTILE.replace("\x1b", "␛").replace("\u202e", "\ufffd")
    expect(lab.cell(0).locator(".dsim-eol")).to_have_text(shown)
    lab.cell(0).locator(".dsim-squiggle").first.hover()
    hover = lab.page.locator(".dsim-hover")
    expect(hover).to_contain_text(shown)
    expect(hover.locator("img, script")).to_have_count(0)
    expect(lab.cell(0).locator(".cm-editor img:not(.cm-widgetBuffer), .cm-editor script")).to_have_count(0)
    assert "broken into" not in lab.page.title()
