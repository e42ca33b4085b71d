"""The command line: arguments, output, and errors."""

import subprocess
import sys
from pathlib import Path

import pytest

from dsim import cli
from dsim._version import __version__
from dsim.tooling.errors import ToolError


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        cli.main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"dsim {__version__}\n"


@pytest.mark.parametrize(
    "command", [[], ["lab"], ["lessons"], ["demo"], ["run"], ["doctor"], ["explain"], ["cache"]]
)
def test_help(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        cli.main([*command, "--help"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out.startswith(" ".join(["usage: dsim", *command]))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "required: COMMAND"),
        (["gradient"], "invalid choice: 'gradient'"),
        (["run"], "required: NOTEBOOK"),
        (["run", "a.ipynb", "--timeout", "0"], "'0' is not a whole number above 0"),
        (["run", "a.ipynb", "--timeout", "soon"], "'soon' is not a whole number above 0"),
        (["lab", "--port=-1"], "'-1' is not a port, a number from 0 to 65535"),
        (["lab", "--port", "65536"], "'65536' is not a port"),
        (["lab", "--port", "any"], "'any' is not a port"),
        (["lab", "--ip", "0.0.0.0"], "unrecognized arguments: --ip"),
    ],
)
def test_not_understood(arguments, says, capsys):
    with pytest.raises(SystemExit) as exit_:
        cli.main(arguments)
    assert exit_.value.code == 2
    assert says in capsys.readouterr().err


def test_error_has_a_next_step(monkeypatch, capsys):
    def fail() -> int:
        raise ToolError("the sky is down", help="lift it")

    monkeypatch.setattr(cli, "doctor", fail)
    assert cli.main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "dsim: error: the sky is down\nhelp: lift it\n"
    assert captured.out == ""


def test_error_without_a_next_step():
    assert str(ToolError("the sky is down")) == "the sky is down"


def test_ctrl_c(monkeypatch, capsys):
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "doctor", interrupted)
    assert cli.main(["doctor"]) == 130
    assert capsys.readouterr().err == "dsim: stopped\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert cli.main(["doctor"]) == 130
    assert capsys.readouterr().err == "\ndsim: stopped\n", "below what the terminal shows for Ctrl-C"


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "dsim", "run", "absent.ipynb"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert (
        done.stderr
        == "dsim: error: there is no notebook absent.ipynb\nhelp: give the path of an .ipynb file\n"
    )


def test_a_command_begins_without_the_grammars_of_addresses(capsys):
    """Importing nbformat would build them; who calls `main` in a process of their own keeps them."""
    program = "import sys, dsim.cli\nsys.argv = ['dsim', 'cache']\ndsim.cli.main()\nimport nbformat\n"
    command = [sys.executable, "-c", program + "print('lark' in sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    cli.main(["cache"])
    assert sys.modules.get("rfc3987_syntax", "not imported yet") is not None
