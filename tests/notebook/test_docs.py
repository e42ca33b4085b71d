"""The cells of the page on notebooks, and of the README, run and give the documented output."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PAGE = CHECKOUT / "docs" / "notebook.md"
README = CHECKOUT / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_page(empty):
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    shown = 0
    for (kind, cell), (following, expected) in pairwise([*blocks, ("", "")]):
        if kind != "ipython":
            continue
        ran = empty.run(cell.rstrip("\n"))
        assert ran.stderr == ""
        if following == "text":
            shown += 1
            found = ran.form("plain") if ran.error is None else ran.stdout
            assert found.rstrip("\n") == expected.rstrip("\n")
    assert shown == 4


def test_the_cells_of_the_readme_show_what_its_picture_shows(empty):
    cells = [cell for kind, cell in BLOCK.findall(README.read_text("utf-8")) if kind == "ipython"]
    assert len(cells) == 2
    for cell in cells:
        ran = empty.run(cell.rstrip("\n"))
        assert ran.stderr == ""
        assert ran.error is None
    assert [v["text"] for v in ran.report["probe"]["values"]] == [
        "r = (-0.0416, -0.0308)   ∂U/∂r = (-186, -138)",
        "d = 0.0606   ∂U/∂d = 272",
        "U[None] += -16.5   ∂U/∂U[None] = 1",
    ]
