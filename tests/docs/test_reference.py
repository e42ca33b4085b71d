"""The reference has every public name, once, with an example."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import dsim as ds
from dsim.ir.types import ScalarType

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
MODULES = ("ad", "algorithms", "math", "operations", "plot", "tools", "types")
SIMPLE = (str, tuple, int, float, ScalarType, type(ds.cpu))


def _described():
    """The full names that directives of Sphinx describe, in their order."""
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", TEXT, re.DOTALL):
        module = re.search(r"currentmodule:: (\S+)", block)[1]
        for name in re.findall(r"^\.\. auto\w+:: (\w+)", block, re.MULTILINE):
            yield f"{module}.{name}"


DESCRIBED = list(_described())
PROGRAMS = "\n".join(re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


def _public():
    """Public names, and the objects that they stand for."""
    for name in ds.__all__:
        if name not in {*MODULES, "__version__"}:
            yield name, getattr(ds, name)
    for module in MODULES:
        names = getattr(ds, module).__all__
        yield from ((f"{module}.{name}", getattr(getattr(ds, module), name)) for name in names)


PUBLIC = dict(_public())


def _of(full):
    found = ds
    for part in full.split(".")[1:]:
        found = getattr(found, part)
    return found


def test_nothing_is_described_twice():
    assert sorted(set(DESCRIBED)) == sorted(DESCRIBED)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_in_the_reference(name):
    last = name.rpartition(".")[2]
    same = [full for full in DESCRIBED if full.rpartition(".")[2] == last and full.startswith("dsim.")]
    assert any(_of(full) is PUBLIC[name] for full in same) or re.search(rf"`(ds\.)?({name}|{last})\b", TEXT)


@pytest.mark.parametrize("name", [n for n, value in PUBLIC.items() if not isinstance(value, SIMPLE)])
def test_every_public_name_has_an_example(name):
    names = [other for other, value in PUBLIC.items() if value is PUBLIC[name]]
    docs = inspect.getdoc(PUBLIC[name]) or ""
    assert ">>>" in docs or any(re.search(rf"\b{other.rpartition('.')[2]}\b", PROGRAMS) for other in names)
