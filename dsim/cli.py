"""The command `dsim`: parses the arguments and calls `dsim.tooling`.

Exit status: 0, or 1 when something failed (an error with its next step is on standard error), 2 for
invalid arguments, 130 after Ctrl-C, 143 after SIGTERM.
"""

from __future__ import annotations

import argparse
import io
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from dsim._version import __version__
from dsim.tooling.code_cache import manage_cache
from dsim.tooling.demo import demo_notebooks
from dsim.tooling.doctor import doctor
from dsim.tooling.errors import ToolError
from dsim.tooling.explain import explain
from dsim.tooling.lab import start_lab
from dsim.tooling.lessons import write_lessons
from dsim.tooling.notebooks import VIEW_BYTES
from dsim.tooling.output import OutputError, checked_output
from dsim.tooling.run import run_all
from dsim.tooling.stopping import Terminations

TIMEOUT = 600
LAST_PORT = 65535


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line without the program's name; by default that of this process.

    Returns
    -------
    int
        The exit status.
    """
    stops = Terminations()
    if arguments is None:  # the process is the command's own
        stops.listen()
        _without_grammars()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # some terminals cannot show all of a notebook's characters
    try:
        with checked_output():
            return _run_command(arguments, stops)
    except OutputError as error:
        if not error.has_no_reader:
            print(f"dsim: error: {error}", file=sys.stderr)
        return 1


def _run_command(arguments: Sequence[str] | None, stops: Terminations) -> int:
    options = parser().parse_args(arguments)
    try:
        return options.command(options)
    except ToolError as error:
        print(f"dsim: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        began = "\n" if sys.stderr.isatty() else ""  # behind the terminal's ^C
        print(f"{began}dsim: stopped{': ' if str(stopped) else ''}{stopped}", file=sys.stderr)
        return stops.status()


def _without_grammars() -> None:
    """Lets jsonschema, which notebooks are validated by, begin without a check of addresses in Unicode.

    Notebooks have none, and the module builds 38 grammars when it is imported: a second of each start.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # as if it were not installed


def parser() -> argparse.ArgumentParser:
    """The argument parser of the command.

    Returns
    -------
    argparse.ArgumentParser
        Its namespace has `command`, a function that takes the namespace and returns the exit status.
    """
    top = argparse.ArgumentParser(
        prog="dsim",
        description="Differentiable simulation in Jupyter.",
        epilog="`dsim COMMAND --help` says more about a command.",
    )
    top.add_argument("--version", action="version", version=f"dsim {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    lab = commands.add_parser(
        "lab",
        help="open JupyterLab, on this machine only",
        description="Open JupyterLab. It listens on the loopback address only, whatever is configured.",
    )
    lab.add_argument(
        "path", nargs="?", type=Path, default=Path(), help="a notebook or a folder (default: this one)"
    )
    lab.add_argument("--port", type=port, help="port to listen on (default: a free one from 8888 on)")
    lab.add_argument("--no-browser", action="store_true", help="do not open the browser")
    lab.add_argument("--allow-root", action="store_true", help="start as the administrator all the same")
    lab.set_defaults(command=lab_command)

    lessons = commands.add_parser(
        "lessons",
        help="write the lessons of the course, to work on",
        description="Write the eight lessons of the course, without solutions; those that are there stay.",
    )
    lessons.add_argument(
        "folder", nargs="?", type=Path, default=Path("lessons"), help="for the lessons (default: lessons)"
    )
    lessons.set_defaults(command=lessons_command)

    demo = commands.add_parser(
        "demo",
        help="run the notebooks that come with dsim, and leave pages with pictures",
        description="Run the notebooks that come with dsim from top to bottom and leave a page of each.",
    )
    demo.add_argument("names", nargs="*", metavar="NAME", help="which of them (default: all)")
    add_run_options(demo, output=Path("build", "demo"))
    demo.set_defaults(command=demo_command)

    run = commands.add_parser(
        "run",
        help="run a notebook without a browser, and leave a page of it",
        description="Run notebooks from top to bottom without a browser and leave a page of each.",
    )
    run.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK", help="an .ipynb file")
    add_run_options(run, output=Path("build", "run"))
    run.add_argument("--inplace", action="store_true", help="store the outputs in the notebook too")
    run.set_defaults(command=run_command)

    check = commands.add_parser(
        "doctor",
        help="say what dsim finds on this machine: versions, threads, CUDA, the Lab extension",
        description="Say what dsim finds on this machine, and how to mend what is missing.",
    )
    check.set_defaults(command=doctor_command)

    meaning = commands.add_parser(
        "explain",
        help="say what the code of an error or a warning means, with an example",
        description="Say what the code of an error or a warning means, with a program that gives it.",
    )
    meaning.add_argument("code", nargs="?", metavar="CODE", help="as in error[CODE] (default: list all)")
    meaning.set_defaults(command=explain_command)

    cache = commands.add_parser(
        "cache",
        help="say where machine code is kept and how much, or remove it",
        description="Say where machine code is kept for later processes, and how much of it.",
    )
    cache.add_argument("--clear", action="store_true", help="remove it; programs compile again")
    cache.set_defaults(command=cache_command)
    return top


def add_run_options(command: argparse.ArgumentParser, output: Path) -> None:
    """Options of the commands that run notebooks."""
    command.add_argument(
        "--output", type=Path, default=output, metavar="FOLDER", help=f"for pages (default: {output})"
    )
    command.add_argument(
        "--timeout",
        type=positive,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"for one cell (default: {TIMEOUT})",
    )
    command.add_argument(
        "--kernel", default="python3", metavar="NAME", help="kernel to use (default: this Python)"
    )
    command.add_argument(
        "--budget",
        type=positive,
        default=VIEW_BYTES,
        metavar="BYTES",
        help=f"for the frames of each view in a page, which are thinned to it (default: {VIEW_BYTES})",
    )


def positive(text: str) -> int:
    """A whole number above 0, for argparse."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def port(text: str) -> int:
    """The number of a TCP port, for argparse; 0 lets the system choose one."""
    if not text.isdecimal() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, a number from 0 to {LAST_PORT}")
    return int(text)


def lab_command(options: argparse.Namespace) -> int:
    """`dsim lab`."""
    return start_lab(
        options.path, port=options.port, browser=not options.no_browser, allow_root=options.allow_root
    )


def lessons_command(options: argparse.Namespace) -> int:
    """`dsim lessons`."""
    first, *_ = write_lessons(options.folder)
    print(f"the lessons are in {options.folder}; begin with the first: dsim lab {shlex.quote(str(first))}")
    return 0


def demo_command(options: argparse.Namespace) -> int:
    """`dsim demo`."""
    run_all(
        demo_notebooks(options.names),
        options.output,
        timeout=options.timeout,
        kernel=options.kernel,
        budget=options.budget,
    )
    return 0


def run_command(options: argparse.Namespace) -> int:
    """`dsim run`."""
    run_all(
        options.notebooks,
        options.output,
        timeout=options.timeout,
        kernel=options.kernel,
        keep_outputs=options.inplace,
        budget=options.budget,
    )
    return 0


def doctor_command(_: argparse.Namespace) -> int:
    """`dsim doctor`."""
    return doctor()


def explain_command(options: argparse.Namespace) -> int:
    """`dsim explain`."""
    explain(options.code)
    return 0


def cache_command(options: argparse.Namespace) -> int:
    """`dsim cache`."""
    manage_cache(clear=options.clear)
    return 0
