"""The calls of a tape and the fields that they access, drawn like a score.

Time goes down, a row for each line of the folded table; every field is a line from top to bottom. A ring is
a read, a square a store, a disc with a cross an accumulation.
"""

from __future__ import annotations

from collections.abc import Sequence

from dsim.notebook.tape.svg import BLUE, GREEN, ORANGE, element, line, picture, text
from dsim.runtime.fields.fields import Field
from dsim.runtime.inspection.tape_summary import CallGroup

_ROW, _LANE = 24.0, 40.0
_MOST_ROWS, _MOST_LANES = 48, 24
_LETTER = 7.2


def score(lines: Sequence[CallGroup], fields: Sequence[Field]) -> str:
    """The drawing, as SVG."""
    rows, lanes = lines[:_MOST_ROWS], fields
    if len(fields) > _MOST_LANES:
        lanes = [*fields[: _MOST_LANES - 1], fields[-1]]  # the last one is the loss
    levels = max((len(r.repeats) for r in rows), default=0)
    brackets = [_bracket_width(rows, level) for level in range(levels)]
    names = max((_LETTER * len(_cut(r.facts.name, 24)) for r in rows), default=0.0)
    head = 22.0 + 0.72 * max((_LETTER * len(_cut(f.name, 14)) for f in lanes), default=0.0)
    left = sum(brackets) + names + 28
    width = left + _LANE * len(lanes) + 60
    legend = head + _ROW * len(rows) + 18
    parts = [_lane(left + _LANE * n, head, len(rows), f) for n, f in enumerate(lanes)]
    at = {f: left + _LANE * n for n, f in enumerate(lanes)}
    for n, row in enumerate(rows):
        y = head + _ROW * (n + 0.5)
        parts.append(text(sum(brackets) + 8, y + 4, _cut(row.facts.name, 24), font_weight=600))
        parts.append(_row(row, y, at))
    parts += _brackets(rows, brackets, head)
    parts += _legend(legend)
    hidden = [(len(lines) - len(rows), "rows"), (len(fields) - len(lanes), "fields")]
    more = ", ".join(f"{count:,} {what} more" for count, what in hidden if count)
    if more:
        parts.append(text(270, legend + 4, f"… {more}", font_size=11))
    return picture(
        max(width, 420), legend + 14, "The calls of the tape, and the fields that they read and write", parts
    )


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _lane(x: float, head: float, rows: int, field: Field) -> str:
    """A field's line, with its name over it."""
    name = text(x, head - 8, _cut(field.name, 14), transform=f"rotate(-45 {x:.1f} {head - 8:.1f})")
    return name + line(x, head, x, head + _ROW * rows, stroke_opacity=0.35)


def _row(row: CallGroup, y: float, at: dict[Field, float]) -> str:
    """What a call does with the fields."""
    facts = row.facts
    places = [at[f] for f in facts.fields if f in at]
    parts = [line(min(places), y, max(places), y, stroke_opacity=0.35)] if len(places) > 1 else []
    for field in facts.fields:
        if field in at:
            reads, stores, adds = (field in group for group in (facts.reads, facts.stores, facts.accumulates))
            parts.append(_sign(at[field], y, reads, stores, adds))
    return "".join(parts)


def _sign(x: float, y: float, reads: bool, stores: bool, adds: bool) -> str:
    parts: list[str] = []
    if reads:
        parts.append(element("circle", cx=x, cy=y, r=8.0, fill="none", stroke=BLUE, stroke_width=2))
    if adds:
        parts.append(element("circle", cx=x, cy=y, r=5.5, fill=GREEN))
        parts.append(line(x - 3, y, x + 3, y, stroke="#fff", stroke_width=1.5))
        parts.append(line(x, y - 3, x, y + 3, stroke="#fff", stroke_width=1.5))
    if stores:
        parts.append(element("rect", x=x - 4.0, y=y - 4.0, width=8, height=8, fill=ORANGE))
    return "".join(parts)


def _bracket_width(rows: Sequence[CallGroup], level: int) -> float:
    counts = [r.repeats[level] for r in rows if level < len(r.repeats)]
    return 20.0 + _LETTER * max(len(f"{count:,} ×") for count in counts)


def _brackets(rows: Sequence[CallGroup], widths: Sequence[float], head: float) -> list[str]:
    """Braces beside the rows that are repeated, each with its count."""
    parts: list[str] = []
    open_at: dict[int, int] = {}
    for n, row in enumerate(rows):
        depth = len(row.repeats)
        for level in range(depth - row.begins, depth):
            open_at[level] = n
        last = n == len(rows) - 1
        for level in range(0 if last else depth - row.ends, depth):
            first = open_at.pop(level)
            x = sum(widths[: level + 1]) - 4
            top, bottom = head + _ROW * first + 4, head + _ROW * (n + 1) - 4
            path = f"M{x + 5:.1f} {top:.1f}H{x:.1f}V{bottom:.1f}H{x + 5:.1f}"
            parts.append(element("path", d=path, fill="none", stroke="currentColor", stroke_opacity=0.6))
            count = f"{row.repeats[level]:,} ×"
            parts.append(text(x - 6, (top + bottom) / 2 + 4, count, text_anchor="end"))
    return parts


def _legend(y: float) -> list[str]:
    found: list[str] = []
    for n, (name, signs) in enumerate((("reads", (1, 0, 0)), ("stores", (0, 1, 0)), ("adds to", (0, 0, 1)))):
        x = 14.0 + 84 * n
        found += [_sign(x, y, *map(bool, signs)), text(x + 14, y + 4, name, font_size=11)]
    return found
