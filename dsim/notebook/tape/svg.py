"""Pictures as text: elements of SVG, and a chart of lines over the numbers of calls.

Lines and letters take the colour of the text around them; the other colours are seen on light and dark.
No scripts, and everything that came from a user is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from dsim.diagnostics.render import printable

BLUE, ORANGE, GREEN, RED = "#3d84c6", "#d9772b", "#2f9e6e", "#d64545"
COLOURS = (BLUE, ORANGE, GREEN, "#9a62c7", "#b5892b", "#c2559b")
_FONT = "font-family='system-ui,sans-serif'"


def shown(text: str) -> str:
    """A user's text as markup: no element, no entity, no control character of it is one."""
    return escape(printable(text))


def element(name: str, content: str = "", **attributes: object) -> str:
    """An element; underscores in names of attributes are hyphens, `content` is markup already."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))


def text(x: float, y: float, said: str, **attributes: object) -> str:
    """Letters; 12 pixels high, in the colour of the text around."""
    given = {"font_size": 12, "fill": "currentColor", **attributes}
    return element("text", shown(said), x=float(x), y=float(y), **given)


def line(x: float, y: float, to_x: float, to_y: float, **attributes: object) -> str:
    """A straight line."""
    given = {"stroke": "currentColor", **attributes}
    return element("line", x1=float(x), y1=float(y), x2=float(to_x), y2=float(to_y), **given)


def picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """The whole picture; `title` describes it for screen readers."""
    content = element("title", shown(title)) + "".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' width='{width:.0f}' height='{height:.0f}' "
        f"viewBox='0 0 {width:.0f} {height:.0f}' {_FONT} style='max-width:100%;height:auto'>{content}</svg>"
    )


@dataclass(frozen=True)
class Series:
    """One line of a chart."""

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str


@dataclass(frozen=True)
class Marker:
    """A place on the axis of calls to point at."""

    x: float
    label: str
    colour: str


Place = Callable[[float], float]

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 120.0, 36.0, 34.0


def chart(
    title: str,
    series: Sequence[Series],
    end: int,
    log: bool,
    marks: Sequence[Marker] = (),
    *,
    unit: str = "",
    axis: str = "call",
) -> str:
    """Lines over the calls, or what `axis` names, 0 to `end`, with their names at the right."""
    width, height = 660.0, 190.0
    scale = _Scale([s.y for s in series], log)
    inner_width, inner_height = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def across(x: float) -> float:
        return _LEFT + inner_width * x / max(end, 1)

    def up(y: float) -> float:
        return _TOP + inner_height * (1 - scale.at(y))

    bottom = height - _BOTTOM
    parts = [text(0, 14, title, font_weight=600)]
    for tick in scale.ticks:
        parts.append(line(_LEFT, up(tick), width - _RIGHT, up(tick), stroke_opacity=0.15))
        parts.append(text(_LEFT - 6, up(tick) + 4, _short(tick, unit), text_anchor="end", font_size=11))
    parts.append(line(_LEFT, bottom, width - _RIGHT, bottom, stroke_opacity=0.5))
    for tick in _round_numbers(0, max(end, 1)):
        if tick == int(tick):
            parts.append(line(across(tick), bottom, across(tick), bottom + 4, stroke_opacity=0.5))
            parts.append(text(across(tick), bottom + 16, f"{tick:,.0f}", text_anchor="middle", font_size=11))
    parts.append(text(width - _RIGHT, bottom + 30, axis, text_anchor="end", font_size=11))
    parts += [_mark(m, across(m.x), bottom, across(m.x) > width / 2) for m in marks]
    parts += [_curve(s, across, up, scale) for s in series]
    parts += _names(series, up, scale, width - _RIGHT + 8)
    return picture(width, height, title, parts)


def _mark(mark: Marker, x: float, bottom: float, to_left: bool) -> str:
    given = {"fill": mark.colour, "font_size": 11, "text_anchor": "end" if to_left else "start"}
    rule = line(x, _TOP, x, bottom, stroke=mark.colour, stroke_dasharray="3 3")
    return rule + text(x - 5 if to_left else x + 5, _TOP - 4, mark.label, **given)


def _curve(s: Series, across: Place, up: Place, scale: _Scale) -> str:
    """A line, broken where there is no number; single points are dots."""
    good = np.isfinite(s.y) & ((s.y > 0) | (not scale.log))
    parts: list[str] = []
    for run in np.split(np.arange(len(s.x)), np.flatnonzero(np.diff(good.astype(int))) + 1):
        if len(run) == 0 or not good[run[0]]:
            continue
        points = [(across(float(s.x[n])), up(float(s.y[n]))) for n in run]
        if len(points) == 1:
            parts.append(element("circle", cx=points[0][0], cy=points[0][1], r=2.5, fill=s.colour))
        else:
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            parts.append(element("path", d=path, fill="none", stroke=s.colour, stroke_width=1.5))
    return "".join(parts)


def _names(series: Sequence[Series], up: Place, scale: _Scale, x: float) -> list[str]:
    """The names of the lines beside their ends, moved apart where they would meet."""
    ends: list[tuple[float, Series]] = []
    for s in series:
        good = s.y[np.isfinite(s.y) & ((s.y > 0) | (not scale.log))]
        if len(good):
            ends.append((up(float(good[-1])), s))
    ends.sort(key=lambda end: end[0])
    parts: list[str] = []
    lowest = -math.inf
    for y, s in ends:
        lowest = max(y, lowest + 14)
        parts.append(text(x, lowest + 4, s.name if len(s.name) < 18 else s.name[:16] + "…", fill=s.colour))
    return parts


class _Scale:
    """Numbers to heights from 0 to 1, and round numbers to write beside the axis."""

    def __init__(self, values: Sequence[np.ndarray], log: bool) -> None:
        every = np.concatenate([np.ravel(v) for v in values]) if values else np.zeros(0)
        every = every[np.isfinite(every)]
        self.log = log and bool((every > 0).any())
        if self.log:
            powers = np.log10(every[every > 0])
            low, high = math.floor(powers.min()), math.ceil(powers.max())
            low, high = (low - 1, high + 1) if low == high else (low, high)
            step = max(1, math.ceil((high - low) / 5))
            self.ticks = [10.0**p for p in range(low, high + 1, step)]
        else:
            low, high = min(0.0, float(every.min(initial=0.0))), float(every.max(initial=0.0))
            high = high if high > low else low + 1.0
            self.ticks = _round_numbers(low, high)
        self._low, self._high = float(low), float(high)

    def at(self, value: float) -> float:
        """The height of `value`."""
        there = math.log10(value) if self.log else value
        return (there - self._low) / (self._high - self._low)


def _round_numbers(low: float, high: float) -> list[float]:
    """About five round numbers from `low` to `high`."""
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= raw)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def _short(value: float, unit: str) -> str:
    if value == 0:
        return "0"
    if unit:
        size, prefix = next((found for found in _PREFIXES if value >= found[0]), _PREFIXES[-1])
        return f"{value / size:.3g} {prefix}{unit}"
    return (
        f"{value:g}" if 1e-3 <= abs(value) < 1e5 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    )
