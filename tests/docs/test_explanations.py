"""The explanation of each code has a program that gives a diagnostic of this code, and its message."""

from pathlib import Path

import pytest

import dsim as ds
from dsim.diagnostics import CODES
from dsim.diagnostics.explanations import FILES, explanations, parts
from tests.docs.programs import check

# These need another thread, much time, or a report of a cell.
WITHOUT_PROGRAM = {
    "overtaken", "reruns", "recompiled", "thinned", "unwritten", "nan", "infinite-slope", "kink", "overwrites"
}  # fmt: skip


def test_every_code_is_explained_once():
    assert sorted(explanations()) == sorted(CODES)


def test_the_page_includes_all_files():
    page = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8")
    assert all(f"dsim/diagnostics/explanations/{name}\n" in page for name in FILES)


@pytest.mark.parametrize("code", CODES)
def test_parts_are_the_whole_without_marks(code):
    found = parts(code)
    assert not any(part.text.startswith("```") or "](" in part.text for part in found)
    assert [part.text for part in found if part.block] == [
        block.rstrip()
        for block in explanations()[code].split("```")[1::2]
        for block in [block.partition("\n")[2]]
    ]


@pytest.mark.parametrize("code", CODES)
def test_program(code):
    ds.init()
    outputs = check(explanations()[code], "example")
    assert bool(outputs) == (code not in WITHOUT_PROGRAM)
    assert all(f"{CODES[code].value}[{code}]" in found for found in outputs)
