"""The tests' own search for a Chromium."""

import subprocess

import pytest

from tests.browser import chromium

INSTALL = ["install", "--yes", "--no-install-recommends"]


class Machine:
    """The programs of a machine, what packages there are for it, and what apt-get was asked there."""

    def __init__(self):
        self.programs = {"apt-get"}
        self.packages = {"chromium", "chromium-headless-shell"}
        self.asked = []


@pytest.fixture
def machine(monkeypatch):
    """A machine where root runs the tests, and apt-get works."""
    machine = Machine()
    programs, asked = machine.programs, machine.asked

    def run(command, **_):
        asked.append(command[3:])
        missing = command[3] == "install" and command[-1] not in machine.packages
        if command[3] == "install" and not missing:
            programs.add(command[-1])
        return subprocess.CompletedProcess(command, 100 if missing else 0)

    monkeypatch.setattr(chromium.shutil, "which", lambda name: f"/bin/{name}" if name in programs else None)
    monkeypatch.setattr(chromium.subprocess, "run", run)
    monkeypatch.setattr(chromium.os, "geteuid", lambda: 0)
    return machine


def test_takes_what_is_there(machine):
    machine.programs.add("google-chrome")
    assert chromium.main() == 0
    assert chromium.find() == "/bin/google-chrome"
    assert machine.asked == []


def test_root_installs_the_headless_shell(machine):
    assert chromium.main() == 0
    assert machine.asked == [["update"], [*INSTALL, "chromium-headless-shell"]]


def test_root_installs_the_browser_where_there_is_no_package_of_the_shell(machine):
    machine.packages.discard("chromium-headless-shell")
    assert chromium.main() == 0
    assert [command[-1] for command in machine.asked] == ["update", "chromium-headless-shell", "chromium"]
    assert chromium.find() == "/bin/chromium"


def test_the_headless_shell_comes_first(machine):
    machine.programs.update(["chromium", "chromium-headless-shell"])
    assert chromium.find() == "/bin/chromium-headless-shell"


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
