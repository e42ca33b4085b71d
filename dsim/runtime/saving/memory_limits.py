"""How much memory the steps of a loop may take, and what a state and a step's residuals take of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.places import caller
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.interval_sets import Box, meet, outside
from dsim.runtime.saving.snapshots import size_of
from dsim.runtime.saving.step_log import Launched
from dsim.runtime.schedules import offline

_FINEST = 4  # units of a state
_LARGEST = 1 << 20  # numbers in a table of finer units
_CLOSE = 1.2  # how far the ratio of units may be from that of bytes


class MemoryLimit:
    """A number of slots, each for one state, or a number of bytes.

    Parameters
    ----------
    slots, budget : int or None
        One of the two.
    beside : int
        How many bytes of the budget are spent already.

    Attributes
    ----------
    state, residual : int
        The sizes of a state and of a step's residuals in the schedule's units; after `measure`.
    room : int
        How many of these units there are.
    """

    def __init__(self, slots: int | None, budget: int | None, beside: int = 0) -> None:
        self._slots = slots
        self._budget = budget
        self._beside = beside
        self._bytes = self._recorded = 0
        self._steps = 0
        self.state, self.residual, self.room = 1, 1, slots or 1

    def measure(self, state: int, residual: int, steps: int | None) -> None:
        """Takes the bytes of a state and of a step's residuals, and the number of steps, if it is known."""
        self._bytes, self._recorded = max(1, state), residual
        slots = self._slots
        if slots is None:
            assert self._budget is not None
            slots = max(1, (self._budget - self._beside - residual) // self._bytes)
        if steps is not None:
            slots = min(slots, max(1, steps))
        self.state, self.residual = _units(residual / self._bytes, slots * (steps or slots))
        self.room = slots * self.state
        self.expect(steps or 1)

    def saw(self, state: int) -> None:
        """Takes into account that a step has overwritten so many bytes."""
        self._bytes = max(self._bytes, state)

    def expect(self, steps: int) -> None:
        """The schedule will be asked for up to so many steps."""
        self._steps = max(self._steps, steps)

    def advance(self, steps: int, room: int) -> int:
        """How many steps to run from a state that is kept; 0 to record the first one instead."""
        if steps == 1 or not self.residual:
            return 0
        planned = offline.schedule(self._steps, self.room, self.state, self.residual)
        return planned.advance(steps, max(room, self.state))

    @property
    def strict(self) -> bool:
        """Whether nothing goes uncounted: it is a number of bytes."""
        return self._budget is not None

    def full(self, states: int, held: int) -> bool:
        """Whether there is no room for another state beside so many, which hold so many bytes."""
        if self._slots is not None:
            return states >= self._slots
        return self.over(held)

    def over(self, held: int) -> bool:
        """Whether the budget has no room for another state and a recorded step beside so many bytes."""
        held += self._beside + self._bytes + self._recorded
        return self._budget is not None and held > self._budget

    def check(self, held: int) -> None:
        """Refuses to hold so many bytes, if there is nothing left to drop.

        Raises
        ------
        GradientError
            When they are more than the budget.
        """
        if self._budget is not None and held + self._beside > self._budget:
            beside = f", and overwritten values {self._beside:,}" if self._beside else ""
            message = f"one state takes {held:,} bytes{beside}: more than the budget of {self._budget:,}"
            advice = "raise `budget`: a gradient needs one state and what one step overwrites"
            raise GradientError(Diagnostic("memory", message, caller(), "here", help=advice))


def _units(ratio: float, numbers: int) -> tuple[int, int]:
    """The sizes of a state and of residuals as small whole numbers, from the ratio of their bytes."""
    if not ratio:
        return 1, 0
    finest = max(1, min(_FINEST, _LARGEST // numbers))
    for state in range(1, finest + 1):
        residual = ceil(state * ratio)
        if residual <= _CLOSE * state * ratio:
            return state, residual
    return finest, ceil(finest * ratio)


def residual_bytes(steps: Iterable[Sequence[Launched]]) -> int:
    """About how many bytes one of these steps saves at most, when all are recorded in a row."""
    launches = list(steps)
    written: dict[Field, list[Box]] = {}
    for plan, args in dict.fromkeys(launch for step in launches for launch in step):
        for field, box in plan.form.writes.of(args):
            boxes = written.setdefault(field, [])
            boxes += outside([box], boxes)
    return max((_saved_by(step, written) for step in launches), default=0)


def _saved_by(step: Iterable[Launched], written: Mapping[Field, Sequence[Box]]) -> int:
    total = 0
    needed: dict[Field, list[Box]] = {}
    for plan, args in step:
        adjoint = plan.adjoint
        if adjoint is None:
            continue
        own = adjoint.replaced(args)
        total += sum(size_of(field, box) for field, boxes in own.items() for box in boxes)
        for field, box in adjoint.reads.of(args) if adjoint.needed else ():
            shared = [s for w in written.get(field, ()) if (s := meet(box, w)) is not None]
            known = needed.setdefault(field, [])
            known += outside(shared, [*own.get(field, ()), *known])
    return total + sum(size_of(field, box) for field, boxes in needed.items() for box in boxes)
