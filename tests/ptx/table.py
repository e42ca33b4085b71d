"""The table of `make ptx`: what each kernel takes of a device, beside what it took at the last run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

COLUMNS = ("registers", "spills", "local", "hot loops")


class Row(NamedTuple):
    """An entry of a kernel.

    Attributes
    ----------
    name : str
        Of the program, the kernel and the entry.
    registers, spills, local : int
        See `Resources`.
    loops : tuple of int or None
        The instructions of its innermost loops; None where nothing disassembles.
    """

    name: str
    registers: int
    spills: int
    local: int
    loops: tuple[int, ...] | None

    def shown(self) -> tuple[str, ...]:
        """What the columns say."""
        loops = "?" if self.loops is None else " ".join(map(str, self.loops)) or "–"
        return str(self.registers), str(self.spills), str(self.local), loops


Rows = Mapping[str, Row]


def load(path: Path) -> dict[str, Row]:
    """The rows that `save` left; none where it left none."""
    if not path.is_file():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))
    made = (Row(*given[:4], None if given[4] is None else tuple(given[4])) for given in rows)
    return {row.name: row for row in made}


def save(path: Path, rows: Iterable[Row]) -> None:
    """Keeps the rows for the next run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([list(row) for row in rows], indent=0), encoding="utf-8")


def table(rows: Rows, before: Rows) -> str:
    """All rows; what differs from the run before has that run's value behind it."""
    cells = [(row.name, *_cells(row, before.get(row.name), bool(before))) for row in rows.values()]
    lines = [("", *COLUMNS), *cells]
    widths = [max(len(line[n]) for line in lines) for n in range(len(COLUMNS) + 1)]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cells(row: Row, old: Row | None, compared: bool) -> tuple[str, ...]:
    if old is None:
        return (*row.shown()[:-1], row.shown()[-1] + ("  new" if compared else ""))
    return tuple(
        now if now == then or "?" in (now, then) else f"{now} (was {then})"
        for now, then in zip(row.shown(), old.shown(), strict=True)
    )


def summary(rows: Rows, before: Rows) -> str:
    """All entries together, and how they differ from those of the run before."""
    every = list(rows.values())
    most, spilling = max((r.registers for r in every), default=0), sum(r.spills > 0 for r in every)
    local = sum(r.local > 0 for r in every)
    lines = [
        f"{len(every)} entries: at most {most} registers, {spilling} with spills, {local} with local memory"
    ]
    both = [(rows[name], before[name]) for name in rows if name in before]
    if before:
        more = sum(_greater(now, then) for now, then in both)
        less = sum(_greater(then, now) for now, then in both)
        gone = len(set(before) - set(rows))
        lines.append(
            f"since the last run: {more} take more of something, {less} less, "
            f"{len(rows) - len(both)} are new, {gone} are gone"
        )
    return "\n".join(lines)


def _greater(one: Row, other: Row) -> bool:
    """Whether `one` takes more than `other` of anything."""
    loops = 0 if one.loops is None or other.loops is None else sum(one.loops) - sum(other.loops)
    differences = (a - b for a, b in zip(one[1:4], other[1:4], strict=True))
    return max(*differences, loops) > 0
