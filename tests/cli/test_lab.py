"""`dsim lab`: JupyterLab, for this machine only."""

import os
import signal
import sys

import pytest

from dsim import cli
from dsim.tooling import lab


class Process:
    """A JupyterLab that hears one Ctrl-C and ends at its own time."""

    def __init__(self, command):
        self.command = command
        self.waits = 0

    def wait(self):
        self.waits += 1
        if self.waits == 1:
            raise KeyboardInterrupt
        return 7


@pytest.fixture
def started(monkeypatch):
    """The processes that were started instead of JupyterLab, by a person who is not the administrator."""
    processes = []

    def start(command):
        processes.append(Process(command))
        return processes[-1]

    monkeypatch.setattr(lab.subprocess, "Popen", start)
    monkeypatch.setattr(lab, "is_administrator", lambda: False)
    return processes


def test_listens_on_loopback_only(started, tmp_path):
    assert cli.main(["lab", str(tmp_path)]) == 7
    (process,) = started
    assert process.command[:4] == [sys.executable, "-m", "jupyterlab", str(tmp_path)]
    assert process.command[4:] == ["--ServerApp.ip=127.0.0.1", "--ServerApp.allow_remote_access=False"]
    assert process.waits == 2, "Ctrl-C is JupyterLab's to answer"


def test_who_ends_dsim_ends_jupyterlab(monkeypatch, tmp_path):
    class Ended(Process):
        ended = False

        def wait(self):
            os.kill(os.getpid(), signal.SIGTERM)
            assert self.ended
            return 0

        def terminate(self):
            self.ended = True

    monkeypatch.setattr(lab.subprocess, "Popen", Ended)
    monkeypatch.setattr(lab, "is_administrator", lambda: False)
    before = signal.getsignal(signal.SIGTERM)
    assert cli.main(["lab", str(tmp_path)]) == 0
    assert signal.getsignal(signal.SIGTERM) == before


def test_options(started):
    assert cli.main(["lab", "--port", "8123", "--no-browser", "--allow-root"]) == 7
    assert started[0].command[6:] == [
        "--ServerApp.port=8123",
        "--ServerApp.port_retries=0",
        "--no-browser",
        "--allow-root",
    ]


def test_nothing_there(started, capsys):
    assert cli.main(["lab", "absent.ipynb"]) == 1
    assert "there is no notebook or folder absent.ipynb" in capsys.readouterr().err
    assert started == []


def test_administrator(started, monkeypatch, capsys):
    monkeypatch.setattr(lab, "is_administrator", lambda: True)
    assert cli.main(["lab"]) == 1
    assert "--allow-root" in capsys.readouterr().err
    assert started == []
    assert cli.main(["lab", "--allow-root"]) == 7


def test_not_installed(started, monkeypatch, capsys):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda _: None)
    assert cli.main(["lab"]) == 1
    assert 'JupyterLab is not installed\nhelp: pip install "dsim[lab]"' in capsys.readouterr().err
    assert started == []
