"""The page "Coming from Taichi" lists all of Taichi's names; ``--update-golden`` regenerates the list."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest

from dsim.api.absent import WHY, AbsentError
from tests.docs.taichi_names import NAMES

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-taichi.md"
SECTION = re.compile(r"^## Every name\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
HEAD = """## Every name

of Taichi 1.7.4's modules. Asking dsim for one that is not there is an `AttributeError` that says what stands
here; in a kernel it is the error's help.
"""


def module(name: str) -> ModuleType:
    return importlib.import_module(name.replace("ti", "dsim", 1))


def absent(of: ModuleType, name: str) -> AbsentError | None:
    try:
        getattr(of, name)
    except AbsentError as error:
        return error
    return None


def section() -> str:
    return HEAD + "\n" + "\n\n".join(paragraph(name, listed.split()) for name, listed in NAMES.items()) + "\n"


def paragraph(name: str, listed: list[str]) -> str:
    """What there is of a module's names, and what there is not."""
    names = sorted(listed, key=str.lower)
    missing = {n: e.help for n in names if (e := absent(module(name), n)) is not None}
    there = quoted(n for n in names if n not in missing)
    if not missing:
        return f"`{name}` has all {len(names)}: {there}"
    count = f"{len(names) - len(missing)} of {len(names)}" if there else "none"
    rows = [
        f"| {quoted(n for n in names if missing.get(n) == why)} | {why} |"
        for why in dict.fromkeys(missing.values())
    ]
    table = "\n".join(("| not there | |", "|---|---|", *rows))
    return f"`{name}` has {count}{f': {there}' if there else ''}\n\n{table}"


def quoted(names: Iterable[str]) -> str:
    return " ".join(f"`{n}`" for n in names)


def test_the_list_is_fresh(request: pytest.FixtureRequest) -> None:
    page = PAGE.read_text(encoding="utf-8")
    made = section()
    if request.config.getoption("--update-golden"):
        PAGE.write_text(SECTION.sub(lambda _: made.rstrip() + "\n\n", page).rstrip() + "\n", encoding="utf-8")
    found = SECTION.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0].rstrip() == made.rstrip()


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there_or_says_why_not(name: str) -> None:
    names = NAMES[name].split()
    assert names == sorted(set(names))
    for n in names:
        missing = absent(module(name), n)
        assert missing is None or missing.help, f"{name}.{n} is not there and does not say why"


def test_no_reason_is_given_for_a_name_that_is_there() -> None:
    there = {n for name, listed in NAMES.items() for n in listed.split() if not absent(module(name), n)}
    assert there & set(WHY) == {"argpack", "length"}  # Taichi has two of each
    assert {"Tape", "field", "vec3", "svd"} <= there
