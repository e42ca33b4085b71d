"""What the codes of diagnostics mean, for a person who clicks on one: as `dsim explain` prints it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from dsim.diagnostics.explanations import parts
from dsim.notebook.report.locations import Json

DOCS_VARIABLE = "DSIM_DOCS"


def explained(diagnostics: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The explanations of diagnostics of a report, each once.

    Parameters
    ----------
    diagnostics : iterable of mapping
        With their `level` and `code`.

    Returns
    -------
    list of dict
        Each with `level` and `code`, `parts` of which each is a `block` or not, and, where an address of the
        documentation is configured, its `address` there.
    """
    named = dict.fromkeys((d["level"], d["code"]) for d in diagnostics)
    return [_explanation(level, code) for level, code in named]


def _explanation(level: str, code: str) -> Json:
    # A tape saves what a note says is overwritten; the error has the same name in reports.
    key = "overwrites" if (level, code) == ("note", "overwritten") else code
    made: Json = {
        "level": level,
        "code": code,
        "parts": [{"block": part.block, "text": part.text} for part in parts(key)],
    }
    site = os.environ.get(DOCS_VARIABLE, "").rstrip("/")
    if site.startswith(("http://", "https://")):
        made["address"] = f"{site}/errors.html#{key}"
    return made
