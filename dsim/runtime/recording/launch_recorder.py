"""How a tape records a launch: with its adjoint, and the overwritten values that adjoints will read.

Where these cannot be saved, the launch is refused. Going backwards is `sweep.py`'s.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from threading import get_ident
from typing import Any, Self

from dsim.diagnostics import Diagnostic
from dsim.ir.nodes import Accumulate
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Args, System
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.recording import cut_messages
from dsim.runtime.recording.claims import claim, clear_foreign, refuse_needed, refused_in_forward_mode
from dsim.runtime.recording.declared_reads import WriteLog
from dsim.runtime.recording.hidden import HiddenResults, half_recorded
from dsim.runtime.recording.output_reads import OutputReads
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.saving import overwrite_messages
from dsim.runtime.saving.checkpoint_store import CheckpointStore
from dsim.runtime.saving.entries import Custom, LaunchObserver, RecordedLaunch, Solved, Told
from dsim.runtime.saving.memory_limits import MemoryLimit
from dsim.runtime.saving.save_policy import RecordingPlan, SavePolicy
from dsim.runtime.saving.step_progress import StepProgress
from dsim.runtime.saving.steps import Steps
from dsim.runtime.state.notices import warn


class LaunchRecorder(TapeRecord):
    """A record to which each launch that it is offered is added.

    Parameters
    ----------
    outputs, clears
        See `TapeRecord`.
    saves : bool
        Whether overwritten values are saved; otherwise launches that overwrite them are refused.
    budget : int or None
        How many bytes of them.
    """

    block = "tape"  # what messages call it
    _spared: AbstractSet[Field] = frozenset()  # gradients that it does not set to 0: a tape around needs them
    _by_gradient = True  # differentiates by each field that has one
    _output_reads: OutputReads | None = None
    _warned = False  # anybody, of what it launched
    _failed = False
    _observers: Sequence[LaunchObserver] = ()
    open_loop: Steps | None = None  # the loop with checkpoints that is open
    _automatic = False  # each launch is a step of it, because the budget is nearly spent
    _counted = False  # its steps are the items of a `for` loop

    def __init__(self, outputs: tuple[Field, ...], clears: bool, saves: bool, budget: int | None) -> None:
        super().__init__(outputs, clears)
        self._active: set[Field] = set()  # beside those with a gradient
        self._written: set[Field] = set()
        self._watched: dict[Form | tuple[Form], RecordingPlan] = {}  # (form,): in a user's function
        self._unused: set[Form] = set()  # nobody has used what they returned
        self._sums: dict[Field, Accumulate] = {}
        self._policy = self._outside = SavePolicy(self.snapshots, saves, budget)
        self._hidden = HiddenResults()
        self._custom: Custom | None = None  # the user's function that is running
        self._into: list[Any] = self.entries  # where launches are recorded
        self._launches = 0  # that were begun
        self._recorded = LaunchRecorder._record

    def observe(self, observers: Sequence[LaunchObserver]) -> None:
        """Tells `observers` of each launch from now on."""
        self._observers = observers
        self._recorded = self._way()

    def _way(self) -> Callable[[Self, RecordingPlan, RecordedLaunch, int], Args]:
        if self._observers:
            return LaunchRecorder._observed
        return LaunchRecorder._record if self.open_loop is None else LaunchRecorder._log

    def launch(self, form: Form, args: Args) -> Args:
        """Records the launch and passes it on."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        number = self._launches = self._launches + 1
        key = form if self._custom is None or self._custom.tangents else (form,)
        watched = self._watched.get(key) or self._watch(form)
        if self._unused and form in self._unused:
            warn(cut_messages.returned(form, "gradient", self._unused))
        if self._custom is not None:
            self._custom.used(form, args)
            if not self._custom.tangents:
                return self._recorded(self, watched, RecordedLaunch(form, args, None), number)
        if watched.parts:
            result: Args = ()
            for part in watched.parts:
                result = self.launch(part, args)
            return result
        if watched.loses:
            raise overwrite_messages.own(watched.loses.conflicts, watched.loses.lost)
        return self._recorded(self, watched, RecordedLaunch(form, args, watched.adjoint), number)

    def _record(self, watched: RecordingPlan, call: RecordedLaunch, number: int) -> Args:
        args, policy = call.args, self._policy
        try:
            clashes = watched.clashes(args) if policy.begun or policy.reads else watched.in_place
            if clashes:
                policy.save(call)
        except KeyboardInterrupt:
            self._failed = True
            raise
        try:
            result = self.pass_on(call.form if call.adjoint is None else watched.launched, args)
            if call.adjoint is not None or call.before:
                self._into.append(call)
            if watched.reads is not None and call.adjoint is not None:
                if policy.begun:
                    watched.noted(args)
                    policy.noted.append(call)
                else:
                    policy.first(watched, call)
        except BaseException:
            self._failed = True
            raise
        if self._launches != number:
            self._failed = True
            raise overwrite_messages.interleaved(call.form)
        if clashes and policy.spent:
            self._run_again()
        return result

    def snapshot(self, form: Form, args: Args) -> None:
        """Copies values, which in a user's function tapes further out see as if it had not begun.

        These are values from before the function, and no result of it: adjoints that those tapes
        differentiate need them.
        """
        muted: list[tuple[LaunchRecorder, Custom]] = []
        context = self.outer if self._custom is not None else None
        while context is not None:
            custom = context._custom if isinstance(context, LaunchRecorder) else None
            if isinstance(context, LaunchRecorder) and custom is not None and not custom.tangents:
                muted.append((context, custom))
                context._custom = None
            context = context.outer
        try:
            self.pass_on(form, args)
        finally:
            for recorder, custom in muted:
                recorder._custom = custom

    def _log(self, watched: RecordingPlan, call: RecordedLaunch, number: int) -> Args:
        assert self.open_loop is not None
        try:
            result = self.open_loop.launch(watched, call.args)
        except BaseException:
            self._failed = True
            raise
        if self._launches != number:
            self._failed = True
            raise overwrite_messages.interleaved(call.form)
        if self._automatic and self._custom is None:
            self.open_loop.end_step()
        return result

    def _observed(self, watched: RecordingPlan, call: RecordedLaunch, number: int) -> Args:
        record, observers = LaunchRecorder._record, self._observers
        if self.open_loop is not None:  # whose steps put back what they overwrite
            record, observers = LaunchRecorder._log, [o for o in observers if o is not self.log]
        for observer in observers:
            observer.before(call)
        result = record(self, watched, call, number)
        for observer in observers:
            observer.after(call)
        return result

    def _watch(self, form: Form) -> RecordingPlan:
        """How to record `form` for what is active now."""
        if self._output_reads or self._hidden:
            self._look_at(form)
        if self.clears:
            clear_foreign(self, form.roots, "bar")
        active, all_with = self._active, self._by_gradient  # as `varies` asks, for each without a call
        known = form.recording(tuple([f in active or (all_with and f.needs_grad) for _, f in form.floats]))
        claim(self, known.roots, "bar")
        if self._spared:
            refuse_needed(self._spared, known.roots)
        self._written |= known.written
        for field, by in form.sums:
            if field not in self.outputs:
                self._sums.setdefault(field, by)
        if known.reached:
            self._active.update(known.reached)
            self._watched.clear()  # what was inactive in other kernels may be active now
        if self._custom is not None and not self._custom.tangents:
            return self._watched.setdefault((form,), self._policy.watch(form, None))
        self._warn(cut_messages.inside(form, known, "gradient", self._unused))
        plan = known.saving if self._policy.saves else known.adjoint
        if isinstance(plan, AdjointForm):
            plan = self._differentiable(form, plan) if self.outer and self._policy.saves else plan
        if isinstance(plan, AdjointForm) and plan.ordered:
            self._warn(overwrite_messages.in_series(plan.ordered))
        return self._watched.setdefault(form, self._policy.watch(form, plan))

    def _warn(self, found: Sequence[Diagnostic]) -> None:
        if found:
            self._warned = True
            warn(found)

    def varies(self, field: Field) -> bool:
        """Whether `field` is differentiated by, or depends on one that is."""
        return field in self._active or (self._by_gradient and field.needs_grad)

    def element_read(self, field: Field) -> None:
        """Warns that a gradient is cut when Python reads a value that depends on others."""
        if self._custom is not None:
            self._custom.looked_at(field)
        elif field in self.outputs:
            self._output_read(field)
        elif field not in self.read and (
            field in self._written or self.varies(field) or field in self._hidden
        ):
            self.read |= {field}
            warn([cut_messages.read(field, self.block, "gradient")])
        super().element_read(field)

    def _output_read(self, output: Field) -> None:
        if output in self._written:
            if self._output_reads is None:
                self._output_reads = OutputReads()
            if self._output_reads.note(output, self.block, "gradient"):
                self._watched.clear()  # so the next launch comes by

    def _look_at(self, form: Form) -> None:
        if self._output_reads:
            self._output_reads.tell()
        if self._hidden.check(form):
            self._watched.clear()

    def _differentiable(self, form: Form, plan: AdjointForm) -> AdjointForm | tuple[Form, ...]:
        """`plan`, or one that tapes further out can differentiate."""
        around = [context for context in self._around() if context is not self]
        outermost = max((n for n, c in enumerate(around) if isinstance(c, TapeRecord)), default=None)
        if outermost is None:
            return plan
        plan = plan.differentiable()
        tangents = any(c.claims == "dot" for c in around[:outermost])
        if plan.without_adjoint(tangents) and not form.copies:
            return form.on_private_copies(plan.entry)
        return plan

    def solved(self, system: System) -> None:
        """Records that fields hold a solution, if what it depends on varies."""
        if self.open_loop is not None and self.outer is not None:
            self.open_loop.log.called(Told(system))
        depends = tuple(filter(self.varies, system.wrt))
        if self._custom is None:
            self._hidden.refuse_in(system, self.varies)
            self._add_solution(system, depends)
        elif depends and self._custom.tangents:
            did = f"`{system.name}` solves equations in `{self._custom.name}`"
            raise refused_in_forward_mode(did, "solve them")
        super().solved(system)

    def _add_solution(self, system: System, depends: tuple[Field, ...]) -> None:
        """Adds a solution that depends on these fields, which vary; on none if it only replaces a guess."""
        self._watched.clear()
        active = (*system.unknown, *depends)
        if any(map(self.varies, active)):
            if self.clears:
                clear_foreign(self, active, "bar")
            claim(self, [f.root for f in active], "bar")
            self._active.update(system.unknown)
            launches, pull = (system.launches(), system.pull) if depends else ((), system.cut)
            self._add(Solved(system.name, launches, active, pull))

    def failed(self, name: str, written: Collection[Field]) -> None:
        """What it wrote has no derivative."""
        self._watched.clear()
        self._hidden.add(written, name, failed=True)

    def refuse_failed(self) -> None:
        """Raises a `GradientError` if a launch failed, and the program continued."""
        if self._failed:
            raise half_recorded()

    def refuse_hidden(self, outputs: Sequence[Field]) -> None:
        """Refuses outputs whose derivative is not known; see `HiddenResults`."""
        self._hidden.refuse(outputs)

    # -- functions with gradients that a user gives

    def begin(self, call: Custom) -> None:
        """Until `end`, launches belong to `call`: they are not recorded one by one."""
        if self._custom is None:
            if call.tangents and self._automatic:
                self.end_steps()
            if call.tangents and self.open_loop is not None:
                raise refused_in_forward_mode(f"`{call.name}` is called in steps with checkpoints", "call it")
            self._custom = call
            if call.tangents:
                self._into = call.inner

    def end(self, call: Custom, done: bool) -> bool:
        """Records `call`, which is over, if it is `done`; gives whether launches belonged to it."""
        if self._custom is not call:
            return False
        self._custom, self._into = None, self.entries
        if done:
            self._add(call)
        return True

    def give_up(self, call: Custom) -> None:
        """Keeps of `call`, which failed, only what puts values back: it has no gradient."""
        back = [(e, (*e.own, *e.before)) for e in call.inner if e.own or e.before]
        self.entries += [RecordedLaunch(e.form, e.args, None, (), saved) for e, saved in back]
        call.inner.clear()

    def _add(self, call: Custom) -> None:
        """Adds a call whose backward pass is not made of adjoints of its launches."""
        self.functions.append(call)
        if self.open_loop is not None:
            if call.reads_only is not None:
                self._log_writes().ends(call)
            self.open_loop.function(call)
            if self._automatic:
                self.open_loop.end_step()
            return
        self.entries.append(call)
        self._policy.need(call)
        if call.reads_only is not None:
            self._log_writes().ends(call)

    def _log_writes(self) -> WriteLog:
        """Notes all launches from here on."""
        if self.log is None:
            self.log = WriteLog()
            self.observe((*self._observers, self.log))
        return self.log

    # -- loops with checkpoints

    def new_loop(
        self,
        limit: MemoryLimit,
        length: int | None,
        store: CheckpointStore,
        progress: StepProgress,
        shared: bool,
    ) -> Steps:
        """A loop of this tape; see `Steps`."""
        self.step_logs += (WriteLog(),)
        return Steps(weakref.proxy(self), limit, length, store, progress, self.step_logs[-1], shared)

    def begin_steps(self, steps: Steps, automatic: bool) -> None:
        """Until `end_steps`, launches belong to the steps of a loop: they are logged."""
        sharing = [loop for loop in self.loops if loop.shared]
        if steps.shared and self._policy.budget is not None:
            for loop in sharing:  # a loop takes all that is left
                loop.shrink(self._policy.budget // (2 * len(sharing)))
        self.open_loop, self._automatic, self.gathers = steps, automatic, self.gathers or automatic
        self.entries.append(steps)
        self.loops += (steps,)
        self._outside = self._policy
        self._policy = steps.policy
        self._watched.clear()
        self._recorded = self._way()

    def _run_again(self) -> None:
        """From here on keeps states instead of overwritten values, and takes each call for a step."""
        budget = self._policy.budget
        if budget is None or self._custom is not None:
            return
        store = CheckpointStore(self, None)
        limit = MemoryLimit(None, budget, self.held_beside(store))
        self.begin_steps(self.new_loop(limit, None, store, StepProgress(False, None), True), automatic=True)

    def end_steps(self) -> None:
        """The loop is over."""
        steps, self.open_loop, self._automatic = self.open_loop, None, False
        if steps is None:
            return
        self._policy = self._outside
        self._watched.clear()
        self._recorded = self._way()
        steps.end()
        self._policy.need(steps)

    @property
    def blocks_of_loop(self) -> dict[Field, list[Any]] | None:
        """Those of the loop that is open."""
        return super().blocks_of_loop if self.open_loop is None else self.open_loop.log.blocks

    @property
    def launches_again(self) -> bool:
        """Whether what is launched now may be launched once more: inside steps."""
        return self.open_loop is not None or super().launches_again
