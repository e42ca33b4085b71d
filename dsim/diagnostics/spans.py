"""Spans: a source text, and a range of lines and columns in it.

Independent of kernels: the frontend creates spans, and later stages pass them on.
"""

from __future__ import annotations

from dataclasses import field

from dsim.records import record


@record
class Source:
    r"""The text that spans point into.

    Attributes
    ----------
    name : str
        File name, or the name of a notebook cell (``cell [3]``).
    text : str
        The text, lines separated by ``\n``.
    first_line : int
        Number of the first line of `text` in the user's file or cell.
    file : str, optional
        Python's file name of it, which is unique. Cells that run without IPython's
        history share a number, and with it their `name`.
    """

    name: str
    text: str
    first_line: int = 1
    file: str = ""
    lines: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", self.file or self.name)
        object.__setattr__(self, "lines", tuple(self.text.split("\n")))

    def line(self, number: int) -> str:
        """The text of line `number` of the user's file or cell; empty outside the text."""
        at = number - self.first_line
        return self.lines[at] if 0 <= at < len(self.lines) else ""


@record
class Span:
    """A range of a source: lines numbered as in the user's file, columns from 0, the end exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def text(self) -> str:
        """The source text of the range; of several lines, the part in the first."""
        first = self.source.line(self.line)
        return first[self.column : self.end_column] if self.end_line == self.line else first[self.column :]

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}"
