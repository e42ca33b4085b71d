"""A tape as HTML without scripts: what notebooks show that have no extension of dsim's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from dsim.diagnostics import GradientError, LaunchError
from dsim.notebook.tape.charts import charts
from dsim.notebook.tape.data import fields_of
from dsim.notebook.tape.score import score
from dsim.notebook.tape.svg import shown
from dsim.runtime.inspection import tape_summary
from dsim.runtime.inspection.tape_summary import CallGroup
from dsim.runtime.tapes.tape import Tape

_ROWS = 100

STYLE = """<style>
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
    """`tape` as HTML: its calls and fields as a drawing, numbers over the calls as charts, and a table.

    Times are in it if it was recorded under ``Tape(profile=True)``.
    """
    lines = tape_summary.lines(tape)
    fields = list(fields_of(tape, lines))
    parts = [STYLE, _head(tape), *_trouble(tape)]
    if lines:
        parts += [score(lines, fields), *(c.svg() for c in charts(tape, lines)), _table(tape, lines)]
    return f'<div class="dsim-tape">{"".join(parts)}</div>'


def measured(tape: Tape) -> Tape:
    """`tape`, profiled if that can be done: a look that changes nothing."""
    if tape.ended is not None and tape.profiled is None:
        with suppress(GradientError, LaunchError):  # values have changed or were dropped since
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


# -- table


def _table(tape: Tape, lines: Sequence[CallGroup]) -> str:
    rows = lines[:_ROWS]
    columns = [c for c in tape_summary.columns(tape, rows) if any(c[1:])]
    numbers = [c[0] in tape_summary.NUMBERS for c in columns]
    head, *body = zip(*columns, strict=True)
    cells = [_cells("th", head, numbers), *(_cells("td", row, numbers) for row in body)]
    table = f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
    more = f"<p>… and {len(lines) - _ROWS:,} lines more</p>" if len(lines) > _ROWS else ""
    summary = f"<summary>{len(lines):,} line{'s' * (len(lines) != 1)} of calls</summary>"
    return f"<details>{summary}{table}{more}</details>"


def _cells(tag: str, row: Sequence[str], numbers: Sequence[bool]) -> str:
    classes = (' class="n"' if n else "" for n in numbers)
    return "".join(f"<{tag}{c}>{shown(cell)}</{tag}>" for cell, c in zip(row, classes, strict=True))
