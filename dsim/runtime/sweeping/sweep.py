"""The backward pass of a tape: adjoints of what it recorded, last call first.

The sweep starts from adjoints of zero but for the loss, which has 1. It works in the fields' gradients
themselves; where those are not zero (the user kept them, or a call inside the tape wrote them) they are
put aside and added again. All of it goes through the tape's outer context, so a gradient can be
differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from typing import Protocol

from dsim.diagnostics import Diagnostic
from dsim.runtime.fields.fields import Field, companions_with_memory, youngest, zeros_like
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.compile_ahead import compile_together
from dsim.runtime.launching.contexts import Context
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.native_replay import NativeReplay
from dsim.runtime.recording import zeros
from dsim.runtime.recording.claims import elsewhere
from dsim.runtime.recording.declared_reads import DeclaredReads
from dsim.runtime.recording.record import Entry, TapeRecord
from dsim.runtime.saving.entries import Custom, RecordedLaunch, Solved
from dsim.runtime.saving.snapshots import SavedRegion
from dsim.runtime.saving.steps import Steps
from dsim.runtime.state import turns
from dsim.runtime.state.interruption import listening, undisturbed
from dsim.runtime.state.notices import warn
from dsim.runtime.state.once import kept
from dsim.runtime.sweeping.adjoint_rows import AdjointRows
from dsim.runtime.sweeping.kept_primals import KeptPrimals
from dsim.runtime.sweeping.repeated_sweeps import SHORTEST, labelled, reacts, repeated
from dsim.runtime.sweeping.sweep_plan import Plans, SweepPlan, plan_of_one


class Observer(Protocol):
    """Observes the adjoints during the backward pass.

    Attributes
    ----------
    looks_inside : bool
        Whether it observes each call of loops with checkpoints, too.
    """

    looks_inside: bool

    def entering(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """Before the backward pass of `entry`, the call with that number."""

    def leaving(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """After it; the fields are as they were before the call."""


class TapeSweep:
    """One backward pass over `tape`.

    Parameters
    ----------
    seed : float
        The adjoint of each output.
    observers : sequence of Observer
        They look at every step, one after the other.
    rows : AdjointRows, optional
        What the sweep copies on its way.
    """

    _plan: SweepPlan | None = None
    _anything = False  # a user's backward pass may have changed any gradient

    def __init__(
        self,
        record: TapeRecord,
        seed: float = 1.0,
        observers: Sequence[Observer] = (),
        rows: AdjointRows | None = None,
    ) -> None:
        self._record = record
        self._seed = seed
        self._observers = observers if rows is None else (*observers, rows)
        self._rows = rows
        self._adjoints = record.distinct_adjoints()
        self._custom = bool(record.functions)
        self._nonzero: set[Field] = set(record.outputs)

    @property
    def reaches(self) -> bool:
        """Whether anything that was recorded writes an output."""
        if self._custom:
            return True
        outputs = self._record.outputs
        for adjoint in self._adjoints:
            for output in outputs:
                if output in adjoint.outputs:
                    return True
        return False

    def run(self) -> Sequence[tuple[Field, Field]]:
        """Runs the backward pass and stores the gradients.

        Gives those that were there before and that it added to, each with a copy of what it was.
        """
        record = self._record
        if not self.reaches:
            warn([_unwritten(record.loss)])
            return ()
        plan = self.plan
        aside = self._put_aside(plan)
        if aside and record.clears:
            seeds = [plan.bars[output] for output in record.outputs]
            left = [bar for bar, kept in aside if bar not in seeds and kept.require_memory().any()]
            warn([_added(bar) for bar in left])
        give_up = [partial(self._give_up, plan, aside)]
        try:
            self.down()
            for bar, kept in aside:
                record.pass_on(host_kernels.Add(bar, kept), ())
        except BaseException:  # what stands there is no gradient
            undisturbed(give_up)
            raise
        if plan.label != "bar":
            self._publish(plan)
        if record.outer is not None:
            record.tell_outer(plan.bars)
        if not self._custom:  # else a user's function defines the dependences
            zeros.note_gradients(record.outputs[0], plan.primals, record.read)
        return aside

    def down(self, to: int = 0) -> None:
        """Goes backwards from the last call to that with the number `to`; all adjoints are zero before.

        The fields are put back as they were at the end of the block.
        """
        self.down_by(self.known(to), to)

    def down_by(self, known: NativeReplay | None, to: int) -> None:
        """The same, where `known` was asked for already."""
        plan, record = self.plan, self._record
        if len(self._adjoints) > 1:
            self._compile(plan.label)
        put_back = self._put_back() if record.snapshots.all or record.loops else ()
        try:
            self.seed(plan)
            if known is not None:
                known.run(0 if self._rows is None else self._rows.address)
            else:
                self._one_by_one(to, plan)
        finally:
            if put_back:
                undisturbed(put_back)

    def _put_back(self) -> list[Callable[[], None]]:
        """What puts the fields back as they are now."""
        snapshots, ran = self._record.snapshots, dict[Form, int]()
        final = snapshots.final()
        for loop in self._record.loops:
            final += [(f, box, snapshots.take(f, box)) for f, box in loop.stack.changed]
            ran.update((form, form.last.moment) for form in loop.log.native)
        put_back: list[Callable[[], None]] = [partial(snapshots.restore, *region) for region in final]
        if ran:
            put_back.append(partial(_as_if, ran))
        return put_back

    def known(self, to: int) -> NativeReplay | None:
        """All of the sweep as machine code, if it is known and Python need not look at the steps.

        To ask counts: the second time it is made.
        """
        record, plan, rows = self._record, self.plan, self._rows
        if len(record.entries) < SHORTEST:
            return None
        if rows is None:
            return None if to or self._observers else repeated(record, plan.label)
        copies = rows.copies(plan) if len(self._observers) == 1 else None
        return None if copies is None else repeated(record, plan.label, copies)

    def _compile(self, label: str) -> None:
        """Compiles what is missing of the adjoints that will run: the first one of a sweep, on all cores."""
        several = not self._custom and self._record.outer is None
        if not several or all(a.form.compiled for a in self._adjoints):
            return
        reached, run = set(self._nonzero), list[Form]()
        for adjoint in reversed(self._adjoints):
            if reacts(adjoint, reached):
                reached.update(adjoint.targets)
                run.append(labelled(adjoint, label).form)
        compile_together(run)

    def _one_by_one(self, to: int, plan: SweepPlan) -> None:
        entries, observers, label = self._record.entries, self._observers, plan.label
        for number in range(len(entries) - 1, to - 1, -1):
            entry = entries[number]
            if observers:
                self._observed(number, entry, plan, observers)
            elif isinstance(entry, RecordedLaunch):
                self._backward(entry, label)
            else:
                self._step(number, entry, plan)

    def seed(self, plan: SweepPlan) -> None:
        """Sets the adjoints of the outputs, from which the sweep begins."""
        for output in self._record.outputs:
            self._record.set_all(plan.bars[output], self._seed)

    def _observed(self, number: int, entry: Entry, plan: SweepPlan, observers: Sequence[Observer]) -> None:
        for observer in observers:
            observer.entering(number, entry, plan)
        self._step(number, entry, plan)
        for observer in observers:
            observer.leaving(number, entry, plan)

    def _step(self, number: int, entry: Entry, plan: SweepPlan) -> None:
        """The backward pass of an entry, or of a call of the loop that is entry number `number`."""
        if isinstance(entry, RecordedLaunch):
            self._backward(entry, plan.label)
        elif isinstance(entry, Steps):
            looking = [observer for observer in self._observers if observer.looks_inside]
            entry.backward(lambda call: self._observed(number, call, plan, looking))
        elif isinstance(entry, Solved):
            self._anything = True
            entry.pull(plan.label, plan.bars)
        else:
            self._backward_of_a_person(entry, plan)
            self._backward_of_tangents(entry, plan)

    @property
    def plan(self) -> SweepPlan:
        """The plan for what was recorded, which is kept: the same is recorded again and again."""
        if self._plan is None:
            self._plan = self._found()
        return self._plan

    def _found(self) -> SweepPlan:
        outputs, apart = self._record.outputs, self._record.rerun_gradients()
        if self._custom or apart:
            return SweepPlan(outputs, self._adjoints, self._others() if self._custom else (), apart=apart)
        if len(self._adjoints) == 1:
            known = plan_of_one(self._adjoints[0], outputs)
            if known is not None:
                return known
        operations = youngest((*outputs, *[a.youngest for a in self._adjoints])).operations
        return kept(operations, "plans", Plans).plan(outputs, self._adjoints)

    def _others(self) -> list[Field]:
        """The fields whose adjoints calls without adjoints of their own may use."""
        seen = (f for f in self._own(companions_with_memory("bar")) if f.wanted)  # a user's: all
        return [*(f.companion(f.derivative[:-1]) for f in seen), *self._in_solutions()]

    def _in_solutions(self) -> list[Field]:
        """The fields whose adjoints solutions use: no launch need read an unknown afterwards."""
        solutions = (call for call in self._record.functions if isinstance(call, Solved))
        return [f for solution in solutions for f in solution.differentiated]

    def _own(self, bars: Iterable[Field]) -> list[Field]:
        return [bar for bar in bars if not elsewhere(self._record, bar)]

    def _backward(self, call: RecordedLaunch, label: str) -> None:
        """The adjoint of `call`, on the values that it needs."""
        for saved in call.own:
            self._restore(saved)
        adjoint = call.adjoint
        if adjoint is not None and (self._anything or reacts(adjoint, self._nonzero)):
            adjoint = adjoint if label == adjoint.label else labelled(adjoint, label)
            self._record.pass_on(adjoint.form, call.args)
            self._nonzero.update(adjoint.targets)
        for saved in call.before:
            self._restore(saved)

    def _restore(self, saved: SavedRegion) -> None:
        self._record.snapshots.restore(saved.field, saved.box, saved.values)

    def _backward_of_a_person(self, call: Custom, plan: SweepPlan) -> None:
        """Calls what a user wrote, with this sweep's adjoints in the fields' ``.grad``."""
        self._anything = True
        if plan.label == "bar":
            self._call(call)
            return
        moved: list[tuple[Field, Field, Field]] = []
        for field, bar in plan.bars.items():
            public = field.companion((*field.derivative, "bar"))
            if public.wanted:
                kept = self._copied(public)
                self._copy(public, bar)
                moved.append((public, bar, kept))
        self._call(call)
        for public, bar, kept in moved:
            self._copy(bar, public)
            self._copy(public, kept)

    def _backward_of_tangents(self, call: Custom, plan: SweepPlan) -> None:
        """The adjoints of the tangents that forward modes carried through the function of `call`.

        They come from its launches, in which the adjoints of the values themselves begin at 0: those are in
        what the user's function has computed, and are put aside.
        """
        aside = [(bar, self._copied(bar)) for bar in (plan.bars[f] for f in call.values())]
        for bar, _ in aside:
            self._record.set_all(bar, 0.0)
        for entry in reversed(call.inner):
            self._backward(entry, plan.label)
        for bar, given in aside:
            self._record.pass_on(host_kernels.Add(bar, given), ())
            bar.touched = turns.current()

    def _call(self, call: Custom) -> None:
        """Calls it; NumPy's arrays are to it, as fields are, what they were at the end of its function."""
        outermost: Context = self._record
        while outermost.outer is not None:
            outermost = outermost.outer
        logs = [log for log in (self._record.log, *self._record.step_logs) if log and log.watches(call)]
        watch = DeclaredReads(call, logs) if logs else nullcontext()
        kept = KeptPrimals(self._primals, self._record.snapshots)
        try:
            with outermost.mirrors.shown(call.fields(), self._primals), kept, watch:
                listening(call.backward)
        finally:
            kept.put_back()

    @cached_property
    def _primals(self) -> frozenset[Field]:
        """The fields with which the recorded calls work."""
        forms = [a.primal for a in self._adjoints]
        found = {f for form in forms for f in form.touching}.union(
            *[c.works_with() for c in self._record.functions]
        )
        return frozenset([f for f in found if not f.derivative])

    def _copied(self, field: Field) -> Field:
        kept = zeros_like(field, f"kept_{field.root.given_name or 'field'}")
        self._record.pass_on(host_kernels.Copy(kept, field), ())
        return kept

    def _copy(self, target: Field, source: Field) -> None:
        self._record.pass_on(host_kernels.Copy(target, source), ())
        target.touched = turns.current()

    def _give_up(self, plan: SweepPlan, aside: Sequence[tuple[Field, Field]]) -> None:
        """Makes all adjoints zero, but for those that were put aside."""
        for bar in self._own(plan.bars.values()):
            self._record.set_all(bar, 0.0)
        for bar, before in aside:
            self._copy(bar, before)

    def _put_aside(self, plan: SweepPlan) -> list[tuple[Field, Field]]:
        """Makes all adjoints zero; gives those that a user may see and that were not, with a copy."""
        aside: list[tuple[Field, Field]] = []
        for bar in plan.bars.values():
            if not bar.touched or (self._custom and elsewhere(self._record, bar)):
                continue
            if bar.wanted and not self._is_inner_result(bar):
                aside.append((bar, self._copied(bar)))
            self._record.set_all(bar, 0.0)
        return aside

    def _is_inner_result(self, bar: Field) -> bool:
        """Whether `bar` holds the gradient of a tape inside this one, which gives way to this one's."""
        return self._record.clears and bar in self._record.inner_results

    def _is_replaced(self, public: Field, plan: SweepPlan) -> bool:
        """Whether this result takes the place of numbers with which the calls of the block worked."""
        return self._is_inner_result(public) or (self._record.clears and public in plan.values)

    def _publish(self, plan: SweepPlan) -> None:
        """Puts the result where a user looks for it."""
        for field, bar in plan.bars.items():
            public = field.companion((*field.derivative, "bar"))
            replaced = self._is_replaced(public, plan)  # also by 0
            if public.wanted and (bar.touched or replaced):
                kind = host_kernels.Copy if replaced else host_kernels.Add
                self._record.pass_on(host_kernels.form(kind, public, bar), ())
                public.touched = turns.current()


def _as_if(ran: dict[Form, int]) -> None:
    """Notes that forms did not run since: all fields hold again what they held then."""
    for form, when in ran.items():
        form.last.moment = when


def _added(bar: Field) -> Diagnostic:
    message = f"the block changed {bar.quoted}: the gradient of the loss is added to that"
    advice = "read gradients after the block, and change them there"
    return Diagnostic("cut", message, help=advice)


def _unwritten(loss: Field) -> Diagnostic:
    message = f"no call inside the tape wrote the loss {loss.quoted}: all gradients are 0"
    return Diagnostic("cut", message, help="call the kernels that compute the loss inside the `with` block")
