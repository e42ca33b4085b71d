"""The progress of a notebook: an animated bar on a terminal, lines in a log."""

import io
import os

import pytest
from tqdm.utils import disp_len

from dsim.tooling.progress import Progress


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


@pytest.mark.parametrize("label", ["x = 1" + "0" * 80, "x = '" + "世界" * 40 + "'"])
def test_terminal_has_one_line(monkeypatch, label):
    monkeypatch.setenv("COLUMNS", "60")
    out = Terminal()
    with Progress("{fall}", 1, out) as progress:
        progress.start(label)
        progress.finish()
    text = out.getvalue()
    assert text.count("\n") == 1
    drawn = text.rstrip("\n").split("\r")[1:]
    columns = [disp_len(line) for line in drawn]
    assert max(columns) <= 59, "a line that wrapped could not be drawn over"
    assert columns == sorted(columns), "each line covers the one before"
    assert "........] 0/1" in drawn[0]
    assert "x = " in drawn[1]
    assert "########] 1/1" in drawn[-1]
    assert "x = " not in drawn[-1]


def test_terminal_clock_moves_while_a_cell_runs(monkeypatch):
    monkeypatch.setattr("dsim.tooling.progress.REFRESH_SECONDS", 0.001)
    out = Terminal()
    with Progress("fall", 1, out) as progress:
        progress.start("x = 1")
        while out.getvalue().count("\r") < 5:
            pass


def test_a_notebook_without_cells_has_a_line_too():
    out = Terminal()
    with Progress("empty", 0, out):
        pass
    assert out.getvalue().split("\r")[-1].split()[0] == "empty"
    assert " 0/0 " in out.getvalue()


def test_a_terminal_without_a_size_has_the_line_too():
    """As in a container: a pseudoterminal whose size nobody has set."""
    main, other = os.openpty()
    shown = b""
    with os.fdopen(other, "w") as out:
        with Progress("fall", 1, out) as progress:
            progress.start("x = 1")
            progress.finish()
        while not shown.endswith(b"\n"):
            shown += os.read(main, 4096)
    os.close(main)
    assert b"########] 1/1" in shown
