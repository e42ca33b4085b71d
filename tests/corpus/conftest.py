"""Prints the matrix of the corpus at the end of a run that filled some of it."""

from tests.corpus.matrix import COLUMNS, MARKS, REALS


def pytest_terminal_summary(terminalreporter):
    names = list(dict.fromkeys(name for name, _, _ in MARKS))
    if not names:
        return
    write, width = terminalreporter.write_line, max(len("program"), *map(len, names))
    terminalreporter.section(f"corpus: {len(names)} programs")
    write(" " * width + "  " + "  ".join(f"{column:^{2 + len(REALS) * 3}}" for column in COLUMNS))
    write(f"{'program':{width}}  " + "  ".join("  ".join(REALS) for _ in COLUMNS))
    for name in names:
        cells = (
            "  ".join(f" {MARKS.get((name, real, column), '·')} " for real in REALS) for column in COLUMNS
        )
        write(f"{name:{width}}  " + "  ".join(cells))
    counted = list(MARKS.values())
    write(f"{counted.count('✓')} cells hold, {counted.count('✗')} do not")
