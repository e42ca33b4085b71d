"""Standard output that cannot be written: on a full disk, and where nobody reads it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TextIO

import nbformat
import pytest
from nbformat import v4

from dsim import cli

pytestmark = pytest.mark.usefixtures("forked_kernels")
FULL = "dsim: error: the output could not be written: No space left on device\n"


@contextmanager
def full_output(buffering: int = -1) -> Iterator[TextIO]:
    """Standard output to a device that is full; in the test, since pytest sets its own before that."""
    with Path("/dev/full").open("w", buffering=buffering, encoding="utf-8") as out, redirect_stdout(out):
        yield out


@pytest.mark.parametrize("command", [["explain", "kink"], ["explain"], ["cache"]])
@pytest.mark.parametrize("buffering", [1, 8192])
def test_one_error(command, buffering, capsys):
    with full_output(buffering) as out:
        assert cli.main(command) == 1
        assert sys.stdout is out
    assert capsys.readouterr().err == FULL


def test_an_error_of_the_command_stays(capsys):
    with full_output():
        assert cli.main(["explain", "kinc"]) == 1
    assert "did you mean `kink`?" in capsys.readouterr().err


def test_a_run_ends_at_its_first_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell("1"), v4.new_code_cell("2")]), "n.ipynb")
    with full_output():
        assert cli.main(["run", "n.ipynb"]) == 1
    assert capsys.readouterr().err == FULL
    assert not Path("build").exists()


def test_nobody_reads(capsys):
    """As behind `| head`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out, redirect_stdout(out):
        assert cli.main(["explain"]) == 1
    assert capsys.readouterr().err == ""


def test_python_adds_nothing_at_its_exit():
    command = [sys.executable, "-m", "dsim", "explain"]
    root = Path(__file__).parents[2]
    with Path("/dev/full").open("w") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=root, check=False)
    assert (done.returncode, done.stderr) == (1, FULL)


def test_a_process_without_output():
    with redirect_stdout(None):
        assert cli.main(["explain"]) == 0
