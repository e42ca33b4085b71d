"""The text of the running cell as its editor shows it, found by what IPython gives a cell magic.

IPython removes the indentation that all lines have in common, and the text of lines of spaces; and another
cell magic gives `%%kernel` only what stands below it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

MAGIC = "%%kernel"
_NEWLINE = re.compile(r"\r\n?")


class RawText(NamedTuple):
    """A cell.

    Attributes
    ----------
    text : str
        As Python's tracebacks know it.
    number : int
        Its execution count.
    first : int
        The line of `%%kernel`.
    margin : str
        The indentation that the lines from there on have in common.
    """

    text: str
    number: int
    first: int
    margin: str


def with_newlines(text: str) -> str:
    """`text` with the ends of lines that an editor shows."""
    return _NEWLINE.sub("\n", text)


def raw_text(shell: Any, line: str, body: str) -> RawText:
    """The cell of a `%%kernel` with `line` behind the name and `body` below; of these if it is not kept."""
    history = shell.history_manager.input_hist_raw if shell.history_manager else [""]
    kept = with_newlines(history[-1])
    found = _above(kept, line.strip(), with_newlines(body))
    if found is None:
        made = with_newlines(f"{MAGIC} {line}".rstrip() + f"\n{body}")
        return RawText(made, shell.execution_count, 1, "")
    return RawText(kept, len(history) - 1, *found)


def _above(kept: str, line: str, body: str) -> tuple[int, str] | None:
    """The number of the `%%kernel` line directly above `body`, at the end of `kept`, and its indentation."""
    whole, below = kept.rstrip().split("\n"), body.rstrip().split("\n") if body.strip() else []
    first = len(whole) - len(below)
    above = whole[first - 1] if first > 0 else ""
    margin = above[: len(above) - len(above.lstrip())]
    if not above.startswith(MAGIC, len(margin)) or above[len(margin) + len(MAGIC) :].strip() != line:
        return None
    pairs = zip(whole[first:], below, strict=True)
    same = all(_stripped(a, margin) == (b if b.strip() else "") for a, b in pairs)
    return (first, margin) if same else None


def _stripped(line: str, margin: str) -> str | None:
    """`line` without `margin`; None where it does not begin with it."""
    if not line.strip():
        return ""
    return line[len(margin) :] if line.startswith(margin) else None
