"""The tests' own search for a Chromium."""

import subprocess

import pytest

from tests.browser import chromium


class Machine:
    """The programs of a machine, and what apt-get was asked there."""

    def __init__(self):
        self.programs = {"apt-get"}
        self.asked = []


@pytest.fixture
def machine(monkeypatch):
    """A machine where root runs the tests, and apt-get works."""
    machine = Machine()
    programs, asked = machine.programs, machine.asked

    def run(command, **_):
        asked.append(command[3:])
        if command[3] == "install":
            programs.add("chromium")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(chromium.shutil, "which", lambda name: f"/bin/{name}" if name in programs else None)
    monkeypatch.setattr(chromium.subprocess, "run", run)
    monkeypatch.setattr(chromium.os, "geteuid", lambda: 0)
    return machine


def test_takes_what_is_there(machine):
    machine.programs.add("google-chrome")
    assert chromium.main() == 0
    assert chromium.find() == "/bin/google-chrome"
    assert machine.asked == []


def test_root_installs_it(machine):
    assert chromium.main() == 0
    assert machine.asked == [["update"], ["install", "--yes", "--no-install-recommends", "chromium"]]


@pytest.mark.parametrize("lacks", ["root", "apt-get"])
def test_else_one_line_says_how(machine, lacks, monkeypatch, capsys):
    machine.programs.discard(lacks)
    if lacks == "root":
        monkeypatch.setattr(chromium.os, "geteuid", lambda: 1000)
    assert chromium.main() == 1
    assert machine.asked == []
    assert capsys.readouterr().err.splitlines() == [chromium.MISSING]


def test_an_install_that_fails_says_how_too(machine, monkeypatch, capsys):
    monkeypatch.setattr(
        chromium.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 100)
    )
    assert chromium.main() == 1
    assert capsys.readouterr().err.splitlines()[-1] == chromium.MISSING
