"""`dsim explain`."""

import pytest

from dsim import cli
from dsim.diagnostics import CODES


def test_a_code(capsys):
    assert cli.main(["explain", "out-of-bounds"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("error[out-of-bounds]\n\nAn index outside of its field.")
    assert "x[i + 1]" in out


def test_as_a_message_begins(capsys):
    assert cli.main(["explain", "warning[serial]:"]) == 0
    assert capsys.readouterr().out.startswith("warning[serial]\n")


def test_links_are_named(capsys):
    assert cli.main(["explain", "reruns"]) == 0
    out = capsys.readouterr().out
    assert "checkpoints (page `checkpoints`)" in out
    assert "](" not in out


def test_all_codes(capsys):
    assert cli.main(["explain"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == list(CODES)


@pytest.mark.parametrize(
    ("code", "guess"),
    [("out-of-bound", "did you mean `out-of-bounds`?"), ("qqq", "`dsim explain` lists all codes")],
)
def test_no_such_code(code, guess, capsys):
    assert cli.main(["explain", code]) == 1
    assert capsys.readouterr().err == f"dsim: error: no diagnostic has the code `{code}`\nhelp: {guess}\n"
