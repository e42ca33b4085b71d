"""Prints the matrix of the corpus at the end of a run that filled part of it, in any process."""

from __future__ import annotations

import pytest

PROPERTY = "cells of the corpus"

_MARKS: dict[tuple[str, str, str], str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        _MARKS.update(
            {
                tuple(cell): mark
                for key, marks in report.user_properties
                if key == PROPERTY
                for *cell, mark in marks
            }
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _MARKS:
        return
    from tests.corpus.matrix import COLUMNS, REALS  # imports dsim and all programs

    names = list(dict.fromkeys(name for name, _, _ in _MARKS))
    write, width = terminalreporter.write_line, max(len("program"), *map(len, names))
    terminalreporter.section(f"corpus: {len(names)} programs")
    write(" " * width + "  " + "  ".join(f"{column:^{2 + len(REALS) * 3}}" for column in COLUMNS))
    write(f"{'program':{width}}  " + "  ".join("  ".join(REALS) for _ in COLUMNS))
    for name in names:
        cells = (
            "  ".join(f" {_MARKS.get((name, real, column), '·')} " for real in REALS) for column in COLUMNS
        )
        write(f"{name:{width}}  " + "  ".join(cells))
    counted = list(_MARKS.values())
    write(f"{counted.count('✓')} cells hold, {counted.count('✗')} do not")
