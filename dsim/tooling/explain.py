"""What the code of an error or a warning means: `dsim explain`."""

from __future__ import annotations

import re

from dsim.diagnostics import CODES
from dsim.diagnostics.explanations import plain
from dsim.diagnostics.similar import similar
from dsim.tooling.errors import ToolError


def explain(code: str | None) -> None:
    """Print what a code means and a program that gives it, or all codes.

    Parameters
    ----------
    code : str, optional
        Such as ``"out-of-bounds"``, or as a message begins: ``"error[out-of-bounds]"``.

    Raises
    ------
    ToolError
        When no diagnostic has this code.
    """
    if code is None:
        print("\n".join(f"{level.value:8} {name}" for name, level in CODES.items()))
        return
    inside = re.search(r"\[([a-z-]+)\]", code)
    name = inside[1] if inside else code
    if name not in CODES:
        near = similar(name, list(CODES))
        guess = f"did you mean `{near}`?" if near else "`dsim explain` lists all codes"
        raise ToolError(f"no diagnostic has the code `{name}`", help=guess)
    print(f"{CODES[name].value}[{name}]\n")
    print(plain(name), end="")
