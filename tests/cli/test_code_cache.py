"""`dsim cache`, and what `dsim doctor` says of it."""

import pytest

from dsim import cli
from dsim.backends.cpu.disk_cache import DiskCache
from dsim.tooling import doctor

KEY = bytes(range(20, 40))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one module."""
    monkeypatch.setenv("DSIM_CACHE_DIR", str(tmp_path / "code"))
    DiskCache(tmp_path / "code").save(KEY, bytes(1 << 20))
    return tmp_path / "code"


def said(capsys, *arguments):
    """What the command prints."""
    assert cli.main(["cache", *arguments]) == 0
    return capsys.readouterr().out


def test_where_it_is_and_how_much(folder, capsys):
    assert said(capsys) == f"{folder}: 1 module, 1.0 of 512 MiB\n"
    (finding,) = doctor.check_code_cache()
    assert (finding.level, finding.detail) == ("ok", f"{folder}: 1 module, 1.0 of 512 MiB")


def test_clear(folder, capsys):
    assert said(capsys, "--clear") == f"removed 1.0 MiB from {folder}\n"
    assert said(capsys) == f"{folder}: 0 modules, 0.0 of 512 MiB\n"


def test_switched_off(monkeypatch, capsys):
    monkeypatch.setenv("DSIM_CACHE_DIR", "")
    assert said(capsys) == said(capsys, "--clear") == "no machine code is kept: DSIM_CACHE_DIR is empty\n"
    (finding,) = doctor.check_code_cache()
    assert (finding.level, finding.detail) == ("note", "off: DSIM_CACHE_DIR is empty")


def test_a_folder_that_is_of_no_use(folder, capsys):
    folder.chmod(0o777)
    assert said(capsys) == f"{folder} is of no use: other users may write to the folder\n"
    assert cli.main(["cache", "--clear"]) == 1
    assert "other users may write to the folder" in capsys.readouterr().err
    (finding,) = doctor.check_code_cache()
    assert finding.level == "note"
    assert finding.help == "DSIM_CACHE_DIR names another folder, or is empty for none"
