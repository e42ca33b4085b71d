"""Runs that end before their time: by Ctrl-C, by SIGTERM, and by a time limit."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from dsim import cli
from dsim.tooling import stopping

pytestmark = pytest.mark.usefixtures("forked_kernels")
LONG = """\
import os, pathlib, time
pathlib.Path("part").write_text(str(os.getpid()))
os.rename("part", "began")
try:
    time.sleep(60)
finally:
    pathlib.Path("ended").touch()"""
DEAF = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{LONG}"
STOPPED = "dsim: stopped: long.ipynb is as it was, and has no new page\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in; cells have time to end, however slow the machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stopping, "INTERRUPT_SECONDS", 1000)
    return tmp_path


def write(path: Path, *sources: str) -> bytes:
    """Write a notebook of cells of code; gives its text."""
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(source) for source in sources]), path)
    return path.read_bytes()


def wait_until(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def press(folder: Path, times: int) -> threading.Thread:
    """Presses Ctrl-C when the cell has begun."""

    def pressed() -> None:
        wait_until((folder / "began").exists)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    thread = threading.Thread(target=pressed)
    thread.start()
    return thread


@pytest.mark.parametrize("options", [[], ["--inplace"]])
def test_ctrl_c_stops_a_run_and_its_kernel(options, folder, capfd):
    before = write(folder / "long.ipynb", LONG)
    thread = press(folder, 1)
    assert cli.main(["run", "long.ipynb", *options]) == 130
    thread.join()
    assert capfd.readouterr().err == STOPPED
    assert (folder / "ended").exists(), "the cell ends as by Ctrl-C in a notebook"
    wait_until(lambda: is_gone(int((folder / "began").read_text())))
    assert (folder / "long.ipynb").read_bytes() == before
    assert not (folder / "build").exists()


def test_a_cell_that_hears_no_interrupt_is_killed(folder, capfd, monkeypatch):
    monkeypatch.setattr(stopping, "INTERRUPT_SECONDS", 0.2)
    write(folder / "long.ipynb", DEAF)
    thread = press(folder, 1)
    assert cli.main(["run", "long.ipynb"]) == 130
    thread.join()
    assert capfd.readouterr().err == STOPPED
    wait_until(lambda: is_gone(int((folder / "began").read_text())))


def test_a_second_ctrl_c_does_not_wait_for_the_cell(folder, capfd):
    write(folder / "long.ipynb", DEAF)
    thread = press(folder, 2)
    assert cli.main(["run", "long.ipynb"]) == 130
    thread.join()
    assert capfd.readouterr().err == STOPPED
    wait_until(lambda: is_gone(int((folder / "began").read_text())))


def test_pages_of_earlier_notebooks_stay(folder, capfd):
    write(folder / "short.ipynb", "1 + 1")
    write(folder / "long.ipynb", LONG)
    thread = press(folder, 1)
    assert cli.main(["run", "short.ipynb", "long.ipynb", "--output", "pages"]) == 130
    thread.join()
    assert capfd.readouterr().err == STOPPED
    assert [page.name for page in (folder / "pages").iterdir()] == ["short.html"]


@pytest.mark.parametrize("ignored", ["", "trap '' INT; "])
def test_sigterm_stops_a_run_and_its_kernel(ignored, folder):
    """Shells start what runs behind them with Ctrl-C ignored."""
    write(folder / "long.ipynb", LONG)
    command = ["sh", "-c", f'{ignored}exec "$@"', "sh", sys.executable, "-m", "dsim", "run", "long.ipynb"]
    path = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        wait_until((folder / "began").exists)
        process.terminate()
        assert process.communicate()[1] == STOPPED
    assert process.returncode == 143
    wait_until(lambda: is_gone(int((folder / "began").read_text())))


@pytest.mark.parametrize("cell", [LONG, DEAF])
def test_a_kernel_says_nothing_of_a_time_limit(cell, folder, capfd, monkeypatch):
    if cell is DEAF:
        monkeypatch.setattr(stopping, "INTERRUPT_SECONDS", 0.2)
    write(folder / "slow.ipynb", cell)
    assert cli.main(["run", "slow.ipynb", "--timeout", "1"]) == 1
    err = capfd.readouterr().err
    assert err.startswith("dsim: error: slow.ipynb: code cell 1 of 1 failed\n")
    assert err.endswith(
        "it took more than 1 s and was stopped\nhelp: allow more time with --timeout SECONDS\n"
    )
    assert "Exception in message handler" not in err


def test_the_last_words_of_a_kernel_are_shown(folder, capfd):
    write(folder / "dead.ipynb", "import os\nos.write(2, b'out of ' + b'memory\\n')\nos._exit(3)")
    assert cli.main(["run", "dead.ipynb"]) == 1
    assert capfd.readouterr().err.startswith("out of memory\ndsim: error: dead.ipynb: code cell 1 of 1")
