"""The text of functions in notebook cells under ``%%time`` and ``%%timeit``.

These magics compile what stands below them under file names without a text; IPython's history has the cells.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

_MAGICS = {"<timed exec>": "%%time", "<timed eval>": "%%time", "<magic-timeit>": "%%timeit"}


class TimedText(NamedTuple):
    """What a magic compiled.

    Attributes
    ----------
    lines : list of str
        The lines below the magic, from the first that is not empty.
    above : int
        The number of lines of the cell above them.
    file : str
        Python's file name of the cell.
    """

    lines: list[str]
    above: int
    file: str


def magic_of(filename: str) -> str | None:
    """The magic that compiles under this file name."""
    return _MAGICS.get(filename)


def timed_texts(filename: str) -> Iterator[TimedText]:
    """What the magic that compiles under `filename` may have compiled, the newest first."""
    magic, ipython = magic_of(filename), sys.modules.get("IPython")
    shell = None if magic is None or ipython is None else ipython.get_ipython()
    if shell is None or shell.history_manager is None:
        return
    begins = re.compile(rf"\s*{magic}(?!\w)")
    for number, raw in reversed([*enumerate(shell.history_manager.input_hist_raw)]):
        lines = raw.splitlines(keepends=True)
        for above, line in enumerate(lines, 1):
            if begins.match(line):
                file = shell.compile.get_code_name(raw, shell.transform_cell(raw), number)
                yield _below(lines, above, file)


def _below(lines: list[str], above: int, file: str) -> TimedText:
    while above < len(lines) and not lines[above].strip():
        above += 1
    return TimedText(lines[above:], above, file)
