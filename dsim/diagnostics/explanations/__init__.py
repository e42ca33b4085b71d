"""What each code of a diagnostic means, with a program that gives it: Markdown, a section for each code.

`dsim explain` prints a section, and the documentation's page on errors includes all of them. A test runs
the programs.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import NamedTuple

FILES = ("language.md", "fields.md", "derivatives.md", "observations.md")
_LINK = re.compile(r"\[([^\]]+)\]\((\w[\w-]*)\.md(?:#[\w-]+)?\)")
_BLOCK = re.compile(r"^```\w*\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


class ExplanationPart(NamedTuple):
    """A paragraph of an explanation, or a block of code or output."""

    block: bool
    text: str


@cache
def explanations() -> dict[str, str]:
    """The section of each code, without its title.

    Returns
    -------
    dict of str to str
        Markdown, by code, in the order of the files.
    """
    texts = [resources.files(__name__).joinpath(name).read_text(encoding="utf-8") for name in FILES]
    return {
        title: body.strip() + "\n"
        for text in texts
        for title, body in re.findall(r"^## ([a-z-]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    }


def plain(code: str) -> str:
    """The section of a code for readers without the other pages: links are names of pages."""
    return _LINK.sub(r"\1 (page `\2`)", explanations()[code])


def parts(code: str) -> list[ExplanationPart]:
    """The section of a code in paragraphs and blocks, without links."""
    found: list[ExplanationPart] = []
    for number, text in enumerate(_BLOCK.split(plain(code))):
        if number % 2:
            found.append(ExplanationPart(True, text))
        else:
            paragraphs = (" ".join(each.split()) for each in text.split("\n\n"))
            found.extend(ExplanationPart(False, each) for each in paragraphs if each)
    return found
