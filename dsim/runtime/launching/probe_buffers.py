"""What watched kernels show: the memory behind it, what is asked of it, and what it says.

Kernels write it by themselves (`passes.lower_probes`); `watching.py` launches them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dsim.diagnostics import Span
from dsim.frontend.source.lowered import BirthSlot, KinkSlot, Lowered, WatchSlot
from dsim.ir.probe_buffer import AXES, Column, Request
from dsim.runtime.fields.fields import Field

_BOTH = 3  # what FOUND says of a value with its derivative


class WatchedLine(NamedTuple):
    """What one line of a watched kernel assigned.

    Attributes
    ----------
    slot : WatchSlot
        The assignment: its name, place, shape and type.
    value : ndarray or None
        The value in the iteration and trip that were asked for, in the slot's shape; None where the line
        did not run there.
    gradient : ndarray or None
        The adjoint of that value (in forward mode its tangent); None where there is none: of an integer,
        without a backward pass, and where nothing depends on it.
    rms : float
        The root mean square of the adjoint (of a vector, of its norm) over all times that the line ran.
    times : int
        How often the line ran.
    hits : int
        How often it ran in the iteration that was asked for.
    where : tuple of int
        The iteration of the outermost loops that `value` is of.
    nonfinite : tuple of int
        How many values, and how many adjoints, were NaN or infinite.
    """

    slot: WatchSlot
    value: np.ndarray | None
    gradient: np.ndarray | None
    rms: float
    times: int
    hits: int
    where: tuple[int, ...]
    nonfinite: tuple[int, int]


class Kinked(NamedTuple):
    """A primitive of a watched kernel that was at a point where it has no derivative.

    Attributes
    ----------
    slot : KinkSlot
        The primitive, and its place.
    times : int
        How often it ran.
    met : int
        How often it was there and a gradient that is finite and not 0 came through it; in forward mode: and
        what it is made from moved.
    rms : float
        The root mean square of these gradients.
    where : tuple of int
        The first iteration of the outermost loops in which that, or what `infinite` counts, was so.
    infinite : int
        How often it was there and a gradient came to it that is not finite.
    """

    slot: KinkSlot
    times: int
    met: int
    rms: float
    where: tuple[int, ...]
    infinite: int = 0


class Born(NamedTuple):
    """A primitive of a watched kernel that made of finite numbers others that are not.

    Attributes
    ----------
    slot : BirthSlot
        Its place.
    times : int
        How often it ran; unknown, 0, of a kernel of which only the adjoint ran.
    values : int
        How often its result was not finite although its arguments were.
    derivatives : int
        How often an adjoint (in forward mode the tangent) that it handed on was not finite although the one
        that came to it was.
    """

    slot: BirthSlot
    times: int
    values: int
    derivatives: int


class Looking:
    """One look at a kernel: what is asked for, in all of its compilations, and what they show.

    Parameters
    ----------
    kinks : bool
        Whether kinks are looked for, too. The adjoint then reads all that says where they are, also where the
        gradient has no need of it.
    births : bool
        Whether it is looked for which primitives make numbers that are not finite.

    Attributes
    ----------
    probe : tuple of int or None
        The iteration that is asked for; None for the last one in which a line ran, whichever it was.
    trip : int or None
        Which of the times that a line runs in this iteration; None for the last one.
    """

    def __init__(self, kinks: bool = False, births: bool = False) -> None:
        self.kinks, self.births = kinks, births
        self.probe: tuple[int, ...] | None = None
        self.trip: int | None = None
        self._shown: list[tuple[Lowered, Field]] = []

    def shown_by(self, lowered: Lowered) -> dict[str, Field]:
        """The field in which a compilation shows what it has, by its name there; none if it shows nothing."""
        if lowered.shown is None:
            return {}
        field = Field(lowered.shown.type, (), lowered.shown.name)
        rows, columns = lowered.shown.shape
        assert rows is not None
        assert columns is not None
        field.allocate((rows, columns))
        self._shown.append((lowered, field))
        self._ask(field)
        self._clear(field)
        return {lowered.shown.name: field}

    def forget(self) -> None:
        """Forgets the compilations: they are no longer launched."""
        self._shown.clear()

    def ask(self, probe: tuple[int, ...] | None, trip: int | None) -> None:
        """From now on look at this iteration and trip."""
        if probe is not None and len(probe) > AXES:
            raise ValueError(f"an iteration has at most {AXES} indices, not {len(probe)}")
        self.probe, self.trip = probe, trip
        for _, field in self._shown:
            self._ask(field)

    def clear(self) -> None:
        """Forgets what was shown."""
        for _, field in self._shown:
            self._clear(field)

    def _ask(self, field: Field) -> None:
        row = field.require_memory()[0]
        row[Request.ONE] = self.probe is not None
        row[Request.TRIP] = -1 if self.trip is None else self.trip
        row[Request.INDEX : Request.INDEX + AXES] = np.nan  # an index not asked for: none is equal to it
        if self.probe is not None:
            row[Request.INDEX : Request.INDEX + len(self.probe)] = self.probe

    @staticmethod
    def _clear(field: Field) -> None:
        rows = field.require_memory()[1:]
        rows[:] = 0
        rows[:, Column.LEAST], rows[:, Column.GREATEST] = np.inf, -np.inf

    # what was shown

    def results(self) -> list[WatchedLine]:
        """What each line assigned, in the order of the text; one entry a name and place."""
        found: dict[tuple[object, ...], list[WatchedLine]] = {}
        for slot, rows in self._rows():
            if slot.axis is None:
                found.setdefault((*_place(slot.span), slot.name), []).append(_watched(slot, rows))
        return [_together(found[key]) for key in sorted(found)]

    def kinked(self) -> list[Kinked]:
        """The kinks that were met, in the order of the text."""
        found = [
            _kinked(slot, field.require_memory()[slot.row])
            for lowered, field in self._shown
            for slot in lowered.kinks
        ]
        return sorted((k for k in found if k.met or k.infinite), key=lambda k: _place(k.slot.span))

    def born(self) -> list[Born]:
        """The primitives that made numbers which are not finite, in the order of the text."""
        found = [
            _born(slot, field.require_memory()[slot.row])
            for lowered, field in self._shown
            for slot in lowered.births
        ]
        return sorted((b for b in found if b.values or b.derivatives), key=lambda b: _place(b.slot.span))

    @property
    def loops(self) -> list[tuple[str, int, int]]:
        """The indices of the outermost loops, with the least value that each had and the greatest plus one.

        Several loops one after the other count as one, with the names of all: ``i or t``.
        """
        names: dict[int, list[str]] = {}
        ends: dict[int, tuple[int, int]] = {}
        for slot, rows in self._rows():
            if slot.axis is not None and rows[0, Column.TIMES]:
                low, high = int(rows[0, Column.LEAST]), int(rows[0, Column.GREATEST]) + 1
                least, most = ends.get(slot.axis, (low, high))
                ends[slot.axis] = min(low, least), max(high, most)
                names.setdefault(slot.axis, []).append(slot.name)
        return [(" or ".join(dict.fromkeys(names[axis])), *ends[axis]) for axis in sorted(ends)]

    def _rows(self) -> Iterator[tuple[WatchSlot, np.ndarray]]:
        for lowered, field in self._shown:
            memory = field.require_memory()
            for slot in lowered.slots:
                yield slot, memory[slot.row : slot.row + slot.size]


def _place(s: Span) -> tuple[str, int, int]:
    return s.source.file, s.line, s.column


def _kinked(slot: KinkSlot, row: np.ndarray) -> Kinked:
    came, infinite = int(row[Column.BACK_HITS]), int(row[Column.BAD_DERIVATIVES])
    met = came
    if slot.of_many:  # the primal has counted how many tie
        met, infinite = (int(row[Column.HITS]) if n else 0 for n in (came, infinite))
    return Kinked(
        slot,
        int(row[Column.TIMES]),
        met,
        float(np.sqrt(row[Column.SQUARES] / came)) if came else 0.0,
        tuple(int(at) for at in row[Column.WHERE : Column.WHERE + len(slot.loops)]),
        infinite,
    )


def _born(slot: BirthSlot, row: np.ndarray) -> Born:
    times, values, derivatives = row[[Column.TIMES, Column.BAD_VALUES, Column.BAD_DERIVATIVES]]
    return Born(slot, int(times), int(values), int(derivatives))


def _watched(slot: WatchSlot, rows: np.ndarray) -> WatchedLine:
    times = int(rows[0, Column.TIMES])
    squares = float(np.sum(rows[:, Column.SQUARES]))
    return WatchedLine(
        slot,
        _value(slot, rows),
        _gradient(slot, rows),
        float(np.sqrt(squares / times)) if times else 0.0,
        times,
        int(rows[0, Column.HITS]),
        tuple(int(at) for at in rows[0, Column.WHERE : Column.WHERE + slot.axes]),
        (int(np.sum(rows[:, Column.BAD_VALUES])), int(np.sum(rows[:, Column.BAD_DERIVATIVES]))),
    )


def _together(lines: list[WatchedLine]) -> WatchedLine:
    """What one line shows whose func was called in and outside loops, or with other shapes or types.

    Means and counts are over all of it, the value is that of the deepest loop that ran it.
    """
    chosen = max(lines, key=lambda w: (w.value is not None, w.times > 0, w.slot.axes))
    times = sum(w.times for w in lines)
    if times == chosen.times:
        return chosen
    return chosen._replace(
        rms=math.sqrt(sum(w.rms**2 * w.times for w in lines) / times),
        times=times,
        nonfinite=(sum(w.nonfinite[0] for w in lines), sum(w.nonfinite[1] for w in lines)),
    )


def _value(slot: WatchSlot, rows: np.ndarray) -> np.ndarray | None:
    if not rows[0, Column.FOUND]:
        return None
    numbers = rows[:, Column.VALUE]
    if not slot.type.is_float:
        numbers = (numbers.astype(np.int64) << 32) | rows[:, Column.LOW].astype(np.int64)
    with np.errstate(all="ignore"):
        return numbers.astype(slot.type.numpy).reshape(slot.shape)


def _gradient(slot: WatchSlot, rows: np.ndarray) -> np.ndarray | None:
    if not slot.type.is_float or not np.any(rows[:, Column.FOUND] == _BOTH):
        return None
    return rows[:, Column.DERIVATIVE].reshape(slot.shape).copy()
