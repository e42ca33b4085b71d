"""The cap on kernel output: prints the first lines, and the number of omitted ones.

A page with a million lines freezes. The text of a line comes from `cpu.runtime`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LINES = 1000  # that a cell's kernels print before the rest is counted only


class Prints:
    """Counts lines while there is a cap."""

    def __init__(self) -> None:
        self._caps = 0
        self._left = 0
        self._more = 0

    def wanted(self) -> bool:
        """Whether to print the next line; counts it."""
        if not self._caps:
            return True
        self._left -= 1
        self._more += self._left < 0
        return self._left >= 0

    def begin(self) -> None:
        """From here to its `end` there is a cap; one inside another is part of that."""
        self._caps += 1
        if self._caps == 1:
            self._left, self._more = LINES, 0

    def end(self) -> None:
        """Prints how many lines were omitted."""
        self._caps = max(0, self._caps - 1)
        if not self._caps and self._more:
            sys.stdout.write(f"… {self._more:,} more\n")
            self._more = 0

    @contextmanager
    def capped(self) -> Iterator[None]:
        """From `begin` to `end`."""
        self.begin()
        try:
            yield
        finally:
            self.end()


PRINTS = Prints()
_SILENT: ContextVar[bool] = ContextVar("dsim_silent", default=False)


def is_silent() -> bool:
    """Whether launches print nothing here."""
    return _SILENT.get()


@contextmanager
def silent() -> Iterator[None]:
    """Kernels that are launched inside print nothing; those of other threads do."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)
