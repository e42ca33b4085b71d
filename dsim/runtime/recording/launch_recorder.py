"""How a tape records a launch: with its adjoint, and the overwritten values that adjoints will read.

Where these cannot be saved, the launch is refused. Going backwards is `sweep.py`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Protocol

from dsim.ir.nodes import Accumulate, MemoryKey
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Args
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.recording import cut_messages, overwrite_messages
from dsim.runtime.recording.claims import claim, clear_foreign, refuse_needed
from dsim.runtime.recording.entries import Custom, RecordedLaunch
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.recording.save_policy import RecordingPlan, SavePolicy
from dsim.runtime.state.notices import warn


class LaunchObserver(Protocol):
    """What is told of every launch that is recorded."""

    def before(self, call: RecordedLaunch) -> None:
        """It is about to run."""
        ...

    def after(self, call: RecordedLaunch) -> None:
        """It ran."""
        ...


class LaunchRecorder(TapeRecord):
    """A record to which each launch that it is offered is added.

    Parameters
    ----------
    loss, clears
        See `TapeRecord`.
    saves : bool
        Whether overwritten values are saved; otherwise launches that overwrite them are refused.
    budget : int or None
        How many bytes of them.
    """

    def __init__(self, loss: Field, clears: bool, saves: bool, budget: int | None) -> None:
        super().__init__(loss, clears)
        self._active: set[Field] = set()  # beside those with a gradient
        self._written: set[Field] = set()
        self._spared: set[Field] = set()  # gradients that it does not set to 0: a tape around it needs them
        self._watched: dict[Form, RecordingPlan] = {}
        self._sums: dict[Field, Accumulate] = {}
        self._policy = SavePolicy(self.snapshots, saves, budget)
        self._custom: Custom | None = None  # the user's function that is running
        self._failed = False
        self._launches = 0  # that were begun
        self._observers: Sequence[LaunchObserver] = ()
        self._recorded = LaunchRecorder._record

    def observe(self, observers: Sequence[LaunchObserver]) -> None:
        """Tells `observers` of each launch from now on."""
        self._observers = observers
        self._recorded = LaunchRecorder._record_observed

    def launch(self, form: Form, args: Args) -> Args:
        """Records the launch and passes it on."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        self._launches += 1
        number = self._launches
        try:
            watched = self._watched[form]
        except KeyError:
            watched = self._watch(form)
        if self._custom is not None:
            result = self._recorded(self, watched, RecordedLaunch(form, args, None), number)
            self._custom.used(form, args)
            return result
        if watched.parts:
            result: Args = ()
            for part in watched.parts:
                result = self.launch(part, args)
            return result
        adjoint = watched.adjoint
        if adjoint is not None and not adjoint.keeps:
            raise overwrite_messages.own(adjoint.conflicts, adjoint.lost)
        return self._recorded(self, watched, RecordedLaunch(form, args, adjoint), number)

    def _record(self, watched: RecordingPlan, call: RecordedLaunch, number: int) -> Args:
        adjoint, args = call.adjoint, call.args
        if watched.clashes(args):
            self._policy.save(call)
        try:
            result = self.pass_on(call.form if adjoint is None else adjoint.launched, args)
        except BaseException:
            self._failed = True
            raise
        if adjoint is not None or call.before:
            self.entries.append(call)
        if adjoint is not None and watched.noted is not None:
            watched.noted(args)
            self._policy.noted.append(call)
        if self._launches != number:
            self._failed = True
            raise overwrite_messages.interleaved(call.form)
        return result

    def _record_observed(self, watched: RecordingPlan, call: RecordedLaunch, number: int) -> Args:
        for observer in self._observers:
            observer.before(call)
        result = self._record(watched, call, number)
        for observer in self._observers:
            observer.after(call)
        return result

    def _watch(self, form: Form) -> RecordingPlan:
        """How to record `form` for what is active now."""
        if self.clears:
            clear_foreign(self, form.roots, "bar")
        keys = self.active_keys(form)
        known = form.recording(keys)
        claim(self, known.roots, "bar")
        if self._spared:
            refuse_needed(self._spared, known.roots)
        self._written |= known.written
        for field, by in form.sums:
            if field is not self.loss:
                self._sums.setdefault(field, by)
        if known.reached:
            self._active.update(known.reached)
            self._watched.clear()  # what was inactive in other kernels may be active now
        if self._custom is not None:
            return self._policy.watch(form, None)
        warn(cut_messages.inside(form, known, "gradient"))
        plan = known.saving if self._policy.saves else known.adjoint
        if isinstance(plan, AdjointForm):
            plan = plan.differentiable() if self._inside_another() and self._policy.saves else plan
            warn(overwrite_messages.in_series(plan.ordered))
        watched = self._watched[form] = self._policy.watch(form, plan)
        return watched

    def active_keys(self, form: Form) -> frozenset[MemoryKey]:
        """The memories of `form` that carry adjoints: those with a gradient, and those written from such."""
        return frozenset(m.key for m, f in form.floats if f in self._active or f.needs_grad)

    def element_read(self, field: Field) -> None:
        """Warns that a gradient is cut when Python reads a value that depends on others."""
        depends = field in self._written or field in self._active or field.needs_grad
        if depends and self._custom is None and field is not self.loss and field not in self.read:
            self.read.add(field)
            warn([cut_messages.read(field, "tape", "gradient")])
        super().element_read(field)

    def _inside_another(self) -> bool:
        """Whether a tape further out will differentiate this one's backward pass."""
        context = self.outer
        while context is not None and not isinstance(context, TapeRecord):
            context = context.outer
        return context is not None

    # -- functions with gradients that a user gives

    def begin(self, call: Custom) -> None:
        """Until `end`, launches belong to `call`: they are not recorded one by one."""
        if self._custom is None:
            self._custom = call

    def end(self, call: Custom, done: bool) -> bool:
        """Records `call`, which is over, if it is `done`; gives whether launches belonged to it."""
        mine = self._custom is call
        if mine:
            self._custom = None
        if mine and done:
            self.entries.append(call)
            self._policy.need(call)
        return mine
