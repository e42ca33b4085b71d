"""A tape as a table with folded repeats: the lines that every form of it shows, and the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from dsim.diagnostics.render import printable
from dsim.runtime.inspection import calls, folding
from dsim.runtime.inspection.calls import Calls, Facts
from dsim.runtime.inspection.folding import Item, Repeat
from dsim.runtime.recording.record import TapeRecord

_MOST = 100  # lines of a text


class CallGroup(NamedTuple):
    """Calls of one kernel at one place of the folded sequence.

    Attributes
    ----------
    facts : Facts
        What is known of the kernel.
    calls : ndarray of int
        Their numbers, in order.
    repeats : tuple of int
        The counts of the repeats around it, outermost first.
    begins, ends : int
        How many of these repeats begin with this line, and end with it, counted from the inside.
    overwrites : tuple of str
        The fields of which values were saved.
    saved_bytes : int
        The size of that, of all these calls.
    """

    facts: Facts
    calls: np.ndarray
    repeats: tuple[int, ...]
    begins: int
    ends: int
    overwrites: tuple[str, ...]
    saved_bytes: int


def lines(record: TapeRecord) -> list[CallGroup]:
    """All calls of a tape, repeats folded."""
    recorded = Calls(record)
    sequence, first = recorded.kinds()
    facts = [recorded.facts(n) for n in first]
    saved = recorded.saved_bytes()
    found: list[CallGroup] = []
    at = 0
    for item in folding.fold(sequence):
        for kind, numbers, repeats, begins, ends in _leaves(item, np.array([at]), ()):
            size = int(saved[numbers].sum())
            overwrites = _overwrites(recorded, numbers) if size else ()
            found.append(CallGroup(facts[kind], numbers, repeats, begins, ends, overwrites, size))
        at += folding.length((item,))
    return found


Leaf = tuple[int, np.ndarray, tuple[int, ...], int, int]


def _leaves(item: Item, starts: np.ndarray, repeats: tuple[int, ...]) -> Iterator[Leaf]:
    """The members of `item`, which begins at `starts`, with what a `CallGroup` says of each."""
    if isinstance(item, int):
        yield item, starts, repeats, 0, 0
        return
    assert isinstance(item, Repeat)
    block = folding.length(item.items)
    starts = (starts[:, None] + block * np.arange(item.count)).ravel()
    inside = (*repeats, item.count)
    leaves: list[Leaf] = []
    at = 0
    for inner in item.items:
        leaves += _leaves(inner, starts + at, inside)
        at += folding.length((inner,))
    for n, (kind, numbers, around, begins, ends) in enumerate(leaves):
        yield kind, numbers, around, begins + (n == 0), ends + (n == len(leaves) - 1)


def _overwrites(recorded: Calls, numbers: np.ndarray) -> tuple[str, ...]:
    return calls.names(s.field for n in numbers.tolist() for s in recorded.saved(n))


# -- as text


def text(record: TapeRecord) -> str:
    """The table as plain text."""
    count = len(Calls(record))
    saved = f", {record.saved_bytes:,} bytes saved" if record.saved_bytes else ""
    head = f"tape of {printable(record.loss.quoted)}: {count:,} call{'s' * (count != 1)}{saved}"
    all_lines = lines(record)
    if not all_lines:
        return head
    shown = all_lines[:_MOST]
    table = [c for c in columns(record, shown) if any(c[1:])]
    widths = [max(map(len, column)) for column in table]
    right = [column[0] in NUMBERS for column in table]
    rows = [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        for row in zip(*table, strict=True)
    ]
    more = [f"… and {len(all_lines) - _MOST:,} lines more"] if len(all_lines) > _MOST else []
    return "\n".join([head, *(row.rstrip() for row in rows), *more])


NUMBERS = frozenset({"call", "saved", "forward", "backward", "line"})


def columns(record: TapeRecord, shown: Sequence[CallGroup]) -> Iterator[list[str]]:
    """The columns of the table, each with its head."""
    yield ["call", *(f"{line.calls[0]:,}" for line in shown)]
    yield ["", *_brackets(shown)]
    yield ["kernel", *(printable(line.facts.name) for line in shown)]
    yield ["line", *places(shown)]
    yield ["reads", *(_names(calls.names(line.facts.reads)) for line in shown)]
    yield ["stores", *(_names(calls.names(line.facts.stores)) for line in shown)]
    yield ["adds to", *(_names(calls.names(line.facts.accumulates)) for line in shown)]
    yield ["saved", *(f"{line.saved_bytes:,}" if line.saved_bytes else "" for line in shown)]
    profile = record.profiled
    if profile is not None:
        if profile.timed:
            yield ["forward", *(took(profile.seconds[line.calls]) for line in shown)]
            yield ["backward", *(took(profile.backward_seconds[line.calls]) for line in shown)]
        known = np.isfinite(profile.backward_seconds)
        for head, norms in (("before", profile.gradient_norm_before), ("after", profile.gradient_norm)):
            ranges = (_range(norms[line.calls]) if known[line.calls].any() else "" for line in shown)
            yield [f"gradient {head}", *ranges]


def _names(names: tuple[str, ...]) -> str:
    return printable(", ".join(names))


def places(shown: Sequence[CallGroup]) -> list[str]:
    """The lines of the definitions; with their files where these are several."""
    spans = [line.facts.span for line in shown]
    files = {s.source.file for s in spans if s is not None}
    many = len(files) > 1
    return [
        "" if s is None else printable(f"{PurePath(s.source.name).name}:{s.line}") if many else str(s.line)
        for s in spans
    ]


def _brackets(shown: Sequence[CallGroup]) -> list[str]:
    """Beside each line the repeats around it: ``┌ 2,048 ×``, ``│``, ``└``."""
    levels = max((len(line.repeats) for line in shown), default=0)
    columns: list[list[str]] = []
    for level in range(levels):
        column = [_bracket(line, level) for line in shown]
        width = max(map(len, column))
        columns.append([cell.ljust(width) for cell in column])
    return (
        [" ".join(cells).rstrip() for cells in zip(*columns, strict=True)] if columns else [""] * len(shown)
    )


def _bracket(line: CallGroup, level: int) -> str:
    depth = len(line.repeats)
    if level >= depth:
        return ""
    begins, ends = depth - line.begins <= level, depth - line.ends <= level
    if begins:
        return f"{'  ' if ends else '┌ '}{line.repeats[level]:,} ×"
    return "└" if ends else "│"


def took(seconds: np.ndarray) -> str:
    """All these times together, with a unit."""
    if np.isnan(seconds).all():
        return ""
    total = float(np.nansum(seconds))
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if total >= size:
            return f"{total / size:.3g} {unit}"
    return f"{total / 1e-6:.3g} µs"


def _range(values: np.ndarray) -> str:
    low, high = f"{np.min(values):.3g}", f"{np.max(values):.3g}"
    return low if low == high else f"{low} … {high}"
