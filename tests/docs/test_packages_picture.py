"""The picture of the packages shows the layers that the lint checks, and leads to sections that exist."""

import re
from pathlib import Path

from docs.pictures.packages import PICTURE, SECTIONS, layers, svg

ROOT = Path(__file__).parents[2]


def test_the_picture_is_up_to_date():
    assert PICTURE.read_text(encoding="utf-8") == svg(), "run `python -m docs.pictures.packages`"


def test_it_shows_every_package():
    drawn = {name for container in ("dsim", "dsim.runtime") for row in layers(container) for name in row}
    packages = {
        p.parent.name for p in (*ROOT.glob("dsim/*/__init__.py"), *ROOT.glob("dsim/runtime/*/__init__.py"))
    }
    assert packages <= drawn


def test_numbers_lead_to_sections():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    sections = {int(n): title for n, title in re.findall(r"^## (\d+)\. (.*)$", text, re.MULTILINE)}
    for name, number in SECTIONS.items():
        assert f"`{name}" in sections[number]
