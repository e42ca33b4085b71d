"""The cells of the page on notebooks run, and show what the page says that they show."""

import re
from itertools import pairwise
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "notebook.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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
    assert shown == 3
