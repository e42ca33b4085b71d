"""The progress of a notebook: a bar that moves on a terminal, lines in a log."""

import io

from dsim.tooling.progress import Progress, bar_line


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_log_has_a_line_per_cell():
    out = io.StringIO()
    with Progress("fall", 2, out) as progress:
        progress.start("x = 1")
        progress.finish()
        progress.start("y = 2")
        progress.finish(ok=False)
    first, second = (line.split() for line in out.getvalue().splitlines())
    assert first[:2] + first[3:] == ["fall", "1/2", "s", "ok", "x", "=", "1"]
    assert second[:2] + second[3:] == ["fall", "2/2", "s", "FAILED", "y", "=", "2"]


def test_terminal_has_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = Terminal()
    with Progress("fall", 1, out) as progress:
        progress.start("x = 1" + "0" * 80)
        progress.finish()
    text = out.getvalue()
    assert text.count("\n") == 1
    drawn = text.rstrip("\n").split("\r")[1:]
    assert {len(line) for line in drawn} == {59}, "a line that wrapped could not be drawn over"
    assert "........] 0/1" in drawn[0]
    assert "########] 1/1" in drawn[-1]


def test_terminal_clock_moves_while_a_cell_runs(monkeypatch):
    monkeypatch.setattr("dsim.tooling.progress.REFRESH_SECONDS", 0.001)
    out = Terminal()
    with Progress("fall", 1, out) as progress:
        progress.start("x = 1")
        while out.getvalue().count("\r") < 5:
            pass


def test_bar_without_cells_is_full():
    assert bar_line("empty", 0, 0, 0.0, "").count("#") == 24
