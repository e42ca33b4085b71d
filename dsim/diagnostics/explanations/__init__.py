"""What each code of a diagnostic means, with a program that gives it: Markdown, a section for each code.

`dsim explain` prints a section, and the documentation's page on errors includes all of them. A test runs
the programs.
"""

from __future__ import annotations

import re
from importlib import resources

FILES = ("language.md", "fields.md", "derivatives.md", "observations.md")


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
