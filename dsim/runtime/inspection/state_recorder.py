"""Keeps the values of a field while a tape records, and takes the adjoint of each in the backward pass.

The backward pass itself does not have all of these values: a tape saves only those that adjoints read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, Span
from dsim.runtime.fields.fields import Field
from dsim.runtime.inspection.adjoint_trajectory import AdjointTrajectory
from dsim.runtime.inspection.calls import begins_call
from dsim.runtime.inspection.revisit import first_active
from dsim.runtime.launching.forms import Form
from dsim.runtime.recording.record import Entry, TapeRecord
from dsim.runtime.saving.entries import Custom, RecordedLaunch
from dsim.runtime.saving.steps import Steps
from dsim.runtime.sweeping.sweep_plan import SweepPlan

Place = tuple[int, int]  # entries of the tape before a state, and steps of the loop that follows them


class StateRecorder:
    """Observes a tape in both directions for one trajectory.

    Parameters
    ----------
    entries : sequence of Entry
        Those of the tape, to which it adds.
    field : Field
        Whose values are kept.
    every : int
        Every how many calls.
    budget : int
        The bytes of values from which on only every second one is kept.
    trajectory : AdjointTrajectory
        Gets the result.
    span : Span or None
        The line of the user's that asked for it.
    """

    looks_inside = True

    def __init__(
        self,
        entries: Sequence[Entry],
        field: Field,
        every: int,
        budget: int,
        trajectory: AdjointTrajectory,
        span: Span | None,
    ) -> None:
        self.trajectory = trajectory
        self._entries, self._field, self._span = entries, field, span
        self._every, self._wanted = every, every
        self._budget = budget
        self._counted, self._in_loop = 0, 0  # entries, and steps of the loop that is the next one
        self._calls = 0  # in both
        self._last: tuple[Form, int] | None = None  # the part of a launch that the last entry is
        self._start: int | None = None
        self._states: dict[int, tuple[Place, np.ndarray]] = {}  # by number of calls
        self._adjoints = np.zeros(0)
        self._left: list[Place] = []  # whose adjoints the backward pass has not taken yet, in order
        self._places: list[Place] = []
        self._record_state(None)

    # -- forward

    def before(self, call: RecordedLaunch) -> None:
        """A launch begins: the state is that after all calls so far."""
        self._record_state(call)

    def after(self, call: RecordedLaunch) -> None:
        """It is over: whether more of the same call follows is seen at the next launch."""

    def _record_state(self, call: RecordedLaunch | None) -> None:
        """Keeps the present values if they are due and no call is half done."""
        entries, place = self._entries, (len(self._entries), 0)
        loop = entries[-1] if entries and isinstance(entries[-1], Steps) else None
        if loop is not None:
            if call is not None and loop.log.in_step:
                return
            place = (len(entries) - 1, len(loop.log))
        self._count(place[0], loop)
        if call is not None and not begins_call(self._last, call.form.part):
            return
        number = self._calls
        self._start = number if self._start is None else self._start
        if (number - self._start) % self._every == 0 and number not in self._states:
            self._keep(number, place)

    def _count(self, end: int, loop: Steps | None) -> None:
        """Counts the calls of entries up to `end`, and the steps of the loop behind them."""
        for entry in self._entries[self._counted : end]:
            if isinstance(entry, Steps):
                self._count_steps(entry)
                self._in_loop = 0
            else:
                self._count_call(entry.form if isinstance(entry, RecordedLaunch) else None)
        self._counted = end
        if loop is not None:
            self._count_steps(loop)

    def _count_steps(self, loop: Steps) -> None:
        steps = loop.log.steps
        for step in steps[self._in_loop :]:  # each part of a launch may be one, if they are calls
            self._count_call(None if not step or isinstance(step[0], Custom) else step[0][0].form)
        self._in_loop = len(steps)

    def _count_call(self, form: Form | None) -> None:
        part = None if form is None else form.part
        self._calls += begins_call(self._last, part)
        self._last = part

    def _keep(self, number: int, place: Place) -> None:
        values = self._field.require_memory().copy()
        assert self._start is not None
        while len(self._states) > 1 and (len(self._states) + 1) * values.nbytes > self._budget:
            self._every *= 2
            self._states = {
                n: kept for n, kept in self._states.items() if (n - self._start) % self._every == 0
            }
        if (number - self._start) % self._every == 0:
            self._states[number] = place, values

    # -- backward

    def begin(self) -> None:
        """The block has ended; the backward pass follows."""
        self._record_state(None)
        self._places = [place for place, _ in self._states.values()]
        self._left = list(self._places)
        dtype = np.dtype(self._field.dtype.numpy)
        self._adjoints = np.zeros((len(self._places), *self._field.full_shape), dtype)

    def entering(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """Before the backward pass of an entry, or of a call of a step: adjoints are those after it."""
        whole = self._entries[number]
        if isinstance(whole, Steps) and entry is not whole:
            self._take((number, whole.stack.items[-1].position + 1), plan)
        else:
            self._take((number + 1, 0), plan)

    def leaving(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """After the first entry, adjoints are those with respect to the beginning."""
        if number == 0 and entry is self._entries[0]:
            self._take((0, 0), plan)

    def _take(self, place: Place, plan: SweepPlan) -> None:
        """Copies the adjoint for all states from `place` on that have none yet."""
        while self._left and self._left[-1] >= place:
            self._left.pop()
            bar = plan.bars.get(self._field)
            if bar is not None:
                self._adjoints[len(self._left), ...] = bar.require_memory()

    # -- afterwards

    def finish(self, tape: TapeRecord) -> None:
        """Gives the trajectory its arrays.

        Raises
        ------
        GradientError
            When the field has no gradient in the tape.
        """
        first = self._first(tape)
        numbers = [n for n, place in zip(self._states, self._places, strict=True) if place >= (first, 0)]
        if not numbers:
            advice = "declare it with `needs_grad=True`"
            raise self._refused(f"{self._field.quoted} has no gradient at any of these steps", advice)
        states = np.stack([self._states[n][1] for n in numbers])
        trajectory = self.trajectory
        trajectory.unit = "step" if tape.loops else "call"
        trajectory.note = self._note(trajectory, len(numbers))
        trajectory.fill(np.array(numbers), states, self._adjoints[-len(numbers) :])
        self._states, self._adjoints = {}, np.zeros(0)

    def _first(self, tape: TapeRecord) -> int:
        field = self._field
        touched = field in tape.outputs or any(field in a.fields for a in tape.adjoints())
        if not touched and not any(field in call.fields() for call in tape.functions):
            message = f"no recorded call of this tape computes with {field.quoted}, so it has no adjoint"
            raise self._refused(message, "name a field that the calls in the block read or write")
        return first_active(tape, field)

    def _note(self, trajectory: AdjointTrajectory, count: int) -> str:
        unit, notes = trajectory.unit, []
        if self._every != self._wanted:
            notes.append(
                f"one in {self._every:,} {unit}s: more need over {self._budget:,} bytes, see `budget=`"
            )
        if count < len(self._places):
            why = "until then it depends on no field with a gradient (`needs_grad=True`)"
            notes.append(f"the first {len(self._places) - count:,} are left out: {why}")
        return "; ".join(notes)

    def _refused(self, message: str, advice: str) -> GradientError:
        self.trajectory.problem = message
        return GradientError(Diagnostic("missing-gradient", message, self._span, help=advice))
