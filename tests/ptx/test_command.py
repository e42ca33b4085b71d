"""`make ptx`, for one program."""

import io
import sys
from pathlib import Path

import pytest

from dsim.backends.cuda import toolchain
from dsim.backends.cuda.toolchain import Tool
from tests.ptx.__main__ import main


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.mark.cuda_tools("libdevice", "ptxas")
def test_a_run_and_the_next_one(capsys):
    assert main(["gravity", "--real", "f64"]) == 0
    first, told = capsys.readouterr()
    assert told == ""  # no bar in a log
    names = [line.rpartition(",")[0] for line in first.splitlines() if line.startswith("gravity: ")]
    assert set(names) == {"gravity: run", "gravity: run, adjoint"}
    assert "sm_90-f64: " in first
    assert "since the last run" not in first
    assert main(["gravity", "--real", "f64"]) == 0
    told = "since the last run: 0 take more of something, 0 less, 0 are new, 0 are gone"
    assert told in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.cuda_tools("libdevice", "ptxas")
def test_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    assert main(["gravity", "sum_of_a_plane"]) == 0
    last = sys.stderr.getvalue().rstrip().rpartition("\r")[2]
    assert last.startswith("100%|")
    assert " 2/2 " in last
    assert "sum_of_a_plane" in last


def test_an_unknown_program(capsys):
    with pytest.raises(SystemExit):
        main(["gravitation"])
    assert "no program is called gravitation" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["ptxas", "libdevice"])
def test_without_a_tool(monkeypatch, capsys, missing):
    there = {"ptxas": Tool(Path("ptxas"), (13, 0)), "libdevice": Path("libdevice.10.bc")}
    for name, found in there.items():
        monkeypatch.setattr(
            toolchain, name, lambda found=found, name=name: None if name == missing else found
        )
    assert main(["gravity"]) == 1
    assert f"{missing} is not installed: pip install" in capsys.readouterr().err
