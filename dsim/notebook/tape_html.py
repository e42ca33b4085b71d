"""A tape as HTML without scripts: what notebooks show that have no extension of dsim's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

import numpy as np

from dsim.diagnostics import GradientError
from dsim.notebook import svg
from dsim.notebook.svg import Mark, Series, shown
from dsim.notebook.tape_data import fields_of, thinned
from dsim.notebook.tape_score import score
from dsim.runtime import contents
from dsim.runtime.contents import Line
from dsim.runtime.tape import Tape

_POINTS = 400  # of a line
_MEDIANS = 80  # of a line of times
_LINES = 6  # of a chart
_ROWS = 100

_STYLE = """<style>
.dsim-tape {font: 13px/1.5 system-ui, sans-serif; max-width: 860px}
.dsim-tape p {margin: .4em 0}
.dsim-tape table {border-collapse: collapse; font-size: 12px; margin: .4em 0}
.dsim-tape th, .dsim-tape td {padding: 2px 10px 2px 0; text-align: left; white-space: pre;
  border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); background: none}
.dsim-tape .n {text-align: right; font-variant-numeric: tabular-nums}
.dsim-tape .bad {color: #d64545; font-weight: 600}
.dsim-tape summary {cursor: pointer}
.dsim-tape svg {display: block; margin: .6em 0}
</style>"""


def tape_html(tape: Tape) -> str:
    """`tape` as HTML: its calls and fields as a drawing, numbers over the calls as charts, and a table."""
    lines = contents.lines(tape)
    fields = list(fields_of(tape, lines))
    parts = [_STYLE, _head(tape), *_trouble(tape)]
    if lines:
        parts += [score(lines, fields), *charts(tape, lines), _table(tape, lines)]
    return f'<div class="dsim-tape">{"".join(parts)}</div>'


def measured(tape: Tape) -> Tape:
    """`tape`, profiled if that can be done: a look that changes nothing."""
    if tape.ended is not None and tape.profiled is None:
        with suppress(GradientError):  # values have changed since: what was recorded can be shown
            tape.profile()
    return tape


def _head(tape: Tape) -> str:
    count = len(tape.calls)
    saved = f", {tape.saved_bytes:,} bytes saved" if tape.saved_bytes else ""
    return f"<p><b>tape of {shown(tape.loss.name)}</b>: {count:,} call{'s' * (count != 1)}{saved}</p>"


def _trouble(tape: Tape) -> Iterator[str]:
    what = tape.not_finite
    if what is not None:
        call = "" if what.call is None else f", call {what.call:,}"
        yield f'<p class="bad">{shown(f"{what.element} becomes {what.value} in {what.kernel}{call}")}</p>'
    elif tape.profiled is not None and tape.profiled.first_not_finite is not None:
        call = tape.profiled.first_not_finite
        name = tape.calls.facts(call).name
        said = f"the gradient is not finite before {name}, call {call:,}; Tape(find_nan=True) says more"
        yield f'<p class="bad">{shown(said)}</p>'


# -- charts


def charts(tape: Tape, lines: Sequence[Line], marks: Sequence[Mark] = ()) -> Iterator[str]:
    """The charts of what is known: gradient, time, saved bytes."""
    profile = tape.profiled
    end = len(tape.calls) - 1
    marks = (*_marks(tape), *marks)
    if profile is not None and np.isfinite(profile.backward_seconds).any():
        norms = list(_by_kernel(lines, profile.gradient_norm, peaks))
        yield svg.chart("norm of the gradient by what each call wrote", norms, end, True, marks)
        for way, seconds in (("forward", profile.seconds), ("backward", profile.backward_seconds)):
            if np.isfinite(seconds).any():
                times = list(_by_kernel(lines, seconds, usual))
                yield svg.chart(f"time of each call, {way}", times, end, True, marks, "s")
    if tape.saved_bytes:
        total = np.cumsum(tape.calls.saved_bytes())
        sizes = [Series("saved", *peaks(np.arange(end + 1), total.astype(float)), svg.GREEN)]
        yield svg.chart("bytes saved up to each call", sizes, end, False, marks, "B")


def _marks(tape: Tape) -> Iterable[Mark]:
    what, profile = tape.not_finite, tape.profiled
    call = None if profile is None else profile.first_not_finite
    call = call if what is None else what.call
    return () if call is None else (Mark(float(call), "not finite", svg.RED),)


Thinning = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _by_kernel(lines: Sequence[Line], values: np.ndarray, thin: Thinning) -> Iterator[Series]:
    """A line for each of the kernels that are called most; the values of others are not shown."""
    called: dict[str, list[np.ndarray]] = {}
    for line in lines:
        called.setdefault(line.facts.name, []).append(line.calls)
    most = sorted(called, key=lambda name: -sum(map(len, called[name])))[:_LINES]
    for name, colour in zip([n for n in called if n in most], svg.COLOURS, strict=False):
        at = np.sort(np.concatenate(called[name]))
        yield Series(name, *thin(at, values[at]), colour)


def peaks(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points, among them every peak and every dip."""
    at = thinned(y, _POINTS)
    return x[at], y[at]


def usual(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points, each with the median of its neighbours: times have outliers that mean nothing."""
    if len(x) <= _MEDIANS:
        return x, y
    edges = np.linspace(0, len(x), _MEDIANS + 1).astype(np.int64)
    parts = list(pairwise(edges.tolist()))
    medians = [float(np.median(y[a:b])) for a, b in parts]
    return np.array([x[(a + b) // 2] for a, b in parts]), np.array(medians)


# -- table


def _table(tape: Tape, lines: Sequence[Line]) -> str:
    rows = lines[:_ROWS]
    columns = [c for c in contents.columns(tape, rows) if any(c[1:])]
    numbers = [c[0] in contents.NUMBERS for c in columns]
    head, *body = zip(*columns, strict=True)
    cells = [_cells("th", head, numbers), *(_cells("td", row, numbers) for row in body)]
    table = f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
    more = f"<p>… and {len(lines) - _ROWS:,} lines more</p>" if len(lines) > _ROWS else ""
    summary = f"<summary>{len(lines):,} line{'s' * (len(lines) != 1)} of calls</summary>"
    return f"<details>{summary}{table}{more}</details>"


def _cells(tag: str, row: Sequence[str], numbers: Sequence[bool]) -> str:
    classes = (' class="n"' if n else "" for n in numbers)
    return "".join(f"<{tag}{c}>{shown(cell)}</{tag}>" for cell, c in zip(row, classes, strict=True))
