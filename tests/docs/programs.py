"""Programs in Markdown, and what they print."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import warnings
from itertools import pairwise
from typing import Any

from dsim.diagnostics import DsimError

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def check(text: str, name: str) -> list[str]:
    """Runs the blocks marked ``python`` as one program; asserts and returns what they print.

    A block marked ``text`` behind one is its output, with the warnings that it gives and the error that it
    ends with. There, a line ``…`` stands for any number of lines.
    """
    program, names, outputs = "", {"__name__": name}, []
    for (kind, block), (following, expected) in pairwise([*BLOCK.findall(text), ("", "")]):
        if kind != "python":
            continue
        begin = program.count("\n")
        program += block
        found = _run(f"{name}.py", program, begin, names)
        outputs.append(found)
        if following == "text":
            assert re.fullmatch(_pattern(expected), found), f"{block}\nprints\n\n{found}\nnot\n\n{expected}"
    return outputs


def _run(file: str, program: str, begin: int, names: dict[str, Any]) -> str:
    """What the program prints from line `begin` on."""
    lines = program.splitlines(keepends=True)
    linecache.cache[file] = (len(program), None, lines, file)
    code = compile("\n" * begin + "".join(lines[begin:]), file, "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: print(message)
        try:
            exec(code, names)
        except DsimError as error:
            print(error)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _pattern(expected: str) -> str:
    return "".join(
        r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in expected.splitlines()
    )
