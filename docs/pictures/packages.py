"""Draws `packages.svg` from the layers in `pyproject.toml`: ``python -m docs.pictures.packages``.

A package imports what stands below it. A number is the section of the architecture page that describes it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
PICTURE = FOLDER / "packages.svg"
SECTIONS = {
    "frontend": 1,
    "analysis": 2,
    "passes": 2,
    "autodiff": 3,
    "backends": 4,
    "runtime": 5,
    "tapes": 6,
    "recording": 6,
    "sweeping": 6,
}
ROW, GAP, TOP = 30, 8, 56
LEFT = 52, 520  # where the layers of dsim are, and how wide
RIGHT = 640, 240  # and those of the runtime
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2937; text-anchor: middle }
.title { font-size: 14px; font-weight: 600 }
.box { fill: #eef2f7; stroke: #94a3b8 }
.way { fill: #dbeafe; stroke: #2563eb }
.part { fill: #f8fafc; stroke: #cbd5e1 }
.number { fill: #2563eb; stroke: none }
.digit { fill: #ffffff; font-size: 10px; font-weight: 600 }
.arrow { stroke: #64748b; stroke-width: 1.5; fill: none }
"""


def layers(container: str) -> list[list[str]]:
    """The layers of a package as the lint checks them, the top one first."""
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    found = next(c["layers"] for c in contracts if c.get("containers") == [container])
    return [re.findall(r"\w+", layer) for layer in found]


def svg() -> str:
    """The picture."""
    whole, inside = layers("dsim"), layers("dsim.runtime")
    bottom = TOP + len(whole) * (ROW + GAP)
    runtime = TOP + next(n for n, row in enumerate(whole) if "runtime" in row) * (ROW + GAP)
    start = min(runtime, bottom - len(inside) * (ROW + GAP))
    end = start + len(inside) * (ROW + GAP) - GAP
    edge = LEFT[0] + LEFT[1]
    corners = (
        f"{edge},{runtime} {RIGHT[0] - 12},{start - 34} {RIGHT[0] - 12},{end + 12} {edge},{runtime + ROW}"
    )
    width, height = RIGHT[1] + 24, end - start + 46
    parts = [
        f'<rect width="900" height="{bottom + 12}" rx="8" fill="#ffffff"/>',
        f'<polygon points="{corners}" class="part"/>',
        f'<rect x="{RIGHT[0] - 12}" y="{start - 34}" width="{width}" height="{height}" class="part"/>',
        f'<text x="{LEFT[0] + LEFT[1] / 2}" y="34" class="title">dsim</text>',
        f'<text x="{RIGHT[0] + RIGHT[1] / 2}" y="{start - 14}" class="title">dsim.runtime</text>',
        f'<path d="M 38 {TOP} V {bottom - GAP - 6} m -5 -8 l 5 8 l 5 -8" class="arrow"/>',
        f'<text transform="translate(20 {(TOP + bottom) / 2}) rotate(90)">imports</text>',
        *_rows(whole, LEFT, TOP),
        *_rows(inside, RIGHT, start),
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {bottom + 12}" width="900">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def _rows(rows: Sequence[Sequence[str]], place: tuple[int, int], top: int) -> Iterator[str]:
    x, width = place
    for n, names in enumerate(rows):
        each = (width + GAP) / len(names)
        for k, name in enumerate(names):
            yield from _box(name, x + k * each, top + n * (ROW + GAP), each - GAP)


def _box(name: str, x: float, y: float, width: float) -> Iterator[str]:
    section = SECTIONS.get(name)
    kind = "box" if section is None else "way"
    yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW}" rx="4" class="{kind}"/>'
    yield f'<text x="{x + width / 2:.1f}" y="{y + ROW / 2 + 4:.0f}">{escape(name)}</text>'
    if section is not None:
        yield f'<circle cx="{x + width - 13:.1f}" cy="{y + ROW / 2:.0f}" r="8" class="number"/>'
        yield f'<text x="{x + width - 13:.1f}" y="{y + ROW / 2 + 4:.0f}" class="digit">{section}</text>'


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
