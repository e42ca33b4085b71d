"""The `%%kernel` line: a name with its signature, then options, defined by one table.

Parser, help and completions are generated from the table. The names in the options are looked up
elsewhere (`request.py`).
"""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from dsim.diagnostics.similar import similar
from dsim.ir.probe_buffer import AXES

SHOWN = ("adjoint", "ir", "python", "llvm", "ptx")
_NAME = re.compile(r"\s*([^\W\d]\w*)")
_LETTER = re.compile(r"[^\W\d]")
_SPACED = re.compile(r",\s+")
_VALUELESS = re.compile(r"argument (--\w+): expected one argument")
_RESULT = re.compile(r"\s*->\s*((?:(?!\s(?:--|#)).)+)")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name, its metavariable (empty for a flag), and its help."""

    name: str
    value: str
    help: str
    choices: tuple[str, ...] = ()


TABLE = (
    Option("--loss", "FIELD", "run it under a tape, with the 0-D field FIELD as the loss, and report"),
    Option("--wrt", "FIELDS", "the fields whose gradient is reported: x or x,v; all of them by default"),
    Option("--forward", "FIELDS", "run it in forward mode: tangents of 1 in these fields"),
    Option("--run", "", "run it once, without derivatives, and report the values of its lines"),
    Option(
        "--probe",
        "I,J",
        "run it, and inspect this iteration of the outermost loop; by default one that reaches many lines",
    ),
    Option("--check", "", "compare the gradient with differences of the loss"),
    Option("--live", "", "report again when numbers that it depends on change, as by a slider elsewhere"),
    Option("--show", "WHICH", "open with a listing: adjoint, ir, python, llvm or ptx", SHOWN),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options as written; `probe` as numbers."""

    loss: str | None = None
    wrt: tuple[str, ...] = ()
    forward: tuple[str, ...] = ()
    run: bool = False
    probe: tuple[int, ...] | None = None
    check: bool = False
    show: str | None = None
    live: bool = False

    @property
    def runs(self) -> bool:
        """Whether the kernel is run for the report."""
        return self.run or self.probe is not None or self.loss is not None or bool(self.forward)


@dataclass(frozen=True, slots=True)
class Header:
    """A `%%kernel` line, in parts.

    Attributes
    ----------
    name : str or None
        The kernel whose body the cell is; None when the cell holds functions.
    signature : str
        Its parameters with their parentheses, and ``-> …`` behind them; empty when it has no name.
    column : int
        The column of the name in the line.
    options : Options
        The rest.
    """

    name: str | None
    signature: str
    column: int
    options: Options


def header(line: str, start: int) -> Header:
    """The parts of `line`, from column `start` on.

    Raises
    ------
    UsageError
        With one line that states the error.
    """
    found = _NAME.match(line, start)
    if found is None:
        return Header(None, "", start, options(line[start:], named=False))
    name, end = found.group(1), found.end()
    if keyword.iskeyword(name):
        raise UsageError(f"`{name}` is a Python keyword, and cannot be the name of a kernel")
    if line[end:].lstrip()[:1] == "(":
        end = _closing(line, line.index("(", end), name)
    parameters = line[found.end() : end] or "()"
    result = _RESULT.match(line, end)
    if result is not None:
        end = result.end()
    return Header(name, parameters + (result.group() if result else ""), found.start(1), options(line[end:]))


def _closing(line: str, at: int, name: str) -> int:
    depth = 0
    for n, c in enumerate(line[at:], at):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0:
            return n + 1
    raise UsageError(f"the parenthesis behind `{name}` is not closed: %%kernel {name}(t: ds.i32)")


def parser() -> MagicArgumentParser:
    """The parser of the options."""
    made = MagicArgumentParser(prog="%%kernel")
    made.allow_abbrev = False
    for option in TABLE:
        if not option.value:
            made.add_argument(option.name, action="store_true", help=option.help)
        elif option.choices:
            made.add_argument(option.name, choices=option.choices, help=option.help)
        else:
            made.add_argument(option.name, metavar=option.value, help=option.help)
    return made


def options(text: str, named: bool = True) -> Options:
    """The options in `text`, up to a comment; `named` says whether the kernel's name stands before it.

    Raises
    ------
    UsageError
        With one line that states the error.
    """
    try:
        words = shlex.split(_SPACED.sub(",", text), comments=True)
        given, unknown = parser().parse_known_args(words)
    except ValueError as error:  # quotes that do not match
        raise UsageError(f"{error}: {text.strip()}") from None
    except UsageError as error:
        raise UsageError(_VALUELESS.sub(_valueless, str(error))) from None
    if unknown:
        raise UsageError(_unknown(unknown[0], named))
    made = Options(
        given.loss,
        _names(given.wrt, "--wrt"),
        _names(given.forward, "--forward"),
        given.run,
        _numbers(given.probe),
        given.check,
        given.show,
        given.live,
    )
    _refuse_lonely(made)
    return made


def _valueless(error: re.Match[str]) -> str:
    option = next(o for o in TABLE if o.name == error.group(1))
    return f"{option.name} needs a value: {option.name} {option.value}"


def _unknown(word: str, named: bool) -> str:
    """The error about a word that belongs to no option."""
    if not word.startswith("-"):
        if named:
            return f"`{word}` belongs to no option: separate lists by commas, as in --wrt x,v"
        if not word.partition("(")[0].isidentifier():
            return f"`{word}` cannot be the name of a kernel"
        return f"the name of the kernel comes first: %%kernel {word} --loss …"
    names = [o.name for o in TABLE]
    near = similar(word.partition("=")[0], names)
    return (
        f"there is no option {word}, did you mean {near}?"
        if near
        else (f"there is no option {word}; there are {', '.join(names)}")
    )


def _refuse_lonely(o: Options) -> None:
    """Refuses options that require another one."""
    needs_loss = [name for name, given in (("--wrt", o.wrt), ("--check", o.check)) if given]
    if needs_loss and o.loss is None:
        advice = "add `--loss U`, with a field of shape () that it writes"
        raise UsageError(f"{needs_loss[0]} needs a loss: {advice}")
    if o.live and not o.runs:
        raise UsageError("--live needs a run to follow: add `--loss U`, `--forward x` or `--run`")


def _names(text: str | None, option: str) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(n.strip() for n in text.split(","))
    if not all(names):
        raise UsageError(f"{option} takes fields separated by commas: {option} x,v")
    return names


def _numbers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(int(n) for n in text.strip("()").split(","))
    except ValueError:
        message = f"--probe takes numbers separated by commas, not {text!r}: --probe 3,5"
        raise UsageError(message) from None
    if len(numbers) > AXES:
        raise UsageError(f"--probe takes at most {AXES} numbers, one for each index of the outermost loop")
    return numbers


def usage(words: Sequence[Option] = TABLE) -> str:
    """The options as a table for the help."""
    shown = [(f"{o.name} {o.value}".rstrip(), o.help) for o in words]
    width = max(len(name) for name, _ in shown)
    return "\n".join(f"    {name:<{width}}  {text}" for name, text in shown)
