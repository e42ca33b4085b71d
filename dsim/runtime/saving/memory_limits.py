"""How much memory the steps of a loop may take, and what a state and a step's residuals take of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import ceil

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.places import caller
from dsim.runtime.schedules import offline

_FINEST = 4  # units of a state
_CLOSE = 1.2  # how far the ratio of units may be from that of bytes


class MemoryLimit:
    """A number of slots, each for one state, or a number of bytes.

    Parameters
    ----------
    slots, budget : int or None
        One of the two.
    beside : callable
        How many bytes of the budget others hold now.

    Attributes
    ----------
    slots, budget : int or None
        As given.
    state, residual : int
        The sizes of a state and of a step's residuals in the schedule's units; after `measure`.
    room : int
        How many of these units there are.
    """

    def __init__(self, slots: int | None, budget: int | None, beside: Callable[[], int] = lambda: 0) -> None:
        self.slots = slots
        self.budget = budget
        self._beside = beside
        self._bytes, self._recorded = 1, 0
        self._steps = 0
        self.state, self.residual, self.room = 1, 1, slots or 1

    def measure(self, state: int, residual: int, steps: int | None) -> None:
        """Takes the bytes of a state and of a step's residuals, and the number of steps, if it is known."""
        self._bytes, self._recorded = max(self._bytes, state), max(self._recorded, residual)
        self.state, self.residual = _units(self._recorded / self._bytes)
        if self.slots is None:
            self.room = max(self.state, self.free(0))
        else:
            self.room = min(self.slots, max(1, steps or self.slots)) * self.state
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
        return self._schedule.advance(steps, max(room, self.state))

    def runs(self, steps: int, room: int) -> int:
        """How many steps run when so many go backwards from a state that is kept, which `room` counts."""
        return self._schedule.runs(steps, max(room, self.state)) if self.residual else steps

    @property
    def _schedule(self) -> offline.OfflineSchedule:
        return offline.schedule(self._steps, self.room, self.state, self.residual)

    def fits(self, steps: int, room: int) -> bool:
        """Whether so many steps can go backwards in `room`, from a state that it does not count."""
        return steps <= 1 or room >= self.state or self.recorded(room) >= steps

    def recorded(self, room: int) -> int:
        """How many steps can be recorded in a row; room for the last one is always there."""
        return max(0, room) // self.residual + 1 if self.residual else sys.maxsize

    def bytes_for(self, first: int, slots: int) -> int:
        """The budget for so many states beside a first one of `first` bytes."""
        return first + self._recorded + slots * self._bytes

    @property
    def strict(self) -> bool:
        """Whether nothing goes uncounted: it is a number of bytes."""
        return self.budget is not None

    def grows(self, state: int) -> bool:
        """Whether a state has more bytes than any so far, where bytes count."""
        return self.strict and state > self._bytes

    def free(self, held: int) -> int:
        """How many units are left of a number of bytes, beside so many bytes and a recorded step."""
        return (self.for_states - held) * self.state // self._bytes

    @property
    def for_states(self) -> int:
        """How many bytes checkpoints may hold, so that a step can be recorded."""
        assert self.budget is not None
        return self.budget - self._beside() - self._recorded

    def units(self, held: int) -> int:
        """How many whole units so many bytes are."""
        return held * self.state // self._bytes

    def to_come(self, state: int, residual: int | None) -> int:
        """How many bytes a state and a recorded step, which have so many, may still get."""
        return max(0, self._bytes - state) + (0 if residual is None else max(0, self._recorded - residual))

    def full(self, states: int, held: int) -> bool:
        """Whether there is no room for another state beside so many, which hold so many bytes."""
        if self.slots is not None:
            return states >= self.slots
        return self.over(held)

    def exceeded(self, held: int) -> bool:
        """Whether so many bytes are more than the budget."""
        return self.budget is not None and held + self._beside() > self.budget

    def over(self, held: int) -> bool:
        """Whether the budget has no room for another state and a recorded step beside so many bytes."""
        held += self._beside() + self._bytes + self._recorded
        return self.budget is not None and held > self.budget

    def check(self, held: int, what: str) -> None:
        """Refuses to hold so many bytes, if there is nothing left to drop.

        Raises
        ------
        GradientError
            When they are more than the budget.
        """
        beside = self._beside()
        if self.exceeded(held):
            others = f", and overwritten values {beside:,}" if beside else ""
            message = f"{what} {held:,} bytes{others}: more than the budget of {self.budget:,}"
            advice = "raise `budget`: a gradient needs one state and what one step overwrites"
            raise GradientError(Diagnostic("memory", message, caller(), "here", help=advice))


def _units(ratio: float) -> tuple[int, int]:
    """The sizes of a state and of residuals as small whole numbers, from the ratio of their bytes."""
    if not ratio:
        return 1, 0
    for state in range(1, _FINEST + 1):
        residual = ceil(state * ratio)
        if residual <= _CLOSE * state * ratio:
            return state, residual
    return _FINEST, ceil(_FINEST * ratio)
