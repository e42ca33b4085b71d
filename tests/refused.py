"""What an error about a call from Python tells: the person's line, a caret, one `help:`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import dsim as ds


def refused(act: Callable[[], Any], message: str, file: str) -> None:
    """`act`, which stands in `file`, is refused by `message`; the text is what a person needs."""
    with pytest.raises(ds.DsimError, match=f"(?s){message}") as caught:
        act()
    text = str(caught.value)
    assert re.search(rf"(?m)^  --> \S*{re.escape(file.rpartition('/')[2])}:\d+:\d+$", text), text
    assert re.search(r"(?m)^ *│ *\^+", text), text
    assert text.count("\nhelp: ") == 1, text
