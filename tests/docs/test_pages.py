"""The code of the documentation's pages runs, and prints what the pages say that it prints.

On a page, blocks marked ``python`` are one program; a block marked ``text`` behind one is its output, with
the warnings that it gives and the error that it ends with. There, a line ``…`` stands
for any number of lines.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import warnings
from itertools import pairwise
from pathlib import Path

import pytest

import dsim as ds
from dsim.diagnostics import CODES, DsimError

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python\n" in page.read_text(encoding="utf-8"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ds.init()
    blocks = [(kind, text) for kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))]
    program, names = "", {"__name__": page.stem}
    for (kind, text), (following, expected) in pairwise([*blocks, ("", "")]):
        if kind != "python":
            continue
        begin = program.count("\n")
        program += text
        found = _run(f"{page.stem}.py", program, begin, names)
        if following == "text":
            assert re.fullmatch(_pattern(expected), found), f"{text}\nprints\n\n{found}\nnot\n\n{expected}"


def _run(file, program, begin, names):
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


def _pattern(expected):
    return "".join(
        r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in expected.splitlines()
    )


def test_every_code_is_explained():
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `([a-z-]+)` \| (\w+) \|", page, re.MULTILINE))
    assert table == {code: level.value for code, level in CODES.items()}
