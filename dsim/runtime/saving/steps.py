"""A loop of which a tape keeps a log and a few states, instead of what the adjoint of every step needs.

The log has the launches of each step, and no values. Going backwards, steps run again from a checkpoint: the
last ones are recorded, and their adjoints run, then those before them. `dsim.runtime.schedules` chooses which
steps keep a checkpoint, and which keep what their adjoints need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from dsim.backends.prints import silent
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import whole
from dsim.runtime.launching.contexts import Context
from dsim.runtime.launching.interval_sets import Box
from dsim.runtime.saving import rerun_messages
from dsim.runtime.saving.checkpoint_stack import CheckpointStack, RecordedStep
from dsim.runtime.saving.checkpoint_store import CheckpointStore
from dsim.runtime.saving.checkpoints import Checkpoint
from dsim.runtime.saving.entries import Args, Custom, RecordedLaunch, Told
from dsim.runtime.saving.memory_limits import MemoryLimit
from dsim.runtime.saving.residual_sizes import residual_bytes
from dsim.runtime.saving.save_policy import RecordingPlan, SavePolicy
from dsim.runtime.saving.snapshots import Row, SavedRegion, size_of
from dsim.runtime.saving.step_log import LaunchNotes, StepLog, form_to_run
from dsim.runtime.saving.step_progress import StepProgress
from dsim.runtime.schedules import online
from dsim.runtime.state.notices import warn

Adjoint = Callable[[RecordedLaunch | Custom], None]

_MEASURED = 64  # steps of which the residuals are counted


class Steps:
    """A loop of a tape.

    Parameters
    ----------
    context : Context
        The tape, as the launches of the steps see it.
    limit : MemoryLimit
        How much memory the steps may take.
    length : int or None
        How many steps there will be, if that is known.
    store : CheckpointStore
        Where values are saved.
    progress : StepProgress
        Is told of every step.
    notes : LaunchNotes
        Is told of launches that might overwrite what functions of recorded steps read.
    shared : bool
        Whether the limit is the budget of the whole tape.

    Attributes
    ----------
    log : StepLog
        What each step launched.
    policy : SavePolicy
        What recorded steps save.
    runs : int
        How many steps were run since the beginning, the first time and again.
    """

    def __init__(
        self,
        context: Context,
        limit: MemoryLimit,
        length: int | None,
        store: CheckpointStore,
        progress: StepProgress,
        notes: LaunchNotes,
        shared: bool = False,
    ) -> None:
        self._context = context
        self._limit = limit
        self._length = length
        self._progress = progress
        self._notes = notes
        self._noting = False  # a recorded step has called a function that names what it reads
        self.shared = shared
        self.store = store
        self.policy = SavePolicy(store, True, None)
        self.policy.begin()
        self.log = StepLog()
        self.stack = CheckpointStack(store, limit)
        self.runs = 0
        self._recording: RecordedStep | None = None
        self._last_recorded: RecordedStep | None = None  # whose needs the policy still knows
        self._until = 1  # up to where steps run from the newest checkpoint
        self._reserved = 0  # units for the first step, which is not recorded the first time
        self._swept = False
        self._splits = False  # loops stand in its steps

    @property
    def name(self) -> str:
        """In messages and tables."""
        return f"{len(self.log):,} step{'s' * (len(self.log) != 1)}"

    @property
    def row(self) -> Row:
        """What it saved, at most at one time, in the report of a tape."""
        names = ", ".join(dict.fromkeys(f.name for f, _ in self.stack.changed))
        return Row(names, self.store.most, len(self.log), self.name, "these, which run again")

    def fields(self) -> Iterator[Field]:
        """The fields that the steps touch."""
        return self.log.fields()

    def written(self) -> Iterator[Field]:
        """Those that they write."""
        return self.log.written()

    def regions(self, sums: bool) -> Iterator[tuple[Field, Box]]:
        """What must be as it was at the loop's end when it goes backwards: all of these fields."""
        for field in self.fields():
            yield field, whole(field)

    def reads(self, region: Field, box: Box) -> None:
        """No statement in particular because of which it needs these."""

    # -- the first run

    def launch(self, plan: RecordingPlan, args: Args) -> Args:
        """Launches for the first time, in the step that is open."""
        if self._limit.strict:
            self._make_room(plan, args)
        result = self._run(plan, args)
        self.log.launched(plan, args)
        return result

    def function(self, call: Custom) -> None:
        """Notes that the last launches were a function with a gradient of its own."""
        self.log.called(call)
        self._note(call)

    def split(self) -> None:
        """A loop begins in the step that is open: its steps are steps of this one."""
        if self._length is not None:
            self._give_up_plan()
            self._progress.unknown()
        self._splits = True
        self.end_step()

    def end_step(self) -> None:
        """The step that is open is over; the next one may begin."""
        if self._splits and not self.log.in_step:
            return
        self._step_done()
        self._prepare(len(self.log))

    def _step_done(self) -> None:
        self.log.end_step()
        self.runs += 1
        self._progress.done()
        self._finish_recording()
        if self._length is not None and len(self.log) > self._length:
            self._give_up_plan()  # there are more items than their `len`

    def end(self) -> None:
        """The loop is over."""
        if self.log.in_step:
            self._step_done()
        last = self.stack.items[-1]
        if last is not self.stack.base and last.position == len(self.log):
            self.stack.pop()  # it is for a step that did not come
        self._recording = None
        self._progress.end()
        if len(self.log) and (self._length is None or self._limit.strict):
            self._measure()
            if self._limit.strict and self.stack.bytes > self._limit.for_states:
                self.shrink(self._limit.for_states)
        self._close_recordings()

    def _prepare(self, at: int) -> None:
        """Chooses how the next step of the first run is recorded."""
        if at == 1:
            self._measure()
            if self._length is not None:
                self._plan(self._length)
        elif self._length is not None and self._limit.grows(self.stack.newest.bytes):
            self._give_up_plan()
        if self._length is None:
            self._prepare_online(at)
        elif self._until <= at < self._length:
            self._prepare_offline(at, self._length - at)

    def _measure(self) -> None:
        """Tells the schedule how large a state is, and what a step's adjoint needs."""
        steps = self.log.kinds(_MEASURED)
        residual = residual_bytes([c for c in step if not isinstance(c, Custom)] for step in steps)
        state = max(log.bytes for log in self.stack.checkpoints)
        self._limit.measure(state, residual, self._length)

    def _plan(self, length: int) -> None:
        """Chooses up to where steps run from the first state: one step has run already."""
        advance = self._limit.advance(length, self._limit.room)
        if not advance:
            self.stack.base_is_free()
            self._reserved = self._limit.residual
        self._until = max(1, advance)

    def _prepare_offline(self, at: int, left: int) -> None:
        advance = self._advance(at, left, self.stack.free_room - self._reserved)
        if not advance:
            self._recording = self.stack.record(at)
        self._until = at + max(1, advance)

    def _give_up_plan(self) -> None:
        """Goes on as if the length was unknown: states are larger than planned, or steps more."""
        self._length = None
        self.stack.drop_recorded()
        self._close_recordings()
        self._clear_notes()

    def _clear_notes(self) -> None:
        self._noting = False
        self._notes.clear()

    def _advance(self, at: int, left: int, room: int) -> int:
        """How many steps to run from here, where no checkpoint is yet; 0 to record the next one."""
        if self.stack.can_skip and not self._limit.fits(left, room):
            return left - self._limit.recorded(room)
        advance = self._limit.advance(left, room)
        if advance:
            self.stack.mark(at)
        return advance

    def _prepare_online(self, at: int) -> None:
        level = 0
        self._limit.saw(self.stack.newest.bytes)
        while self.stack.full:  # of bytes, one that goes may free none: its values become another one's
            goes, new = online.place([log.level for log in self.stack.checkpoints])
            if not goes:
                self._limit.check(self.store.bytes, "one state takes")
                self._measure()  # the state grows, as long as steps write to other fields
                return
            self.stack.remove(goes)
            level = max(level, new)
        self.stack.mark(at, level)

    def shrink(self, most: int) -> None:
        """Drops what is held until it has at most so many bytes, or there is only the first checkpoint."""
        if self.store.bytes > most:
            self.stack.drop_recorded()
            self._clear_notes()
        while self.store.bytes > most and len(self.stack.checkpoints) > 1:
            self.stack.remove(online.place([log.level for log in self.stack.checkpoints])[0])

    # -- running

    def _make_room(self, plan: RecordingPlan, args: Args) -> None:
        """Drops what is held, before a launch overwrites more than the budget has room for."""
        if self._limit.exceeded(self._held_after(plan, args)):
            self._give_up_plan()
        while self._limit.exceeded(held := self._held_after(plan, args)):
            if len(self.stack.checkpoints) == 1:
                self._limit.check(held, "one state takes")
            self.stack.remove(online.place([log.level for log in self.stack.checkpoints])[0])

    def _held_after(self, plan: RecordingPlan, args: Args) -> int:
        """At most how many bytes are held after a launch."""
        held = self.store.bytes + self.stack.newest.cost(plan.changed, args)
        if self._recording is not None or self._last_recorded is not None:
            held += sum(size_of(field, box) for field, box in plan.changed.of(args))
        return held

    def _run(self, plan: RecordingPlan, args: Args) -> Args:
        self.stack.newest.note(plan.changed, args)
        call = RecordedLaunch(plan.form, args, None if self._recording is None else plan.adjoint)
        if self._recording is not None:
            if plan.clashes(args):
                self.policy.save(call)
        elif self._last_recorded is not None and plan.overwrites(args):
            self.policy.save(call)
            self._last_recorded.after.extend(call.before)
        result = self._context.pass_on(form_to_run(plan), args)
        if self._recording is not None:
            self._add(self._recording, plan, call)
        if self._noting:
            self._notes.after(call)
        return result

    def _add(self, step: RecordedStep, plan: RecordingPlan, call: RecordedLaunch) -> None:
        if plan.adjoint is not None or call.before:
            step.calls.append(call)
        if plan.reads is not None:
            plan.noted(call.args)
            self.policy.noted.append(call)

    def _note(self, call: Custom) -> None:
        if self._recording is not None:
            self._recording.calls.append(call)
            self.policy.need(call)
            if call.reads_only is not None:
                self._noting = True
                self._notes.ends(call)

    def _finish_recording(self) -> None:
        if self._recording is not None:
            self._last_recorded, self._recording = self._recording, None

    def _close_recordings(self) -> None:
        """Ends the recording of steps: they have saved what they must for each other."""
        self._recording = self._last_recorded = None
        self.policy.forget()

    def _again(self, number: int) -> None:
        self.runs += 1
        with silent():  # what kernels print was printed the first time
            for item in self.log.steps[number]:
                if isinstance(item, Told):
                    item.tell(self._context)
                elif isinstance(item, Custom):
                    self._note(item)
                else:
                    self._run(*item)

    # -- backwards

    def backward(self, adjoint: Adjoint) -> None:
        """Runs the adjoints of all steps, the last one first; then all is as it was before the first."""
        again, self._swept = self._swept, True
        if again:  # the fields are as at the end of the block
            self.stack.start_again()
            self._close_recordings()
        end = len(self.log)
        marks = [0, *(item.position for item in self.stack.items), end]
        self._limit.expect(max(b - a for a, b in pairwise(marks)))
        if end and not again:
            warn(rerun_messages.many_runs(self.stack, self._limit, end, self.shared))
        self._progress.turn(end)
        try:
            self._backward(end, adjoint)
        finally:
            self._progress.end()
        self.stack.base.restore()

    def _backward(self, position: int, adjoint: Adjoint) -> None:
        while position:
            top = self.stack.items[-1]
            if isinstance(top, RecordedStep):
                self._reverse(top, adjoint)
                self.stack.pop()
                position = top.position
                self._progress.done()
            elif top.position == position:
                self.stack.pop()
            else:
                top.restore()
                self._descend(top, position)

    def _descend(self, top: Checkpoint, end: int) -> None:
        """Runs the steps from the checkpoint `top` to `end`, of which at least the last is recorded."""
        self._clear_notes()
        at = top.position
        while at < end:
            advance = (
                self._advance_from(top, end - at)
                if at == top.position
                else self._advance(at, end - at, self.stack.free_room)
            )
            for number in range(at, at + advance):
                self._again(number)
            if not advance:
                if at == top.position:
                    self.stack.leave(top)
                self._record(at)
            self._limit.saw(self.stack.newest.bytes)
            at += max(1, advance)
        self._close_recordings()

    def _advance_from(self, top: Checkpoint, left: int) -> int:
        """How many steps to run from the checkpoint `top`; 0 to record the next one and leave `top`."""
        limit, room = self._limit, self.stack.free_room
        advance = limit.advance(left, room + limit.state)
        after = room + self.stack.freed(top) - limit.residual
        if advance or left == 1 or (after >= 0 and limit.fits(left - 1, after)):
            return advance
        return left - limit.recorded(room)  # the last ones, all in a row

    def _record(self, number: int) -> None:
        self._recording = self.stack.record(number)
        self._again(number)
        self._finish_recording()
        if len(self.stack.items) == 2:
            self._limit.check(self.store.bytes, "one state and what a step overwrites take")

    def _reverse(self, step: RecordedStep, adjoint: Adjoint) -> None:
        self._restore(step.after)
        for call in reversed(step.calls):
            adjoint(call)
        self.stack.free(step)

    def _restore(self, saved: Sequence[SavedRegion]) -> None:
        for s in saved:
            self.store.restore(s.field, s.box, s.values)
